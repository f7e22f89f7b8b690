"""Thousands of pods that wait: judged in groups, moved piece by piece, tried early only with hope."""

from __future__ import annotations

import asyncio
from collections.abc import Hashable, Sequence
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage.api.pods import Pod
from moorage.api.selectors import selector_from_map
from moorage.framework.events import NODE, POD, UNSCHEDULABLE_POD, Action, ClusterEvent, Hint
from moorage.framework.queued_pod import QueuedPod
from moorage.queue import piecemeal
from moorage.queue.change_events import ASSIGNED_POD_DELETE, NODE_ADD, NODE_DELETE
from moorage.queue.hints import Interests, Requeue
from moorage.queue.in_flight import InFlightPods
from moorage.queue.since_pop import SincePop
from moorage.queue.unschedulable import UnschedulablePods
from moorage.testing.builders import make_node, make_pod
from tests.queue.worlds import Rejecter, World, make_queue_profile, newer

selector_from_map({"other": "yes"})  # somebody asks for it: only then does a label tell pods apart


class Fair(Rejecter):
    """Treats pods alike that are alike."""

    treats_like_pods_alike = True


class Asked:
    """A hint that remembers for which pods it was asked."""

    def __init__(self, answer: Hint = Hint.QUEUE) -> None:
        self.answer = answer
        self.names: list[str] = []

    def __call__(self, pod: Pod, old: object, new: object) -> Hint:
        self.names.append(pod.name)
        return self.answer


def events(hint: Asked) -> Sequence[ClusterEvent]:
    return [ClusterEvent(NODE, Action.ADD, hint), ClusterEvent(POD, Action.ALL, hint)]


def reject(world: World, *names: str, **fields: str) -> None:
    for name in names:
        world.rejected(name, by=["Fit"], **fields)


# Groups


@pytest.mark.parametrize("answer", Hint)
def test_pods_that_are_alike_are_asked_about_once(answer: Hint) -> None:
    hint = Asked(answer)
    world = World(Fair("Fit", events(hint)))
    reject(world, "a", "b", "c")
    reject(world, "d", cpu="2")
    world.queue.move_all(NODE_ADD, None, make_node())
    assert sorted(hint.names) == ["a", "d"]
    place = "backoff" if answer is Hint.QUEUE else "unschedulable"
    assert [world.place(name) for name in "abcd"] == [place] * 4


def test_a_plugin_that_promises_nothing_is_asked_about_every_pod() -> None:
    hint = Asked(Hint.SKIP)
    world = World(Rejecter("Fit", events(hint)))
    reject(world, "a", "b", "c")
    world.queue.move_all(NODE_ADD, None, make_node())
    assert sorted(hint.names) == ["a", "b", "c"]


def test_the_pod_that_an_event_is_about_is_a_case_of_its_own() -> None:
    def hint(pod: Pod, old: Pod, new: object) -> Hint:
        return Hint.QUEUE if pod.uid == old.uid else Hint.SKIP

    world = World(Fair("Fit", [ClusterEvent(POD, Action.DELETE, hint)]))
    reject(world, "a", "b", "c")
    queued = world.queue.get(make_pod("b"))
    assert queued is not None
    world.queue.move_all(ASSIGNED_POD_DELETE, queued.pod, None)
    assert [world.place(name) for name in "abc"] == ["unschedulable", "backoff", "unschedulable"]


def test_a_pod_that_changes_leaves_its_group() -> None:
    hint = Asked(Hint.SKIP)
    world = World(Fair("Fit", events(hint)))
    reject(world, "a", "b")
    queued = world.queue.get(make_pod("b"))
    assert queued is not None
    world.queue.update(queued.pod, newer(queued.pod, labels={"other": "yes"}))
    hint.names.clear()
    world.queue.move_all(NODE_ADD, None, make_node())
    assert sorted(hint.names) == ["a", "b"]


def test_a_new_selector_divides_a_group() -> None:
    hint = Asked(Hint.SKIP)
    world = World(Fair("Fit", events(hint)))
    reject(world, "a", "b")
    for name in "ab":
        queued = world.queue.get(make_pod(name))
        assert queued is not None
        world.queue.update(queued.pod, newer(queued.pod, labels={"asked-for-later": name}))
    hint.names.clear()
    world.queue.move_all(NODE_ADD, None, make_node())
    assert len(hint.names) == 1
    selector_from_map({"asked-for-later": "a"})
    world.queue.move_all(NODE_ADD, None, make_node())
    assert sorted(hint.names[1:]) == ["a", "b"]


@pytest.mark.parametrize("how", ["put", "asked"])
def test_a_pod_that_leaves_before_it_is_regrouped_stays_away(how: str) -> None:
    group, queued = "one", QueuedPod(make_pod("a"), 0.0)

    def leave() -> None:
        pods.remove("default/a")

    pods = UnschedulablePods(lambda queued: group, leave)
    pods.put(queued)
    group = "other"
    if how == "put":
        pods.put(queued)
    else:
        selector_from_map({"asked-for-by-nobody-else": "a"})
        assert pods.groups() == []
    assert "default/a" not in pods


# Piece by piece


def test_slow_hints_let_others_have_their_turn_and_no_pod_is_left_out() -> None:
    hint = Asked()
    world = World(Rejecter("Fit", events(hint)))
    names = [f"pod-{number}" for number in range(200)]
    reject(world, *names)

    async def main() -> None:
        with patch.object(piecemeal, "PIECE_SECONDS", 0):
            world.queue.move_all(NODE_ADD, None, make_node())
            done = len(world.queue.pending().backoff)
            assert 0 < done < 100
            world.queue.move_all(NODE_DELETE, make_node(), None)  # waits for its turn, or interests nobody
            world.queue.delete(make_pod("pod-199"))
            reject(world, "late")
            for _ in range(20):
                await asyncio.sleep(0)

    asyncio.run(main())
    assert len(world.queue.pending().backoff) == 199
    assert world.place("late") == "unschedulable", "it failed after that happened"
    assert sorted(hint.names) == sorted(names[:-1])


def test_what_a_pod_waits_for_changes_while_an_event_is_under_way() -> None:
    world = World(Fair("Fit", events(Asked())))
    for number in range(100):
        reject(world, f"pod-{number}", cpu=str(number + 1))

    async def main() -> None:
        with patch.object(piecemeal, "PIECE_SECONDS", 0):
            world.queue.move_all(NODE_ADD, None, make_node())
            last = world.queue.get(make_pod("pod-99"))
            assert last is not None and world.place("pod-99") == "unschedulable"
            world.queue.update(last.pod, newer(last.pod, labels={"other": "yes"}))

    asyncio.run(main())
    assert len(world.queue.pending().backoff) == 100


# Early attempts


class Knows:
    """Which pods would be tried in vain, by name."""

    def __init__(self) -> None:
        self.moment = 0
        self.in_vain: dict[str, str] = {}

    def hopeless(self, pod: Pod) -> Hashable:
        return self.in_vain.get(pod.name)


def backing_off(*names: str) -> tuple[World, Knows]:
    knows = Knows()
    world = World(Fair("Fit", [ClusterEvent(NODE, Action.ADD)]), outlook=knows)
    reject(world, *names)
    world.queue.move_all(NODE_ADD)
    assert [world.place(name) for name in names] == ["backoff"] * len(names)
    return world, knows


def test_pods_without_hope_are_not_tried_early() -> None:
    world, knows = backing_off("a", "b", "c")
    knows.in_vain = dict.fromkeys("ac", "kind")
    assert world.pop_all() == ["b"]
    assert len(world.queue.pending().backoff) == 2


def test_after_a_change_one_of_each_kind_is_tried_early() -> None:
    world, knows = backing_off("a", "b", "c", "d")
    knows.in_vain = {"a": "one", "b": "one", "c": "two", "d": "two"}
    assert world.pop_all() == []
    knows.moment += 1
    knows.in_vain.clear()
    assert world.pop().pod.name == "a"
    knows.in_vain = {"b": "one"}
    assert world.pop_all() == ["c"], "for the other kind nothing is known yet"
    knows.moment += 1
    knows.in_vain.clear()
    assert world.pop_all() == ["b", "d"]


def test_without_hope_or_not_they_become_active_when_their_backoff_ends() -> None:
    world, knows = backing_off("a", "b")
    knows.in_vain = dict.fromkeys("ab", "kind")
    assert world.pop_all() == []
    world.queue.delete(make_pod("a"))
    world.clock.now += 3
    world.queue.flush_backoff()
    assert world.pop_all() == ["b"]


def test_who_waits_for_a_pod_to_pop_hears_of_a_change() -> None:
    world, knows = backing_off("a")
    knows.in_vain = {"a": "kind"}

    async def main() -> None:
        waiting = asyncio.create_task(world.queue.ready())
        await asyncio.sleep(0)
        knows.moment += 1
        knows.in_vain.clear()
        world.queue.move_all(NODE_DELETE)
        async with asyncio.timeout(5):
            await waiting

    asyncio.run(main())
    assert world.pop_all() == ["a"]


# What happened meanwhile

OWN = ClusterEvent(UNSCHEDULABLE_POD, Action.UPDATE_POD_LABEL)


@given(st.lists(st.tuples(st.sampled_from(["pop", "node", "no node", "own", "back"]), st.integers(0, 5))))
def test_what_happened_meanwhile_means_the_same_as_judged_one_by_one(steps: list[tuple[str, int]]) -> None:
    def own(pod: Pod, old: Pod | None, new: Pod | None) -> Hint:
        return Hint.QUEUE if new is not None and new.uid == pod.uid else Hint.SKIP

    plugin = Fair(
        "Fit",
        [
            ClusterEvent(NODE, Action.ADD, lambda pod, old, new: Hint.QUEUE if new else Hint.SKIP),
            ClusterEvent(POD, Action.UPDATE_POD_LABEL, own),
        ],
    )
    profile = make_queue_profile("default-scheduler", plugin)
    interests, in_flight = Interests({profile.name: profile}), InFlightPods()
    together = SincePop(in_flight, interests)
    flying: dict[int, QueuedPod] = {}
    for step, number in steps:
        if step == "pop" and number not in flying:
            flying[number] = QueuedPod(make_pod(f"p{number}"), 0.0)
            flying[number].unschedulable_plugins = {"Fit"}
            if number == 5:
                flying[number].pending_plugins = {"Fit"}
            in_flight.start(flying[number].pod.uid)
        elif step == "node":
            in_flight.record(NODE_ADD, None, None if number % 2 else make_node())
        elif step == "no node":
            in_flight.record(NODE_DELETE, make_node(), None)
        elif step == "own" and number in flying:
            in_flight.record(OWN, flying[number].pod, flying[number].pod)
        elif step == "back" and number in flying:
            queued = flying.pop(number)
            seen = in_flight.events_since_start(queued.pod.uid)
            expected = max((interests.worth_requeueing(queued, *each) for each in seen), default=Requeue.SKIP)
            assert together.verdict(queued) is expected
            in_flight.finish(queued.pod.uid)
