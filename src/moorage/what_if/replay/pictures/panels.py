"""What is drawn: one panel for each figure that is followed over time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import floor, log10
from typing import NamedTuple

from moorage.what_if.replay.comparing import Variant
from moorage.what_if.replay.jobs import History


class Line(NamedTuple):
    """One variant in a panel."""

    name: str
    hours: Sequence[float]
    """Since the beginning of the measured time."""
    values: Sequence[float]


class Panel(NamedTuple):
    title: str
    is_share: bool
    """Whether the values are shares, to be written as percentages."""
    lines: Sequence[Line]


def panels(variants: Sequence[Variant], began: float, *, has_prices: bool) -> list[Panel]:
    """The panels for these variants; of several seeds, the first is drawn."""
    histories = [(each.name, each.outcomes[0].history) for each in variants]
    names = list(dict.fromkeys(name for _, history in histories for name in history.utilisation))
    found = [
        _panel("pods without a node", False, histories, began, lambda history: history.pending),
        _panel("nodes in use", False, histories, began, lambda history: history.nodes_in_use),
    ]
    found += [
        _panel(f"{name} requested", True, histories, began, _requested(name))
        for name in names
        if name != "pods"
    ]
    found.append(_panel("fragmentation", True, histories, began, _fragmentation))
    if has_prices:
        found.append(_panel("cost per hour", False, histories, began, lambda history: history.cost_per_hour))
    return found


def _panel(
    title: str,
    is_share: bool,
    histories: Sequence[tuple[str, History]],
    began: float,
    of: Callable[[History], Sequence[float]],
) -> Panel:
    lines = [
        Line(name, [(time - began) / 3600 for time in history.times], of(history))
        for name, history in histories
    ]
    return Panel(title, is_share, lines)


def _requested(name: str) -> Callable[[History], Sequence[float]]:
    return lambda history: history.utilisation.get(name, (0.0,) * len(history.times))


def _fragmentation(history: History) -> Sequence[float]:
    """The mean over resources."""
    parts = list(history.fragmentation.values())
    return (
        [sum(each) / len(parts) for each in zip(*parts, strict=True)] if parts else [0.0] * len(history.times)
    )


def ticks(low: float, high: float, most: int = 5) -> list[float]:
    """Round numbers from at most `low` to at least `high`, evenly apart."""
    span = high - low
    if span <= 0:
        return [low, low + 1.0]
    step = 10.0 ** floor(log10(span / most))
    for factor in (1, 2, 5, 10):
        if span / (step * factor) <= most:
            step *= factor
            break
    first = int(low // step)
    found = [first * step]
    while found[-1] < high - step * 1e-9:
        found.append((first + len(found)) * step)
    return found


def time_axis(hours: float) -> tuple[float, str]:
    """How many hours the unit of an axis of so many hours has, and its name."""
    if hours > 96:
        return 24.0, "days"
    if hours > 3:
        return 1.0, "hours"
    return (1 / 60, "minutes") if hours > 0.1 else (1 / 3600, "seconds")


def number(value: float, *, is_share: bool) -> str:
    """A value of an axis."""
    if is_share:
        return f"{100 * value:.3g}%"
    if value >= 10_000:
        return f"{value / 1000:.4g}k"
    return f"{value:.4g}"
