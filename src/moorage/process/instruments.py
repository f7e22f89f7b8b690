"""Counters, gauges and histograms as plain numbers in dicts.

One event loop both counts and answers scrapes, so that they need no locks, and a count costs a fraction of
what prometheus_client's own instruments take.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from decimal import Decimal
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry, Metric
    from prometheus_client.registry import Collector

Labels = tuple[str, ...]
Bounds = tuple[float, ...]


def exponential(start: float, factor: float, count: int) -> Bounds:
    """Bucket bounds, each the one before times the factor."""
    return tuple(accumulate([start] + [factor] * (count - 1), lambda bound, by: bound * by))


class Numbers(dict[Labels, float]):
    """A counter or a gauge: a number per combination of label values, 0 where nothing was counted."""

    def __init__(self, type: str, name: str, help: str, labels: Labels = ()) -> None:
        super().__init__()
        self.type, self.name, self.help, self.labels = type, name, help, labels

    def __missing__(self, values: Labels) -> float:
        return 0

    def family(self) -> Metric:
        from prometheus_client import Metric

        metric = Metric(self.name.removesuffix("_total"), self.help, self.type)
        for values, number in self.items() if self.labels else [((), self[()])]:
            metric.add_sample(self.name, dict(zip(self.labels, values, strict=True)), number)
        return metric


class Histogram:
    """How many observations fell between which bounds, and their sum."""

    __slots__ = ("bounds", "counts", "total")

    def __init__(self, bounds: Bounds) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.total = 0.0

    def observe(self, value: float, times: int = 1) -> None:
        self.counts[bisect_left(self.bounds, value)] += times
        self.total += value * times

    def add(self, other: Histogram) -> None:
        """Counts what another one with the same bounds has counted."""
        self.counts = [mine + theirs for mine, theirs in zip(self.counts, other.counts, strict=True)]
        self.total += other.total

    def quantile(self, part: float) -> float:
        """About the value that this part of the observations does not exceed."""
        wanted, below, lower = part * sum(self.counts), 0, 0.0
        for bound, count in zip(self.bounds, self.counts, strict=False):
            if count and below + count >= wanted:
                return lower + (bound - lower) * (wanted - below) / count
            below, lower = below + count, bound
        return lower


class Histograms(dict[Labels, Histogram]):
    """A histogram per combination of label values, made when it is first asked for."""

    type = "histogram"

    def __init__(self, name: str, help: str, bounds: Bounds, labels: Labels = ()) -> None:
        super().__init__()
        self.name, self.help, self.bounds, self.labels = name, help, bounds, labels
        self._bound_labels = [*map(bound_label, bounds), "+Inf"]

    def __missing__(self, values: Labels) -> Histogram:
        made = self[values] = Histogram(self.bounds)
        return made

    def family(self) -> Metric:
        from prometheus_client import Metric

        metric = Metric(self.name, self.help, self.type)
        for values, histogram in self.items() if self.labels else [((), self[()])]:
            named = dict(zip(self.labels, values, strict=True))
            at_most = list(accumulate(histogram.counts))
            for bound, count in zip(self._bound_labels, at_most, strict=True):
                metric.add_sample(f"{self.name}_bucket", {**named, "le": bound}, count)
            metric.add_sample(f"{self.name}_sum", named, histogram.total)
            metric.add_sample(f"{self.name}_count", named, at_most[-1])
        return metric


def bound_label(bound: float) -> str:
    """A bound as Go's client writes it: `le` is part of a series' identity."""
    text = repr(float(bound)).removesuffix(".0")
    if bound < 1e6:
        return text
    _, digits, _ = Decimal(text).normalize().as_tuple()
    first, rest = str(digits[0]), "".join(map(str, digits[1:]))
    return (
        f"{first}.{rest}e+{Decimal(text).adjusted():02}"
        if rest
        else f"{first}e+{Decimal(text).adjusted():02}"
    )


class Families:
    """Instruments that are exported together, by `registry`."""

    def __init__(self) -> None:
        self._families: list[Numbers | Histograms] = []

    @cached_property
    def registry(self) -> CollectorRegistry:
        # What comes with it takes long to load, and is for scrapes alone.
        from prometheus_client import CollectorRegistry

        registry = CollectorRegistry()
        registry.register(cast("Collector", self))
        return registry

    def counter(self, name: str, help: str, labels: Labels = ()) -> Numbers:
        return self._numbers("counter", name, help, labels)

    def gauge(self, name: str, help: str, labels: Labels = ()) -> Numbers:
        return self._numbers("gauge", name, help, labels)

    def _numbers(self, type: str, name: str, help: str, labels: Labels) -> Numbers:
        made = Numbers(type, name, help, labels)
        self._families.append(made)
        return made

    def histograms(self, name: str, help: str, bounds: Bounds, labels: Labels = ()) -> Histograms:
        made = Histograms(name, help, bounds, labels)
        self._families.append(made)
        return made

    def collect(self) -> Iterator[Metric]:
        self.read()
        for family in self._families:
            yield family.family()

    def __iter__(self) -> Iterator[Numbers | Histograms]:
        return iter(self._families)

    def stability(self) -> Iterator[str]:
        """How far each family may be relied on, where its text says so: `ALPHA`, `BETA` or `STABLE`."""
        for family in self._families:
            if family.help.startswith("["):
                yield family.help[1 : family.help.index("]")]

    def read(self) -> None:
        """Fills in what is not counted when it happens but looked up when it is asked for."""

    def reset(self) -> None:
        """Forgets what was counted; gauges say what is, so they stay."""
        for family in self._families:
            if family.type != "gauge":
                family.clear()
