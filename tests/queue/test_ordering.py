from __future__ import annotations

import logging
import time
from typing import Any

import numpy as np
import pytest

from moorage.framework.extension_points import QueueSortPlugin
from moorage.framework.queued_pod import QueuedPod
from moorage.framework.runtime.hung_calls import DidNotReturn
from moorage.queue.ordering import QueueOrder
from moorage.testing import make_pod
from tests.queue.worlds import HANDLE, World, make_queue_profile


class ByLabel(QueueSortPlugin):
    """Sorts by whatever object the test keeps for the pod's name."""

    keys: dict[str, Any] = {}

    def sort_key(self, queued: QueuedPod) -> Any:
        key = self.keys[queued.pod.name]
        if isinstance(key, Exception):
            raise key
        return key


def popped(**keys: Any) -> list[str]:
    sort = ByLabel(None, HANDLE)
    sort.keys = keys
    world = World(sort=sort)
    for name in keys:
        world.add(name)
    return world.pop_all()


def test_smallest_key_first() -> None:
    assert popped(a=3, b=1, c=2) == ["b", "c", "a"]


def test_equal_keys_keep_their_order() -> None:
    assert popped(a=1, b=1, c=0, d=1) == ["c", "a", "b", "d"]


@pytest.mark.parametrize(
    "bad",
    [ValueError("no key"), None, object(), {}, 1j, "text", np.array([1, 2])],
    ids=lambda bad: type(bad).__name__,
)
def test_a_pod_without_a_usable_key_comes_last(bad: Any, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR):
        assert popped(a=2, bad=bad, b=1, c=3, worse=bad) == ["b", "a", "c", "bad", "worse"]
    assert "QueueSort plugin ByLabel has no place for pod default/bad" in caplog.text


@pytest.mark.parametrize("bad", [ValueError("no key"), None])
def test_an_unusable_key_that_comes_first_does_not_decide_for_the_others(bad: Any) -> None:
    assert popped(bad=bad, a=2, b=1) == ["b", "a", "bad"]


def test_keys_that_compare_with_some_only_lose_no_pod() -> None:
    names = popped(a=(1, "x"), b=(1, 2), c=(0, None), d=(1, None), e=(2, "y"))
    assert sorted(names) == ["a", "b", "c", "d", "e"]


def test_a_key_that_does_not_compare_with_itself_takes_part_all_the_same() -> None:
    assert sorted(popped(a=float("nan"), b=1.0, c=float("nan"))) == ["a", "b", "c"]


def test_priority_then_time() -> None:
    world = World()
    world.add("low", priority=1)
    world.clock.now += 1
    world.add("later", priority=5)
    world.add("none")
    world.clock.now -= 0.5
    world.add("earlier", priority=5)
    assert world.pop_all() == ["earlier", "later", "low", "none"]


def test_the_first_profile_sorts_for_all() -> None:
    class Backwards(QueueSortPlugin):
        def sort_key(self, queued: QueuedPod) -> Any:
            return queued.pod.priority

    first = make_queue_profile("one", sort=Backwards(None, HANDLE))
    world = World(profiles=[first, make_queue_profile("two")])
    world.add("a", priority=2, scheduler="two")
    world.add("b", priority=1, scheduler="two")
    assert world.pop_all() == ["b", "a"]


def test_a_plugin_that_did_not_return_is_not_asked_again_at_once() -> None:
    asked: list[str] = []

    class Hangs(QueueSortPlugin):
        def sort_key(self, queued: QueuedPod) -> Any:
            asked.append(queued.pod.name)
            if queued.pod.name == "stuck":
                HANDLE.services.running.interrupted = time.perf_counter()
                raise DidNotReturn
            return 0

    order = QueueOrder(make_queue_profile(sort=Hangs(None, HANDLE)))
    stuck, fine = QueuedPod(make_pod("stuck"), 0.0), QueuedPod(make_pod("fine"), 0.0)
    assert [order.of(stuck), order.of(stuck), order.of(fine), order.of(fine)] == [(1,), (1,), (0, 0), (0, 0)]
    assert asked == ["stuck", "fine", "fine"]
