"""Metrics of plugins: Prometheus counters, gauges and histograms, made once and shared by name."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram


class Metrics:
    """Gives out metrics by name; asking twice gives the same one."""

    def __init__(self) -> None:
        """Made by the scheduler, not for plugins."""
        self._known: dict[str, Any] = {}

    @cached_property
    def registry(self) -> CollectorRegistry:
        """The registry behind them, not for plugins."""
        from prometheus_client import CollectorRegistry

        return CollectorRegistry()

    def counter(self, name: str, help: str, labels: Sequence[str] = ()) -> Counter:
        """A Prometheus counter: `counter("lookups_total", "Lookups.", ["result"]).labels("hit").inc()`."""
        from prometheus_client import Counter

        made: Counter = self._get(Counter, name, help, labels)
        return made

    def gauge(self, name: str, help: str, labels: Sequence[str] = ()) -> Gauge:
        """A Prometheus gauge."""
        from prometheus_client import Gauge

        made: Gauge = self._get(Gauge, name, help, labels)
        return made

    def histogram(
        self, name: str, help: str, labels: Sequence[str] = (), buckets: Sequence[float] | None = None
    ) -> Histogram:
        """A Prometheus histogram; `buckets` are upper bounds."""
        from prometheus_client import Histogram

        extra: dict[str, Any] = {} if buckets is None else {"buckets": buckets}
        made: Histogram = self._get(Histogram, name, help, labels, **extra)
        return made

    def _get(self, kind: Any, name: str, help: str, labels: Sequence[str], **extra: Any) -> Any:
        found = self._known.get(name)
        if found is None:
            found = self._known[name] = kind(name, help, labels, registry=self.registry, **extra)
        if not isinstance(found, kind):
            raise ValueError(f"metric {name} is a {type(found).__name__} already")
        return found
