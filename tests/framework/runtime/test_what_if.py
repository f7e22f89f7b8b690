"""`handle.what_if`: a plugin asks about a node as it would be, and nothing of it remains."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moorage.api.pods import Pod
from moorage.framework.cycle_state import CycleState
from moorage.framework.extension_points import FilterPlugin, PreBindPlugin, PreFilterPlugin
from moorage.framework.node_statuses import NodeStatuses
from moorage.framework.runtime.filtering import pre_filter
from moorage.framework.runtime.post_filtering import post_filter
from moorage.framework.runtime.what_if import WhatIf, WhatIfError
from moorage.framework.status import Status
from moorage.plugins.catalog import in_tree_registry
from moorage.scheduler.cycle import NodeChooser
from moorage.state.node_info import NodeInfo
from moorage.testing import make_node, make_pod
from moorage.what_if.scenario import Scenario
from tests import fake_time
from tests.framework.scripted import PostFilters, World, plugin
from tests.scheduler.worlds import World as SchedulerWorld
from tests.state.trial_worlds import everything

POD = make_pod("in", cpu="2", priority=10)


class Crowd(PreFilterPlugin, FilterPlugin):
    """Lets two pods be on a node, which it counts itself, in what it stores for the cycle."""

    def pre_filter(self, cycle: CycleState, pod: Pod) -> None:
        cycle.write("crowd", {node.name: len(node.pods) for node in self.handle.nodes})

    def add_pod(self, cycle: CycleState, pod: Pod, other: Pod, node: NodeInfo) -> Status | None:
        if other.name == "odd":
            return Status.error("cannot count this one")
        self._change(cycle, node, 1)
        return None

    def remove_pod(self, cycle: CycleState, pod: Pod, other: Pod, node: NodeInfo) -> None:
        self._change(cycle, node, -1)

    def _change(self, cycle: CycleState, node: NodeInfo, by: int) -> None:
        counts = cycle.read("crowd")
        cycle.write("crowd", {**counts, node.name: counts[node.name] + by})

    def filter(self, cycle: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
        count = cycle.read("crowd")[node.name]
        assert count == len(node.pods), "the node and what follows it"
        return Status.unschedulable("crowded") if count > 2 else None


class Asking:
    """A profile with the plugin above, two nodes with pods, and a cycle that has begun."""

    def __init__(self) -> None:
        self.world = World(Crowd, nodes=2)
        for number in range(3):
            self.world.state.add_pod(make_pod(f"p{number}", node="n0", cpu="1"))
        self.handle = self.world.handle
        self.node = self.world.node("n0")
        self.cycle = CycleState()
        assert (
            pre_filter(self.world.profile, self.world.profile.plans.general, self.cycle, POD).status is None
        )

    def what_if(self) -> WhatIf:
        return self.handle.what_if(self.cycle, POD, self.node)

    def pod(self, name: str) -> Pod:
        return next(pod for pod in self.node.pods if pod.name == name)


@pytest.fixture
def asking() -> Asking:
    return Asking()


CROWDED = Status.unschedulable("crowded").by("Crowd")


def test_filters_see_the_node_as_it_would_be(asking: Asking) -> None:
    before, cycle = everything(asking.world.state), dict(asking.cycle._values)
    victim = asking.pod("p1")
    with asking.what_if() as tried:
        assert tried.filters() == CROWDED
        tried.remove(victim)
        assert tried.filters() is None
        assert [pod.name for pod in tried.node.pods] == ["p0", "p2"]
        assert asking.node.requested["cpu"] == 2000
        tried.add(make_pod("new", cpu="3"))
        assert tried.filters() == CROWDED
        assert asking.node.requested["cpu"] == 5000
        tried.remove(asking.pod("new"))
        tried.add(victim)
        assert tried.filters() == CROWDED
    assert everything(asking.world.state) == before
    assert asking.cycle._values == cycle


def test_pods_may_be_removed_in_a_loop_over_the_pods_of_the_node(asking: Asking) -> None:
    before = asking.node.pods
    with asking.what_if() as tried:
        for pod in asking.node.pods:
            tried.remove(pod)
        assert not asking.node.pods
    assert [pod.name for pod in before] == [pod.name for pod in asking.node.pods] == ["p0", "p1", "p2"]
    would_help = []
    for pod in asking.node.pods:
        with asking.what_if() as tried:
            tried.remove(pod)
            if tried.filters() is None:
                would_help.append(pod.name)
    assert would_help == ["p0", "p1", "p2"]


def test_nominated_pods_are_considered(asking: Asking) -> None:
    rival = make_pod("rival", priority=10)
    asking.world.services.nominations.add(rival, "n0")
    with asking.what_if() as tried:
        tried.remove(asking.pod("p0"))
        assert tried.filters() == CROWDED
        assert tried.filters(with_nominated_pods=False) is None
        tried.remove(asking.pod("p1"))
        assert tried.filters() is None
        tried.add(rival)
        assert tried.filters() is None, "it is not counted twice"


def test_blocks_in_blocks(asking: Asking) -> None:
    before = everything(asking.world.state)
    other = asking.world.node("n1")
    with asking.what_if() as outer:
        outer.remove(asking.pod("p0"))
        with asking.handle.what_if(asking.cycle, POD, other) as elsewhere:
            elsewhere.add(make_pod("moved", cpu="1"))
            assert elsewhere.filters() is None
            with pytest.raises(ZeroDivisionError), asking.what_if():
                raise ZeroDivisionError
            assert [pod.name for pod in other.pods] == ["moved"]
        assert not other.pods
        assert outer.filters() is None
    assert everything(asking.world.state) == before


def test_an_inner_block_goes_on_from_the_outer_one(asking: Asking) -> None:
    """So that a pod that needs room on two nodes can be asked about: the plugins know of both."""
    with asking.what_if() as outer:
        outer.remove(asking.pod("p0"))
        with asking.what_if() as inner:
            assert inner.filters() is None
            inner.add(make_pod("x"))
            assert inner.filters() == CROWDED
        assert outer.filters() is None


def test_the_same_question_may_be_asked_again(asking: Asking) -> None:
    question = asking.what_if()
    for _ in range(2):
        with question as tried:
            assert tried.filters() == CROWDED
            tried.add(make_pod("odd"))
            assert tried.failed is not None


def test_a_plugin_that_cannot_follow_makes_the_answer_an_error(asking: Asking) -> None:
    with asking.what_if() as tried:
        tried.add(make_pod("odd"))
        tried.remove(asking.pod("p0"))
        assert tried.failed == tried.filters()
        assert tried.failed == Status.error(
            'running AddPod on PreFilter plugin "Crowd": cannot count this one'
        ).by("Crowd")


# Misuse


@pytest.mark.parametrize(
    "use",
    [
        lambda tried: tried.filters(),
        lambda tried: tried.add(make_pod("x")),
        lambda tried: tried.remove(make_pod("p0")),
    ],
)
def test_use_outside_of_the_block(asking: Asking, use: Callable[[WhatIf], Any]) -> None:
    text = "the what-if about node n0 is not open: use it inside of its `with` block, and do not await there"
    question = asking.what_if()
    with pytest.raises(WhatIfError, match=text):
        use(question)
    with question:
        pass
    with pytest.raises(WhatIfError, match=text):
        use(question)


def test_pods_that_are_not_there_and_pods_that_are(asking: Asking) -> None:
    before = everything(asking.world.state)
    with asking.what_if() as tried:
        with pytest.raises(WhatIfError, match="pod default/x cannot be removed: it is not on node n0"):
            tried.remove(make_pod("x"))
        with pytest.raises(WhatIfError, match="pod default/p0 cannot be added: it is on node n0 already"):
            tried.add(asking.pod("p0"))
        tried.remove(asking.pod("p0"))
        with pytest.raises(WhatIfError, match="pod default/p0 cannot be removed"):
            tried.remove(make_pod("p0"))
    assert everything(asking.world.state) == before


def test_nodes_that_are_not_there(asking: Asking) -> None:
    node: Any = asking.handle.node("elsewhere")
    with pytest.raises(TypeError, match=r"node is NoneType, not NodeInfo; `handle.node\(name\)` is None"):
        asking.handle.what_if(asking.cycle, POD, node)
    asking.world.state.remove_node("n0")
    with pytest.raises(WhatIfError, match="node n0 is gone"):
        asking.what_if()


# A block that is left in any other way than by its end


def test_a_plugin_that_does_not_end_its_block_is_helped(caplog: pytest.LogCaptureFixture) -> None:
    """Nobody who is asked after it sees the node as it only would be."""

    def forgets(cycle: CycleState, pod: Pod, statuses: NodeStatuses) -> Status:
        tried = world.handle.what_if(cycle, pod, world.node("n0"))
        tried.__enter__()
        tried.add(make_pod("never"))
        raise SystemExit("interrupted")

    seen: list[int] = []

    def looks(cycle: CycleState, pod: Pod, statuses: NodeStatuses) -> Status:
        seen.append(len(world.node("n0").pods))
        return Status.unschedulable("no")

    first, second = plugin(PostFilters, "A", looks), plugin(PostFilters, "B", forgets)
    world = World(first, second)
    post_filter(world.profile, CycleState(), POD, NodeStatuses(world.state.table))
    post_filter(world.profile, CycleState(), POD, NodeStatuses(world.state.table))
    assert seen == [0, 0]
    assert "plugin B left a what-if open at PostFilter: use it in a `with` block" in caplog.messages
    assert not world.state.trials and not world.node("n0").pods


def test_a_block_around_a_plugin_that_fails_stays_open(asking: Asking) -> None:
    """What a plugin leaves behind ends with its call; what was open before does not."""

    class Fails(FilterPlugin):
        def filter(self, cycle: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
            self.handle.what_if(cycle, pod, node).__enter__().add(make_pod("never"))
            raise ZeroDivisionError("oh")

    world = World(Fails)
    with world.handle.what_if(CycleState(), POD, world.node("n0")) as tried:
        tried.add(make_pod("x"))
        status = tried.filters()
        assert status is not None and status.message == 'running "Fails" filter plugin: ZeroDivisionError: oh'
        assert [pod.name for pod in tried.node.pods] == ["x"]
    assert not world.node("n0").pods


def test_the_next_cycle_ends_what_was_left_open(caplog: pytest.LogCaptureFixture) -> None:
    world = Scenario([make_node("n", cpu="1")], in_tree_registry())
    node = world.services.state.node("n")
    assert node is not None
    left = world.services.state.what_if(node)
    left.__enter__()
    left.add(world.services.state.pod_info(make_pod("x", cpu="1")))
    assert NodeChooser().decide(world.profile, make_pod(cpu="1")).node_name == "n"
    assert "a plugin left a what-if open" in caplog.text


def test_a_block_that_awaits_ends_before_the_next_pod_is_tried(caplog: pytest.LogCaptureFixture) -> None:
    said: list[str] = []

    class Awaits(PreBindPlugin):
        async def pre_bind(self, cycle: CycleState, pod: Pod, node_name: str) -> None:
            node = self.handle.node(node_name)
            assert node is not None
            if pod.name != "first":
                return
            with self.handle.what_if(cycle, pod, node) as tried:
                tried.add(make_pod("never", cpu="3"))
                await asyncio.sleep(1)
                try:
                    tried.filters()
                except WhatIfError as error:
                    said.append(str(error))

    fits = ("PrioritySort", "DefaultBinder", "NodeResourcesFit")
    world = SchedulerWorld(Awaits, nodes=[make_node("a", cpu=4)], in_tree=fits)
    for name in ("first", "second"):
        world.add(name, cpu=2)

    async def script() -> None:
        running = asyncio.create_task(world.scheduler.run())
        await asyncio.sleep(2)
        world.scheduler.stop()
        await running

    fake_time.run(script())
    assert [world.client.pods[f"default/{name}"].spec.node_name for name in ("first", "second")] == ["a", "a"]
    assert said == [
        "the what-if about node a is not open: use it inside of its `with` block, and do not await there"
    ]
    assert "a plugin left a what-if open" in caplog.text


# Any sequence

STEPS = ("remove", "add", "filters", "open", "close", "raise")


class Oops(Exception):
    pass


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_after_any_sequence_everything_is_as_before(data: st.DataObject) -> None:
    asking = Asking()
    before = everything(asking.world.state)
    names = [info.name for info in asking.world.state.table]

    def block(depth: int) -> None:
        node = asking.world.node(data.draw(st.sampled_from(names)))
        with asking.handle.what_if(asking.cycle, POD, node) as tried:
            for _ in range(data.draw(st.integers(0, 6))):
                step = data.draw(st.sampled_from(STEPS))
                if step == "remove" and node.pods:
                    tried.remove(data.draw(st.sampled_from(list(node.pods))))
                elif step == "add":
                    name = data.draw(st.sampled_from(["x", "y", "z", "odd"]))
                    pod = make_pod(name, cpu="1", requests={f"example.com/{name}": 1})
                    if not node.has(pod):
                        tried.add(pod)
                elif step == "filters" and tried.failed is None:
                    count = len(node.pods)
                    assert tried.filters() == (CROWDED if count > 2 else None)
                elif step == "open" and depth < 3:
                    try:
                        block(depth + 1)
                    except Oops:
                        if data.draw(st.booleans()):
                            raise
                elif step == "raise":
                    raise Oops
                elif step == "close":
                    return

    with contextlib.suppress(Oops):
        block(0)
    assert everything(asking.world.state) == before
