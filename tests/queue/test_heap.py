from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage.framework.queued_pod import QueuedPod
from moorage.queue.heap import PodHeap
from moorage.testing.builders import make_pod


def record(name: str, priority: int = 0) -> QueuedPod:
    return QueuedPod(make_pod(name, priority=priority), 0.0)


def by_priority(queued: QueuedPod) -> tuple[Any, ...]:
    return (-queued.pod.priority,)


def drained(heap: PodHeap) -> list[str]:
    names = []
    while (queued := heap.pop()) is not None:
        names.append(queued.pod.name)
    return names


def heap_of(*queued: QueuedPod) -> PodHeap:
    heap = PodHeap(by_priority)
    for each in queued:
        heap.push(each)
    return heap


def test_smallest_comes_first_and_equals_keep_their_order() -> None:
    heap = heap_of(record("a"), record("b", 5), record("c"), record("d", 5), record("e"))
    assert [queued.pod.name for queued in heap] == ["a", "b", "c", "d", "e"]
    assert drained(heap) == ["b", "d", "a", "c", "e"]
    assert heap.pop() is None
    assert heap.peek() is None


def test_remove_takes_any_pod() -> None:
    heap = heap_of(record("a", 3), record("b", 2), record("c", 1))
    for key in ("default/a", "default/b"):
        removed = heap.remove(key)
        assert removed is not None
        assert removed.pod.key == key
        assert heap.get(key) is None
    assert heap.remove("default/a") is None
    assert len(heap) == 1
    assert drained(heap) == ["c"]


def test_reorder_follows_a_change_and_keeps_the_place_among_equals() -> None:
    first, second, third = record("first"), record("second"), record("third")
    heap = heap_of(first, second, third)
    heap.reorder(first)
    assert [queued.pod.name for queued in (heap.peek(),) if queued] == ["first"]
    third.pod = make_pod("third", priority=9)
    heap.reorder(third)
    assert drained(heap) == ["third", "first", "second"]


def test_push_again_replaces() -> None:
    heap = heap_of(record("a"), record("b"), record("a"))
    assert len(heap) == 2
    assert drained(heap) == ["b", "a"]


def test_keys_that_do_not_compare_lose_no_pod() -> None:
    keys: list[Any] = [3, "x", None, (1, "y"), 2, (1, 2), {}, 1]
    heap = PodHeap(lambda queued: (keys[int(queued.pod.name)],))
    for index in range(len(keys)):
        heap.push(record(str(index)))
    assert sorted(drained(heap)) == [str(index) for index in range(len(keys))]


@given(st.lists(st.tuples(st.sampled_from("+-~p"), st.integers(0, 9), st.integers(-2, 2)), max_size=300))
def test_behaves_like_a_sorted_list(steps: list[tuple[str, int, int]]) -> None:
    heap = PodHeap(by_priority)
    model: list[QueuedPod] = []
    for step, number, priority in steps:
        name = f"pod-{number}"
        present = next((queued for queued in model if queued.pod.name == name), None)
        if step == "+":
            queued = record(name, priority)
            heap.push(queued)
            model = [*(other for other in model if other is not present), queued]
        elif step == "-":
            assert heap.remove(f"default/{name}") is present
            model = [other for other in model if other is not present]
        elif step == "~" and present is not None:
            present.pod = make_pod(name, priority=priority)
            heap.reorder(present)
        elif step == "p":
            expected = min(model, key=by_priority, default=None)
            assert heap.pop() is expected
            model = [other for other in model if other is not expected]
        assert len(heap) == len(model)
        assert {id(queued) for queued in heap} == {id(queued) for queued in model}


class Counted:
    """A key that counts how often it is compared."""

    comparisons = 0

    def __init__(self, priority: int) -> None:
        self.priority = priority

    def __lt__(self, other: Counted) -> bool:
        Counted.comparisons += 1
        return self.priority < other.priority


def comparisons_for(pods: list[QueuedPod]) -> int:
    Counted.comparisons = 0
    heap = PodHeap(lambda queued: (Counted(queued.pod.priority),))
    for queued in pods:
        heap.push(queued)
    for queued in pods[::3]:
        heap.reorder(queued)
    for queued in pods[::2]:
        heap.remove(queued.pod.key)
    while heap.pop() is not None:
        pass
    return Counted.comparisons


def test_work_grows_with_the_number_of_pods_not_its_square() -> None:
    priorities = random.Random(7)
    pods = [record(f"pod-{number}", priorities.randrange(1000)) for number in range(16_000)]
    assert comparisons_for(pods) < 16 * 2 * comparisons_for(pods[:1_000])


def test_emptied_entries_do_not_pile_up() -> None:
    heap = PodHeap(by_priority)
    heap.push(record("last"))
    queued = record("busy", 1)
    heap.push(queued)
    for _ in range(10_000):
        heap.reorder(queued)
    assert len(heap._heap) + len(heap._line) < 200


@pytest.mark.parametrize("number", [1, 50, 1000])
def test_removing_all_leaves_nothing(number: int) -> None:
    pods = [record(f"pod-{index}") for index in range(number)]
    heap = heap_of(*pods)
    for queued in pods:
        heap.remove(queued.pod.key)
    assert len(heap) == 0
    assert list(heap) == []
    assert heap.pop() is None
