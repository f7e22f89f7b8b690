"""The picture and the table of the ratios on record in docs/performance.md."""

from __future__ import annotations

import json
from pathlib import Path

from bench.drain import picture, ratios
from bench.drain.ratios import Ratios
from bench.drain.workloads import WORKLOADS
from bench.machine import ROOT

FILE = ROOT / "docs" / "performance.md"
_BEGIN, _END = '<!-- ratios: written by `make bench ARGS="drain --record"` -->\n', "<!-- end of ratios -->\n"
_COLUMNS = (
    "workload",
    *("pods/s", "kube-scheduler", "ratio"),
    *("CPU s/1000", "kube-scheduler", "ratio"),
    *("MB", "kube-scheduler", "first bind"),
)


def write(file: Path = FILE) -> None:
    """Draws the picture and puts it with the table into the page."""
    picture.draw(ratios.read())
    file.write_text(with_record(file.read_text()))


def with_record(text: str, record: Path = ratios.FILE) -> str:
    """The page's text with what is on record."""
    before, _, rest = text.partition(_BEGIN)
    _, _, after = rest.partition(_END)
    return before + _BEGIN + _recorded(record) + _END + after


def _recorded(record: Path) -> str:
    known = ratios.read(record)
    if not known:
        return ""
    machine = json.loads(record.read_text())["machine"]
    rounds = min(ratio.rounds for ratio in known.values())
    commits = ", ".join(dict.fromkeys(ratio.commit for ratio in known.values()))
    return (
        f"![Moorage's figures as multiples of kube-scheduler's]({picture.FILE.relative_to(FILE.parent)})\n\n"
        f"| {' | '.join(_COLUMNS)} |\n|{'---|' * len(_COLUMNS)}\n{_rows(known)}\n"
        f"Rounds: {rounds}. {machine['cpu']}, {machine['cores']} cores, {machine['memory_gb']} GB, "
        f"Python {machine['python']}, {machine['date']}, commit {commits}.\n"
    )


def _rows(known: Ratios) -> str:
    return "".join(
        f"| {name} | {known[name].moorage.pods_per_second:.0f} | {known[name].original.pods_per_second:.0f} "
        f"| **{known[name].pods_per_second:.2f}** | {known[name].moorage.cpu_per_thousand:.2f} "
        f"| {known[name].original.cpu_per_thousand:.2f} | **{known[name].cpu:.2f}** "
        f"| {known[name].moorage.megabytes:.0f} | {known[name].original.megabytes:.0f} "
        f"| {known[name].moorage.first_bind:.1f} s |\n"
        for name in WORKLOADS
        if name in known
    )
