"""A picture of the ratios on record, for docs/performance.md."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from bench.bounds import Unavailable
from bench.drain.ratios import Ratios
from bench.drain.workloads import WORKLOADS
from bench.machine import ROOT

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FILE = ROOT / "docs" / "pictures" / "performance.png"
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
        ratio, bounds = ratios[name], WORKLOADS[name].bounds
        _label(left, row, ratio.pods_per_second, bounds.pods_per_second, "1f")
        _label(right, row, ratio.cpu, bounds.cpu, "2f")
    _spread(left, max(ratios[name].pods_per_second for name in names))
    right.set_xlim(0, 1.05)
    for axes in (left, right):
        axes.axvline(1, color="#999999", linewidth=1, linestyle="--")
        axes.set_xlabel("Moorage / kube-scheduler; dashed: equal, black: bound", fontsize=8)
        axes.spines[["top", "right"]].set_visible(False)
    left.set_yticks(list(rows), names)
    left.invert_yaxis()
    figure.savefig(file, metadata={"Software": None})


def _label(axes: Axes, row: int, ratio: float, bound: float | None, digits: str) -> None:
    """Marks the bound and writes the ratio behind both."""
    if bound is not None:
        axes.plot([bound] * 2, [row - 0.4, row + 0.4], color=_BOUND, linewidth=1.5)
    axes.annotate(f" {ratio:.{digits}}", (max(ratio, bound or 0.0), row), va="center")


def _spread(axes: Axes, most: float) -> None:
    """Twice as much is as far everywhere: one workload is ten times ahead of the others."""
    axes.set_xscale("log")
    axes.set_xlim(0.9, most * 1.5)
    ticks = [tick for tick in (1, 2, 5, 10, 20, 50, 100) if tick <= most]
    axes.set_xticks(ticks, [str(tick) for tick in ticks])
    axes.set_xticks([], minor=True)
