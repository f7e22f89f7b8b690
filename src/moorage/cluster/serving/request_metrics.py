"""The metrics of the API server, with the names that kube-apiserver has for the same.

Counting must cost next to nothing: it is done in plain dicts and lists, which are brought into the form of
Prometheus when somebody asks.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from moorage.cluster.access.requests import Answer, Place
from moorage.cluster.base.store import Store
from moorage.cluster.schema.definitions import Definition, Definitions
from moorage.cluster.serving.watches import Watch

_BUCKETS = (
    *(0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2.0, 3.0),
    *(4.0, 5.0, 6.0, 8.0, 10.0, 15.0, 20.0, 30.0, 45.0, 60.0),
)
_VERBS = {"create": "POST", "update": "PUT"}
_LABELS = ("verb", "dry_run", "group", "version", "resource", "subresource", "scope", "component")
_LONG = tuple(label for label in _LABELS if label != "dry_run")


class Kind(NamedTuple):
    """What requests are told apart by: the labels of their metrics."""

    verb: str
    dry_run: str = ""
    group: str = ""
    version: str = ""
    resource: str = ""
    subresource: str = ""
    scope: str = ""
    component: str = "apiserver"


class _Durations:
    def __init__(self) -> None:
        self.counts = [0] * (len(_BUCKETS) + 1)
        self.sum = 0.0

    def buckets(self) -> Iterator[tuple[str, float]]:
        total = 0
        for bound, count in zip((*map(str, _BUCKETS), "+Inf"), self.counts, strict=True):
            total += count
            yield bound, float(total)


class RequestMetrics:
    def __init__(
        self, definitions: Definitions, store: Store, watches: Callable[[], Iterable[Watch]]
    ) -> None:
        self._definitions = definitions
        self._store = store
        self._watches = watches
        self._codes: Counter[tuple[Kind, int]] = Counter()
        self._durations: dict[Kind, _Durations] = {}

    def count(self, kind: Kind, code: int, seconds: float | None) -> None:
        """Notes a request that was answered, and how long that took, unless the answer goes on."""
        self._codes[kind, code] += 1
        if seconds is None:
            return
        known = self._durations.get(kind)
        if known is None:
            known = self._durations[kind] = _Durations()
        known.counts[bisect_left(_BUCKETS, seconds)] += 1
        known.sum += seconds

    def answer(self) -> Answer:
        """All of them as text."""
        from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest

        registry = CollectorRegistry(auto_describe=False)
        registry.register(self)  # type: ignore[arg-type]
        return Answer(200, generate_latest(registry), CONTENT_TYPE_LATEST)

    def collect(self) -> Iterator[object]:
        """The families of metrics, as a registry asks for them."""
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily

        total = CounterMetricFamily(
            "apiserver_request_total",
            "Requests by verb, dry run, group, version, resource, scope, component and code of the answer.",
            labels=(*_LABELS, "code"),
        )
        for (kind, code), count in self._codes.items():
            total.add_metric((*kind, str(code)), count)
        yield total
        latency = HistogramMetricFamily(
            "apiserver_request_duration_seconds",
            "How long answers took, by verb, dry run, group, version, resource, scope and component.",
            labels=_LABELS,
        )
        for kind, durations in self._durations.items():
            latency.add_metric(kind, list(durations.buckets()), durations.sum)
        yield latency
        running = GaugeMetricFamily(
            "apiserver_longrunning_requests",
            "Watches that go on, by group, version, resource, scope and component.",
            labels=_LONG,
        )
        for kind, count in Counter(map(self._kind_of, self._watches())).items():
            running.add_metric(tuple(getattr(kind, label) for label in _LONG), count)
        yield running
        stored = GaugeMetricFamily(
            "apiserver_resource_objects", "Stored objects by kind.", labels=("group", "resource")
        )
        named = GaugeMetricFamily(
            "apiserver_storage_objects", "Stored objects by kind.", labels=("resource",)
        )
        for definition in self._stored():
            count = self._store.count(definition.storage)
            stored.add_metric((definition.group, definition.plural), count)
            named.add_metric((definition.name,), count)
        yield stored
        yield named

    def _stored(self) -> Iterator[Definition]:
        for storage in dict.fromkeys(each.storage for each in self._definitions if "list" in each.verbs):
            definition = self._definitions.of_storage(storage)
            if definition is not None:
                yield definition

    def _kind_of(self, watch: Watch) -> Kind:
        definition = self._definitions.of_storage(watch.resource)
        if definition is None:
            return Kind("WATCH", resource=watch.resource)
        scope = "resource" if watch.name else "namespace" if watch.namespace else "cluster"
        place = {"group": definition.group, "version": definition.version, "resource": definition.plural}
        return Kind("WATCH", scope=scope, **place)


def kind_of_request(verb: str, place: Place, dry_run: bool) -> Kind:
    """Of a request for a resource that is served."""
    scope = "resource" if place.name or verb == "create" else "namespace" if place.namespace else "cluster"
    return Kind(
        _VERBS.get(verb, verb.upper()),
        "All" if dry_run else "",
        place.group,
        place.version,
        place.plural,
        place.subresource,
        scope,
    )
