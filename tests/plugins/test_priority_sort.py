from __future__ import annotations

import pytest

from moorage.framework.queued_pod import QueuedPod
from moorage.plugins.priority_sort import PrioritySort
from moorage.testing import make_pod
from tests.plugins.helpers import cluster


def queued(priority: int | None, timestamp: float) -> QueuedPod:
    return QueuedPod(make_pod(priority=priority), timestamp)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (queued(10, 5.0), queued(9, 1.0)),
        (queued(10, 1.0), queued(10, 2.0)),
        (queued(None, 3.0), queued(-1, 1.0)),
        (queued(0, 1.0), queued(None, 2.0)),
        (queued(2_000_001_000, 9.0), queued(1_000_000_000, 1.0)),
    ],
)
def test_what_comes_first(first: QueuedPod, second: QueuedPod) -> None:
    plugin = PrioritySort(None, cluster())
    assert plugin.sort_key(first) < plugin.sort_key(second)


def test_equal_priority_and_time_are_equal() -> None:
    plugin = PrioritySort(None, cluster())
    assert plugin.sort_key(queued(None, 1.0)) == plugin.sort_key(queued(0, 1.0))
