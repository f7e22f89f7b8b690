"""A picture of the ratios on record, for docs/performance.md."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from bench.bounds import Unavailable
from bench.drain.ratios import Ratios
from bench.drain.workloads import WORKLOADS
from bench.machine import ROOT

FILE = ROOT / "docs" / "performance.png"
_RATE, _CPU, _BOUND = "#2a7f9e", "#c8793a", "#333333"


def check_possible() -> None:
    if find_spec("matplotlib") is None:
        raise Unavailable("the picture needs matplotlib, which `make bench` installs")


def draw(ratios: Ratios, file: Path = FILE) -> None:
    from matplotlib.figure import Figure

    names = [name for name in WORKLOADS if name in ratios]
    rows = range(len(names))
    figure = Figure(figsize=(9, 0.7 + 0.36 * len(names)), dpi=100, facecolor="white", layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    left.barh(rows, [ratios[name].pods_per_second for name in names], color=_RATE, height=0.6)
    left.set_title("pods bound per second (more is better)", fontsize=10)
    right.barh(rows, [ratios[name].cpu for name in names], color=_CPU, height=0.6)
    right.set_title("CPU per pod (less is better)", fontsize=10)
    for row, name in zip(rows, names, strict=True):
        bounds = WORKLOADS[name].bounds
        left.plot([bounds.pods_per_second] * 2, [row - 0.4, row + 0.4], color=_BOUND, linewidth=1.5)
        if bounds.cpu is not None:
            right.plot([bounds.cpu] * 2, [row - 0.4, row + 0.4], color=_BOUND, linewidth=1.5)
        left.annotate(
            f" {ratios[name].pods_per_second:.1f}", (ratios[name].pods_per_second, row), va="center"
        )
        right.annotate(f" {ratios[name].cpu:.2f}", (ratios[name].cpu, row), va="center")
    for axes in (left, right):
        axes.axvline(1, color="#999999", linewidth=1, linestyle="--")
        axes.set_xlim(0, axes.get_xlim()[1] * 1.1)
        axes.set_xlabel("Moorage / kube-scheduler; dashed: equal, black: bound", fontsize=8)
        axes.spines[["top", "right"]].set_visible(False)
    left.set_yticks(list(rows), names)
    left.invert_yaxis()
    figure.savefig(file, metadata={"Software": None})
