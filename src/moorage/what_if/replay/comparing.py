"""The figures of replays side by side, and how they differ over several seeds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

from moorage.what_if.replay.jobs import Outcome


@dataclass(frozen=True)
class Variant:
    """One way to schedule, and what came of it with each seed."""

    name: str
    outcomes: Sequence[Outcome]


@dataclass(frozen=True)
class Figure:
    """Something that is measured."""

    name: str
    kind: str
    """`count`, `mean`, `seconds`, `share` or `cost`."""
    of: Callable[[Outcome], float]
    is_detail: bool = False

    def mean(self, variant: Variant) -> float:
        return fmean(map(self.of, variant.outcomes))

    def show(self, variant: Variant) -> str:
        values = list(map(self.of, variant.outcomes))
        text = _shown(fmean(values), self.kind)
        spread = _spread(values)
        return f"{text} ±{_shown(spread, self.kind)}" if spread else text

    def difference(self, variant: Variant, base: Variant) -> Difference:
        """Seed by seed."""
        pairs = zip(variant.outcomes, base.outcomes, strict=False)
        differences = [self.of(ours) - self.of(theirs) for ours, theirs in pairs]
        return Difference(self, fmean(differences), _spread(differences), self.mean(base))


@dataclass(frozen=True)
class Difference:
    """How much more of something one variant has than another."""

    figure: Figure
    mean: float
    spread: float
    """The standard deviation over seeds; 0 with one seed."""
    base: float

    def __str__(self) -> str:
        kind = self.figure.kind
        text, nothing = _shown(abs(self.mean), kind), _shown(0.0, kind)
        if text == nothing and _shown(self.spread, kind) == nothing:
            return "same"
        sign = "-" if self.mean < 0 else "+"
        spread = f" ±{_shown(self.spread, kind)}" if self.spread else ""
        if kind == "share":
            return f"{sign}{text}{spread}".replace("%", "") + " points"
        relative = f" ({sign}{abs(self.mean / self.base):.1%})" if self.base else ""
        return f"{sign}{text}{spread}{relative}"


def figures(outcome: Outcome, *, has_prices: bool) -> list[Figure]:
    """All that is measured; the resources are those of an outcome."""
    fixed = [
        Figure("pods", "count", lambda each: each.pods),
        Figure("placed", "count", lambda each: each.placed),
        Figure("never placed", "count", lambda each: each.never_placed),
        Figure("time to bind, p50", "seconds", lambda each: each.pending_p50),
        Figure("time to bind, p99", "seconds", lambda each: each.pending_p99),
        Figure("preemptions", "count", lambda each: each.preemptions),
        Figure("nodes in use", "mean", lambda each: each.nodes_in_use),
    ]
    used = [
        Figure(f"{name} requested", "share", _of(lambda each: each.utilisation, name))
        for name in outcome.utilisation
    ]
    useless = [
        Figure(f"{name} of no use", "share", _of(lambda each: each.fragmentation_of, name), is_detail=True)
        for name in outcome.fragmentation_of
    ]
    cost = [Figure("cost", "cost", lambda each: each.cost)] if has_prices else []
    return [
        *fixed,
        *used,
        Figure("fragmentation", "share", lambda each: each.fragmentation),
        *useless,
        *cost,
        Figure("seconds to replay", "mean", lambda each: each.seconds, is_detail=True),
    ]


def _of(part: Callable[[Outcome], dict[str, float]], name: str) -> Callable[[Outcome], float]:
    return lambda outcome: part(outcome).get(name, 0.0)


def _spread(values: Sequence[float]) -> float:
    return stdev(values) if len(values) > 1 else 0.0


def _shown(value: float, kind: str) -> str:
    if kind == "share":
        return f"{100 * value:.1f}%"
    if kind == "seconds":
        return duration(value)
    if kind == "cost":
        return f"{value:.2f}"
    return f"{value:.0f}" if kind == "count" and value == int(value) else f"{value:.1f}"


def duration(seconds: float) -> str:
    """As people say it: 0.5s, 42s, 3m20s, 2h5m, 4d3h."""
    if seconds < 10:
        return f"{seconds:.1f}".removesuffix(".0") + "s"
    whole = round(seconds)
    for large, small, large_size, small_size in (
        ("d", "h", 86400, 3600),
        ("h", "m", 3600, 60),
        ("m", "s", 60, 1),
    ):
        if whole >= large_size:
            rest = whole % large_size // small_size
            return f"{whole // large_size}{large}" + (f"{rest}{small}" if rest else "")
    return f"{whole}s"
