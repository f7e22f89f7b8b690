"""The view of `moorage up`, in lines that fit a terminal."""

from __future__ import annotations

import time
from collections.abc import Sequence

from rich.cells import cell_len, set_cell_size

from moorage.cli.terminal.counts import Snapshot
from moorage.cli.terminal.printable import printable
from moorage.cli.terminal.screen import Size
from moorage.cluster.base.store import Document

DECISIONS = 12
VERDICTS = {"Scheduled": "Scheduled", "FailedScheduling": "Failed", "Preempted": "Preempted"}
_COLOURS = {"Scheduled": "32", "FailedScheduling": "33", "Preempted": "35"}
_BOLD = "1"
_MARGIN = len("Nodes  ")


class Decision:
    """A scheduler's event."""

    def __init__(self, event: Document) -> None:
        regarding = event.get("involvedObject") or {}
        self.pod = printable(f"{regarding.get('namespace', '')}/{regarding.get('name', '')}")
        self.reason = str(event.get("reason", ""))
        self.message = printable(event.get("message", ""))
        self.by = printable(
            event.get("reportingComponent") or (event.get("source") or {}).get("component", "")
        )
        self.time = time.strftime("%H:%M:%S")

    @property
    def outcome(self) -> str:
        """The node, or why there is none."""
        return self.message.removeprefix(f"Successfully assigned {self.pod} to ")

    def __str__(self) -> str:
        return f"{self.time} {self.by}: {self.pod}: {self.reason}: {self.message}"


def picture(counts: Snapshot, decisions: Sequence[Decision], size: Size, *, colours: bool) -> list[str]:
    """At most half as high as the terminal, an empty line at its top, and nothing wider than it.

    Text above keeps the other half. And terminals that fold long lines when they become narrower can halve
    their width without pushing the view's top off the screen, where nothing can be erased.
    """
    height = max(3, size.rows // 2)
    width = size.columns - 1
    nodes = _heading("Nodes", nodes_text(counts), width, colours)
    pods = _heading("Pods", pods_text(counts), width, colours)
    each_node = _in_columns(
        [f"{name}: {count} pod{'' if count == 1 else 's'}" for name, count in counts.pods_on], width
    )
    room = height - 3
    if len(each_node) > room // 2:
        each_node = []
    lines = ["", nodes, *each_node, pods]
    shown = decisions[-DECISIONS:][len(lines) + 1 - height :] if height > len(lines) + 1 else []
    return [*lines, *([""] if shown else []), *(decision_line(each, width, colours) for each in shown)]


def nodes_text(counts: Snapshot) -> str:
    cordoned = f", {counts.cordoned} cordoned" if counts.cordoned else ""
    return f"{counts.nodes} ({counts.ready} ready{cordoned})"


def pods_text(counts: Snapshot) -> str:
    phases = ", ".join(f"{count} {phase.lower()}" for phase, count in counts.phases.items())
    return f"{sum(counts.phases.values())}{f' ({phases})' if phases else ''}"


def decision_line(decision: Decision, width: int, colours: bool) -> str:
    """Time, pod, verdict, and the node or the message, which has what room is left."""
    pod_width = min(max(width * 3 // 8, 16), 52)
    pod = set_cell_size(middle_cut(decision.pod, pod_width), pod_width)
    verdict = VERDICTS.get(decision.reason, decision.reason)
    before = f"{decision.time}  {pod}  {verdict:9}  "
    rest = width - cell_len(before)
    if rest < 1:
        return end_cut(before, width)
    # Nodes with a domain differ before it; those without, at their ends.
    cut = middle_cut if decision.reason == "Scheduled" and "." not in decision.outcome else end_cut
    return (
        f"{decision.time}  {pod}  {styled(f'{verdict:9}', _COLOURS.get(decision.reason, ''), colours)}  "
        f"{cut(decision.outcome, rest)}"
    )


def _heading(name: str, text: str, width: int, colours: bool) -> str:
    return styled(f"{name:{_MARGIN}}"[:width], _BOLD, colours) + end_cut(text, max(0, width - _MARGIN))


def _in_columns(entries: Sequence[str], width: int) -> list[str]:
    """Entries side by side, as many as fit."""
    room = width - _MARGIN
    if not entries or room < 1:
        return []
    widest = min(max(map(len, entries)), room)
    per_line = max(1, (room + 3) // (widest + 3))
    return [
        " " * _MARGIN
        + "   ".join(f"{middle_cut(each, widest):{widest}}" for each in entries[at : at + per_line]).rstrip()
        for at in range(0, len(entries), per_line)
    ]


def styled(text: str, style: str, colours: bool) -> str:
    return f"\x1b[{style}m{text}\x1b[0m" if colours and style else text


def end_cut(text: str, width: int) -> str:
    if cell_len(text) <= width:
        return text
    return f"{set_cell_size(text, width - 1)}…" if width > 0 else ""


def middle_cut(text: str, width: int) -> str:
    """Keeps both ends: names that were made from one begin alike and end differently."""
    if cell_len(text) <= width:
        return text
    if width < 5:
        return end_cut(text, width)
    tail = (width - 1) * 2 // 3
    end = text[-tail:]
    while cell_len(end) > tail:
        end = end[1:]
    return f"{set_cell_size(text, width - 1 - cell_len(end))}…{end}"
