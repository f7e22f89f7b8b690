"""What `moorage top` shows, in lines that fit a terminal."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from moorage.cli.terminal.picture import end_cut, middle_cut, styled
from moorage.cli.terminal.printable import printable
from moorage.cli.terminal.screen import Size
from moorage.insight.words.amounts import age, amount, counted, duration

Document = dict[str, Any]

HISTORY = 60
_LEVELS = " .:-=+*#%@"
_BAR = 20
_FIRST_RESOURCES = ("cpu", "memory", "pods", "ephemeral-storage")
_MOST_RESOURCES = 5
_FULLEST = 3
_MARGIN = 9
_BOLD, _RED, _YELLOW = "1", "31", "33"


class Usage(NamedTuple):
    """How much of a resource is requested on all nodes, and where most of it is."""

    resource: str
    requested: int
    allocatable: int
    fullest: list[tuple[str, float]]


class PluginTimes(NamedTuple):
    """One plugin at one point, from the calls that were timed: those since the last look, or all."""

    plugin: str
    point: str
    calls: float
    mean: float
    p99: float | None
    spent: float
    """In seconds, in all."""
    failures: int


@dataclass
class Seen:
    """What was heard of a scheduler, and since when it is silent."""

    summary: Document
    usage: list[Usage] = field(default_factory=list)
    plugins: list[PluginTimes] = field(default_factory=list)
    rates: deque[float] = field(default_factory=lambda: deque(maxlen=HISTORY))
    per_second: bool = False
    gone_since: float | None = None
    problem: str = ""


def usage_of(nodes: Document) -> list[Usage]:
    """The sums of the columns of all nodes, for the resources that there are."""
    known: list[str] = nodes.get("resources") or []
    ordered = [each for each in _FIRST_RESOURCES if each in known]
    ordered += [each for each in known if each not in ordered]
    found = []
    for resource in ordered:
        offered = nodes["allocatable"].get(resource) or []
        taken = nodes["requested"].get(resource) or []
        if not sum(offered):
            continue
        parts = [
            (used / there, name)
            for name, used, there in zip(nodes["names"], taken, offered, strict=True)
            if there
        ]
        fullest = [(name, part) for part, name in sorted(parts, reverse=True)[:_FULLEST]]
        found.append(Usage(resource, sum(taken), sum(offered), fullest))
    return found


def plugin_times(now: Document, before: Document | None, seconds: float) -> list[PluginTimes]:
    """Those that took longest first. With what was heard `seconds` before, only what came since counts."""
    earlier = {
        (each["name"], point["point"]): point
        for each in (before or {}).get("plugins") or ()
        for point in each["points"]
    }
    found = []
    for each in now.get("plugins") or ():
        for point in each["points"]:
            was = earlier.get((each["name"], point["point"])) if before else None
            calls, spent = point["calls"], point["seconds"]
            per = 1.0
            if was is not None and seconds > 0:
                calls, spent, per = calls - was["calls"], spent - was["seconds"], seconds
            mean = spent / calls if calls > 0 else point.get("mean") or 0.0
            found.append(
                PluginTimes(
                    each["name"],
                    point["point"],
                    calls / per,
                    mean,
                    point.get("p99"),
                    spent,
                    each["failures"],
                )
            )
    return sorted(found, key=lambda times: (-times.spent, times.plugin, times.point))


def picture(seen: Seen, size: Size, *, colours: bool, now: float | None = None) -> list[str]:
    """At most so many lines and columns; the first line is empty."""
    now = time.time() if now is None else now
    width = size.columns - 1
    lines = ["", _heading(seen.summary, width, colours, now)]
    if seen.gone_since is not None:
        text = f"No answer for {age(now - seen.gone_since)}: {printable(seen.problem)}; trying again."
        lines.append(styled(end_cut(text, width), _RED, colours))
    lines += [_rate(seen, width, colours), _queue(seen.summary, width, colours)]
    lines += _nodes(seen.usage, width, colours)
    room = size.rows - 1 - len(lines)
    if room >= 3 and seen.plugins:
        lines += _plugins(seen, room, width, colours)
    return lines[: max(1, size.rows - 1)]


def _heading(summary: Document, width: int, colours: bool, now: float) -> str:
    leads = "" if summary.get("leads", True) else " · waits to lead"
    text = (
        f"Moorage {summary.get('version', '')} · up {age(now - summary['started'])}{leads} · "
        f"{counted(summary['nodes'], 'node')}, {counted(summary['placedPods'], 'pod')} placed"
    )
    return styled(end_cut(printable(text), width), _BOLD, colours)


def _line(name: str, text: str, width: int, colours: bool) -> str:
    return styled(f"{name:{_MARGIN}}"[:width], _BOLD, colours) + end_cut(text, max(0, width - _MARGIN))


def _rate(seen: Seen, width: int, colours: bool) -> str:
    rates: Document = seen.summary["rates"]
    text = (
        f"{rates['boundPerSecond']:.1f} bound/s   {rates['failedPerSecond']:.1f} failed/s   "
        f"{rates['attemptsPerSecond']:.1f} tries/s"
    )
    highest = max(seen.rates, default=0)
    if highest > 0 and len(seen.rates) > 1:
        marks = "".join(_LEVELS[round(rate / highest * (len(_LEVELS) - 1))] for rate in seen.rates)
        room = width - _MARGIN - len(text) - 5
        text += f"   [{marks[-room:]}]" if room >= 10 else ""
    return _line("Rate", text, width, colours)


def _queue(summary: Document, width: int, colours: bool) -> str:
    queue: Document = summary["queue"]
    names = {
        "active": "in line",
        "backoff": "backing off",
        "unschedulable": "waiting",
        "gated": "held back",
        "inFlight": "under way",
    }
    return _line(
        "Queue", "   ".join(f"{queue.get(key, 0)} {name}" for key, name in names.items()), width, colours
    )


def _nodes(usage: Sequence[Usage], width: int, colours: bool) -> list[str]:
    lines = []
    names = min(max((len(each.resource) for each in usage[:_MOST_RESOURCES]), default=0), 24)
    for place, each in enumerate(usage[:_MOST_RESOURCES]):
        part = each.requested / each.allocatable
        filled = min(_BAR, round(part * _BAR))
        name = f"{middle_cut(printable(each.resource), names):{names}}"
        sums = f"{amount(each.resource, each.requested)} of {amount(each.resource, each.allocatable)}"
        text = f"{name}  [{'#' * filled}{'.' * (_BAR - filled)}] {part:4.0%}  {sums}"
        fullest = [f"{printable(node)} {share:.0%}" for node, share in each.fullest if share > 0]
        if fullest:
            text += f"   fullest: {', '.join(fullest)}"
        lines.append(_line("" if place else "Nodes", text, width, colours))
    return lines


def _plugins(seen: Seen, room: int, width: int, colours: bool) -> list[str]:
    calls = "TIMED/S" if seen.per_second else "TIMED"
    heading = f"{'PLUGIN':32} {'POINT':16} {calls:>8} {'MEAN':>8} {'P99':>8}"
    lines = ["", styled(end_cut(heading, width), _BOLD, colours)]
    busy = [each for each in seen.plugins if each.calls > 0] or seen.plugins
    for each in busy[: room - 2]:
        failed = f"  {counted(each.failures, 'failure')}" if each.failures else ""
        text = (
            f"{middle_cut(printable(each.plugin), 32):32} {end_cut(printable(each.point), 16):16} "
            f"{each.calls:8.0f} {duration(each.mean):>8} "
            f"{'' if each.p99 is None else duration(each.p99):>8}{failed}"
        )
        lines.append(styled(end_cut(text.rstrip(), width), _YELLOW if each.failures else "", colours))
    return lines
