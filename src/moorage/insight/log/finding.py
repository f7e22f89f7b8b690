"""Finding attempts among those that are kept."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from moorage.insight.log.entries import Entry


def find(entries: Iterable[Entry], pod: str, outcome: str, node: str, plugin: str) -> Iterator[Entry]:
    """Those that are about all of it; what is empty does not matter."""
    namespace, _, name = pod.rpartition("/")
    for entry in entries:
        if pod and (entry.name != name or entry.namespace != namespace):
            continue
        if outcome and entry.outcome != outcome:
            continue
        if node and entry.node != node:
            continue
        if plugin and plugin not in entry.plugins:
            continue
        yield entry
