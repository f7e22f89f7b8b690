"""What a sweep or a search has to know of a trace before it is replayed."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple


class Span(NamedTuple):
    """When a trace begins and ends, and what its pods ask for."""

    began: float
    ended: float
    resources: frozenset[str]
    """The resources that pods request."""

    def time_at(self, share: float) -> float:
        """When this share of the time is over."""
        return self.began + share * (self.ended - self.began)


def check_trace(path: Path) -> None:
    """Raises BadTrace or OSError if it is none."""
    from moorage.what_if.trace.files import read_trace

    read_trace(path)


def span_of(path: Path) -> Span:
    """Reads a trace from its beginning to its end; raises BadTrace and OSError."""
    from moorage.api.pods import Pod
    from moorage.what_if.trace.files import read_trace

    trace = read_trace(path)
    ended = trace.head.began
    resources: set[str] = set()
    for change in trace:
        ended = max(ended, change.time)
        if isinstance(change.item, Pod):
            for container in change.item.spec.containers:
                resources.update(container.resources.requests)
    return Span(trace.head.began, ended, frozenset(resources))
