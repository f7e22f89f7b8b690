"""Whole cycles in tests of plugins: after the decision, and with several pods."""

from __future__ import annotations

import asyncio
import socket
import threading
from typing import Any, ClassVar

import msgspec
import pytest

from moorage import (
    Action,
    BindPlugin,
    ClusterEvent,
    CycleState,
    FilterPlugin,
    Handle,
    NodeInfo,
    Object,
    ObjectMeta,
    PermitPlugin,
    Pod,
    PostBindPlugin,
    PreBindPlugin,
    PreEnqueuePlugin,
    ReservePlugin,
    Status,
    Wait,
)
from moorage.client.errors import Conflict, ServerTimeout
from moorage.config import ConfigError
from moorage.testing import Cycles, PluginFailed, Run, make_node, make_pod, run

NODES = [make_node("a"), make_node("b")]


class Diary(ReservePlugin, PermitPlugin, PreBindPlugin, PostBindPlugin):
    """Writes down what it is asked, and fails where the pod's label says so."""

    def __init__(self, args: Any, handle: Handle) -> None:
        super().__init__(args, handle)
        self.asked: list[str] = []

    def _at(self, point: str, pod: Pod) -> Status | None:
        self.asked.append(point)
        if pod.labels.get("raise") == point:
            raise ValueError("no idea")
        return Status.unschedulable(f"not at {point}") if pod.labels.get("reject") == point else None

    def reserve(self, cycle: CycleState, pod: Pod, node_name: str) -> Status | None:
        return self._at("reserve", pod)

    def unreserve(self, cycle: CycleState, pod: Pod, node_name: str) -> None:
        self._at("unreserve", pod)

    def permit(self, cycle: CycleState, pod: Pod, node_name: str) -> Status | Wait | None:
        if pod.labels.get("wait"):
            return Wait(float(pod.labels["wait"]))
        return self._at("permit", pod)

    async def pre_bind(self, cycle: CycleState, pod: Pod, node_name: str) -> Status | None:
        await asyncio.sleep(60)
        return self._at("pre_bind", pod)

    async def post_bind(self, cycle: CycleState, pod: Pod, node_name: str) -> None:
        await asyncio.sleep(0)
        node = self.handle.node(node_name)
        assert node is not None
        assert [each.name for each in node.pods] == [pod.name]
        self._at("post_bind", pod)
        self.handle.recorder.event(pod, node.node, "Normal", "Noted", "Binding", "in the diary")


def reasons(result: Run) -> list[str]:
    return [event.reason for event in result.events]


def test_a_whole_cycle() -> None:
    result = run(Diary, make_pod(), NODES[:1], whole=True)
    assert (result.node, result.bound, result.message, result.error) == ("a", True, "", "")
    assert result.plugin(Diary).asked == ["reserve", "permit", "pre_bind", "post_bind"]
    assert reasons(result) == ["Scheduled", "Noted"]
    assert result.events[0].note == "Successfully assigned default/pod to a"
    assert [write[:3] for write in result.writes] == [
        ("patch", "pods/status", "default/pod"),  # PreBind may take a while: others are told of the node
        ("bind", "pods", "default/pod"),
    ]
    assert result.writes[-1].body == {"spec": {"nodeName": "a"}}
    assert result.pod.spec.node_name == "a"
    assert repr(result) == "<Run default/pod: bound to a>"


def test_a_decision_alone_goes_no_further() -> None:
    result = run(Diary, make_pod(), NODES[:1])
    assert (result.node, result.bound, result.plugin(Diary).asked) == ("a", False, [])


@pytest.mark.parametrize(
    ("point", "asked"),
    [
        ("reserve", ["reserve", "unreserve"]),
        ("permit", ["reserve", "permit", "unreserve"]),
        ("pre_bind", ["reserve", "permit", "pre_bind", "unreserve"]),
    ],
)
def test_what_follows_from_a_rejection(point: str, asked: list[str]) -> None:
    result = run(Diary, make_pod(labels={"reject": point}), NODES[:1], whole=True)
    assert (result.node, result.bound, result.error) == ("", False, "")
    assert f"not at {point}" in result.message
    assert result.plugin(Diary).asked == asked
    assert reasons(result) == ["FailedScheduling"]
    condition = result.pod.condition("PodScheduled")
    assert condition is not None
    assert (condition.status, condition.message) == ("False", result.message)
    assert "bind" not in [write.verb for write in result.writes]


@pytest.mark.parametrize(
    ("point", "told"),
    [
        ("reserve", "Reserve"),
        ("permit", "Permit"),
        ("pre_bind", "PreBind"),
        ("post_bind", "PostBind"),
    ],
)
def test_a_plugin_that_fails_raises_wherever_it_does(point: str, told: str) -> None:
    pod = make_pod(labels={"raise": point})
    with pytest.raises(PluginFailed, match=f"^Diary failed at {told}: ValueError: no idea$") as raised:
        run(Diary, pod, NODES[:1], whole=True)
    assert isinstance(raised.value.__cause__, ValueError)


def test_a_plugin_that_fails_is_told_on_request() -> None:
    result = run(Diary, make_pod(labels={"raise": "pre_bind"}), NODES[:1], whole=True, raises=False)
    assert (result.node, result.message) == ("", "")
    assert result.error.startswith('running PreBind plugin "Diary": ')
    assert reasons(result) == ["FailedScheduling"]
    after = run(Diary, make_pod(labels={"raise": "post_bind"}), NODES[:1], whole=True, raises=False)
    assert after.bound


def test_a_pod_that_does_not_fit() -> None:
    result = run(Diary, make_pod(cpu=64), NODES, whole=True)
    assert result.message.startswith("0/2 nodes are available: 2 Insufficient cpu.")
    assert {name: status.plugin for name, status in result.statuses.items()} == {
        "a": "NodeResourcesFit",
        "b": "NodeResourcesFit",
    }
    [event] = result.events
    assert (event.reason, event.note) == ("FailedScheduling", result.message)
    [write] = result.writes
    assert write[:3] == ("patch", "pods/status", "default/pod")
    assert write.body["status"]["conditions"][0]["reason"] == "Unschedulable"


def test_scores_are_told_too() -> None:
    result = run([], make_pod(cpu=1), [make_node("a"), make_node("b", cpu=16)], whole=True)
    assert result.node == "b"
    assert result.totals["b"] > result.totals["a"]
    assert result.scores["a"]["NodeResourcesFit"] < result.scores["b"]["NodeResourcesFit"]


class Gang(PermitPlugin):
    """Holds pods back until there are so many of a gang."""

    def permit(self, cycle: CycleState, pod: Pod, node_name: str) -> Status | Wait | None:
        gang, size = pod.labels["gang"], int(pod.labels["size"])
        waiting = [each for each in self.handle.waiting_pods if each.pod.labels["gang"] == gang]
        if len(waiting) + 1 < size:
            return Wait(30)
        for each in waiting:
            each.allow(self.name)
        return None


def member(name: str, gang: str = "x", size: int = 2, **spec: Any) -> Pod:
    return make_pod(name, labels={"gang": gang, "size": str(size)}, **spec)


def test_a_gang_waits_for_its_last_pod() -> None:
    with Cycles(Gang, NODES) as cycles:
        first = cycles.run(member("first", size=3))
        other = cycles.run(member("other", gang="y"))
        second = cycles.run(member("second", size=3))
        assert [each.waiting for each in (first, other, second)] == [["Gang"]] * 3
        assert (first.bound, reasons(first)) == (False, [])
        assert repr(first) == f"<Run default/first: node {first.node}, held back by Gang>"
        third = cycles.run(member("third", size=3))
        for each in (first, second, third):
            assert (each.bound, each.waiting, reasons(each)) == (True, [], ["Scheduled"])
        assert (other.bound, other.waiting) == (False, ["Gang"])
        binds = [write.key for write in cycles.writes if write.verb == "bind"]
        assert sorted(binds) == ["default/first", "default/second", "default/third"]
        assert len(cycles.events) == 3


def test_pods_that_come_together() -> None:
    with Cycles(Gang, NODES) as cycles:
        runs = cycles.run_all([member("first"), member("second")])
        assert [each.bound for each in runs] == [True, True]
        assert list(cycles.runs) == ["default/first", "default/second"]


def test_a_waiting_pod_times_out_in_time_that_is_injected() -> None:
    with Cycles(Gang, NODES) as cycles:
        began = cycles.now
        result = cycles.run(member("alone"))
        cycles.advance(29)
        assert result.waiting == ["Gang"]
        cycles.advance(1)
        assert cycles.now == began + 30
        assert "rejected due to timeout after waiting 30s at plugin Gang" in result.message
        assert (result.node, result.bound, reasons(result)) == ("", False, ["FailedScheduling"])
        cycles.advance(2)
        assert result.waiting == ["Gang"], "it is tried again"


def test_a_waiting_pod_is_allowed_or_rejected_by_the_test() -> None:
    with Cycles(Gang, NODES) as cycles:
        first, second = cycles.run(member("first")), cycles.run(member("second", gang="y"))
        cycles.allow(first.pod)
        cycles.reject(second.pod, "no more of these")
        assert first.bound
        assert second.message == "0/1 nodes are available: 1 no more of these."
        with pytest.raises(ValueError, match="pod default/first does not wait on Permit"):
            cycles.allow(first.pod)


def test_a_single_run_ends_while_the_pod_waits() -> None:
    result = run(Gang, member("alone"), NODES, whole=True)
    assert (result.waiting, result.bound) == (["Gang"], False)
    assert result.node


def test_preemption() -> None:
    low = make_pod("low", cpu=3, node="a")
    with Cycles([], NODES[:1], pods=[low, make_pod("small", cpu="500m", node="a", priority=5)]) as cycles:
        high = cycles.run(make_pod("high", cpu=3, priority=10))
        assert (high.nominated, high.victims, high.bound) == ("a", ["default/low"], False)
        assert reasons(high) == ["FailedScheduling", "Preempted"]
        assert ("delete", "pods", "default/low", None) in high.writes
        assert high.pod.status.nominated_node_name == "a"
        assert "victims default/low" in repr(high)
        cycles.advance(2)
        assert (high.node, high.bound) == ("a", True)


def test_a_victim_that_still_waits_on_permit_goes_back_to_the_queue() -> None:
    with Cycles(Gang, NODES[:1]) as cycles:
        low = cycles.run(member("low", size=3, cpu=3))
        assert low.waiting == ["Gang"]
        high = cycles.run(member("high", size=1, cpu=3, priority=10))
        assert high.victims == ["default/low"]
        assert "delete" not in [write.verb for write in cycles.writes]
        cycles.advance(2)
        assert high.bound
        assert low.waiting == []


class OwnBind(BindPlugin):
    async def bind(self, cycle: CycleState, pod: Pod, node_name: str) -> Status | None:
        try:
            bound = self.handle.client.bind(pod, node_name)
            if bound is not None:
                await bound
        except Conflict as error:
            return Status.error(f"lost: {error}")
        return None


def test_an_error_of_the_api_server_can_be_planned() -> None:
    with Cycles(OwnBind, NODES[:1]) as cycles:
        cycles.client.fail_next(Conflict, verb="bind")
        result = cycles.run(make_pod())
        assert (result.node, result.bound) == ("", False)
        assert result.error.startswith('running Bind plugin "OwnBind": lost: ')
        cycles.advance(5)
        assert (result.node, result.bound, result.error) == ("a", True, "")
        cycles.client.fail_next(ServerTimeout, verb="patch", times=2)
        assert not cycles.run(make_pod("big", cpu=64)).bound
        assert cycles.writes[-1][:3] == ("patch", "pods/status", "default/big")


class Seats(msgspec.Struct, kw_only=True):
    free: int = 0


class License(Object, kw_only=True):
    group: ClassVar[str] = "example.com"
    resource: ClassVar[str] = "licenses"
    kind: ClassVar[str] = "License"

    spec: Seats = msgspec.field(default_factory=Seats)


class Licensed(FilterPlugin, PreBindPlugin):
    """Lets pods run while there are seats, and takes one for each."""

    def __init__(self, args: Any, handle: Handle) -> None:
        super().__init__(args, handle)
        self.licenses = handle.lister_of(License)

    def filter(self, cycle: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
        found = self.licenses.get("gold", namespace="default")
        return None if found is not None and found.spec.free > 0 else Status.unschedulable("no seat")

    def events(self) -> list[ClusterEvent]:
        return [ClusterEvent("licenses.v1.example.com", Action.ALL)]

    async def pre_bind(self, cycle: CycleState, pod: Pod, node_name: str) -> Status | None:
        client = self.handle.resource_client(License)
        found = await client.get("gold", namespace="default")
        found.spec.free -= 1
        await client.update(found)
        return None


def test_what_a_plugin_writes_counts_for_the_next_pod() -> None:
    gold = License(metadata=ObjectMeta(name="gold", namespace="default"), spec=Seats(free=1))
    with Cycles(Licensed, NODES, objects=[gold]) as cycles:
        first, second = cycles.run(make_pod("first")), cycles.run(make_pod("second"))
        assert first.bound
        assert [write.resource for write in first.writes if write.verb == "update"] == [
            "licenses.example.com"
        ]
        assert second.statuses["a"].message == "no seat"
        more = License(metadata=ObjectMeta(name="gold", namespace="default"), spec=Seats(free=3))
        cycles.add(more)
        cycles.advance(2)
        assert second.bound, "the queue heard that there are more"


class Closed(PreEnqueuePlugin):
    def pre_enqueue(self, pod: Pod) -> Status | None:
        return Status.unschedulable("closed until it is labelled") if not pod.labels else None


def test_a_pod_that_is_not_let_into_the_queue() -> None:
    with Cycles(Closed, NODES) as cycles:
        result = cycles.run(make_pod())
        assert (result.message, result.bound) == ("closed until it is labelled", False)
        cycles.add(make_pod(labels={"go": "yes"}))
        assert (result.message, result.bound) == ("", True)


def test_nodes_that_come_and_pods_that_go() -> None:
    with Cycles([], NODES[:1]) as cycles:
        first, second = cycles.run(make_pod("first", cpu=3)), cycles.run(make_pod("second", cpu=3))
        third = cycles.run(make_pod("third", cpu=3))
        assert (first.bound, second.bound, third.bound) == (True, False, False)
        cycles.remove(first.pod)
        cycles.advance(2)
        assert second.bound
        cycles.add(make_node("b"))
        cycles.advance(10)
        assert third.node == "b"


class Asks(PreBindPlugin):
    """Waits for an answer over a socket and for a thread, which takes real time, with a time-out."""

    port: ClassVar[int] = 0

    async def pre_bind(self, cycle: CycleState, pod: Pod, node_name: str) -> Status | None:
        async with asyncio.timeout(20):
            reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
            answer = await reader.readline()
            writer.close()
            await writer.wait_closed()
            threaded = await asyncio.to_thread(lambda: b"yes\n")
        return None if answer == threaded else Status.error(repr(answer))


def test_what_really_takes_time_is_waited_for() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(20)

        def answer() -> None:
            connection, _ = server.accept()
            with connection:
                connection.sendall(b"yes\n")

        Asks.port = server.getsockname()[1]
        with Cycles(Asks, NODES) as cycles:
            thread = threading.Timer(0.05, answer)
            thread.start()
            assert cycles.run(make_pod()).bound
            thread.join()


class Blocked(PreBindPlugin):
    """Waits for a sign that only the test can give."""

    def __init__(self, args: Any, handle: Handle) -> None:
        super().__init__(args, handle)
        self.given = asyncio.Event()

    async def pre_bind(self, cycle: CycleState, pod: Pod, node_name: str) -> Status | None:
        await self.given.wait()
        return None


def test_a_plugin_that_waits_for_the_test() -> None:
    with Cycles(Blocked, NODES[:1]) as cycles:
        result = cycles.run(make_pod())
        assert (result.node, result.bound) == ("a", False)
        assert repr(result) == "<Run default/pod: on its way to a>"
        result.plugin(Blocked).given.set()
        cycles.advance(0)
        assert result.bound
    with Cycles(Blocked, NODES[:1]) as cycles:
        assert not cycles.run(make_pod()).bound, "and the block ends all the same"


def test_wrong_uses_are_told() -> None:
    cycles = Cycles([], NODES)
    with pytest.raises(RuntimeError, match="use Cycles in a with statement"):
        cycles.run(make_pod())
    with (
        pytest.raises(ConfigError, match="this plugin takes no arguments"),
        Cycles(Gang, NODES, args={"x": 1}),
    ):
        pass
    with Cycles([], NODES) as cycles:
        cycles.run(make_pod())
        with pytest.raises(ValueError, match="there are two pods default/pod: give one of them another name"):
            cycles.run(make_pod())
        with pytest.raises(ValueError, match="pod default/placed has a node already"):
            cycles.run(make_pod("placed", node="a"))

    async def main() -> None:
        with pytest.raises(RuntimeError, match="use it in a test that is not async"):
            run(Gang, make_pod(), NODES, whole=True)

    asyncio.run(main())


def test_each_pod_has_its_own_victims_and_writes() -> None:
    low = [make_pod("low-a", cpu=3, node="a"), make_pod("low-b", cpu=3, node="b")]
    with Cycles([], NODES, pods=low) as cycles:
        runs = cycles.run_all([make_pod(name, cpu=3, priority=10) for name in ("first", "second")])
        assert sorted(victim for each in runs for victim in each.victims) == [
            "default/low-a",
            "default/low-b",
        ]
        for each in runs:
            [victim] = each.victims
            assert victim == f"default/low-{each.nominated}"
            assert [write.key for write in each.writes if write.verb == "delete"] == [victim]


class Tells(PreEnqueuePlugin):
    def pre_enqueue(self, pod: Pod) -> Status | None:
        for node in self.handle.nodes:
            self.handle.recorder.event(node.node, pod, "Normal", "Asked", "Queueing", "may it come in")
        return None


def test_what_is_told_of_other_objects_belongs_to_the_pod_in_whose_cycle_it_is() -> None:
    with Cycles(Tells, NODES[:1]) as cycles:
        first, second = cycles.run_all([make_pod("first"), make_pod("second")])
        assert reasons(first) == reasons(second) == ["Asked", "Scheduled"]
        assert first.events[0].related is not second.events[0].related
