"""Whatever happens, a pod is in one place, or in flight, or gone."""

from __future__ import annotations

from collections import Counter

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from moorage.api.pods import Pod
from moorage.framework.events import NODE, POD, UNSCHEDULABLE_TIMEOUT, Action, ClusterEvent, Hint
from moorage.framework.queued_pod import QueuedPod
from moorage.framework.status import Status
from moorage.queue.change_events import ASSIGNED_POD_ADD, ASSIGNED_POD_DELETE, NODE_ADD, NODE_DELETE
from moorage.testing.builders import make_pod
from tests.queue.worlds import Gate, Rejecter, World, newer

NAMES = [f"pod-{number}" for number in range(6)]
PLUGINS = ["Fit", "Spread", "Gate"]
EVENTS = [NODE_ADD, NODE_DELETE, ASSIGNED_POD_ADD, ASSIGNED_POD_DELETE, UNSCHEDULABLE_TIMEOUT]
names = st.sampled_from(NAMES)
plugin_sets = st.sets(st.sampled_from(PLUGINS))


class QueueMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.hints_say = Hint.QUEUE

        def hint(pod: Pod, old: object, new: object) -> Hint:
            return self.hints_say

        self.gate = Gate("Gate", [ClusterEvent(NODE, Action.DELETE), ClusterEvent(POD, Action.UPDATE)])
        self.world = World(
            Rejecter("Fit", [ClusterEvent(NODE, Action.ADD, hint), ClusterEvent(POD, Action.DELETE)]),
            Rejecter("Spread", [ClusterEvent(POD, Action.ALL, hint)]),
            self.gate,
        )
        self.queue = self.world.queue
        self.alive: dict[str, Pod] = {}
        self.flying: dict[str, QueuedPod] = {}
        self.versions = 0

    def next_version(self) -> str:
        self.versions += 1
        return str(self.versions)

    # What the watch brings

    @rule(name=names, priority=st.integers(0, 3), nominated=st.sampled_from(["", "node"]))
    def add(self, name: str, priority: int, nominated: str) -> None:
        if name not in self.alive:
            version = self.next_version()
            self.alive[name] = make_pod(
                name,
                uid=f"{name}-{version}",
                priority=priority,
                metadata={"resourceVersion": version},
                status={"nominatedNodeName": nominated},
            )
            self.queue.add(self.alive[name])

    @rule(
        name=names,
        priority=st.integers(0, 3),
        label=st.sampled_from("ab"),
        nominated=st.sampled_from(["", "node", "other"]),
    )
    def update(self, name: str, priority: int, label: str, nominated: str) -> None:
        old = self.alive.get(name)
        if old is not None:
            self.alive[name] = newer(
                old,
                self.next_version(),
                priority=priority,
                labels={"label": label},
                status={"nominatedNodeName": nominated},
            )
            self.queue.update(old, self.alive[name])

    @rule(name=names)
    def delete(self, name: str) -> None:
        pod = self.alive.pop(name, None)
        if pod is not None:
            self.queue.delete(pod)

    @rule(event=st.sampled_from(EVENTS), priority=st.integers(0, 3))
    def move(self, event: ClusterEvent, priority: int) -> None:
        self.queue.move_all(event, pre_check=lambda pod: pod.priority <= priority)

    # What the scheduler does

    @rule()
    def pop(self) -> None:
        expected = [*self.queue.pending().active]
        queued = self.queue.pop()
        if queued is None:
            assert expected == []
            return
        assert queued.pod.uid not in self.flying
        assert queued is self.flying.setdefault(queued.pod.uid, queued)
        if expected:
            assert queued.pod.priority == max(other.pod.priority for other in expected)

    @precondition(lambda self: self.flying)
    @rule(data=st.data(), by=plugin_sets, pending=plugin_sets)
    def fail(self, data: st.DataObject, by: set[str], pending: set[str]) -> None:
        uid = data.draw(st.sampled_from(sorted(self.flying)))
        queued = self.flying.pop(uid)
        newest = self.alive.get(queued.pod.name)
        if newest is None or newest.uid != uid:
            self.queue.done(uid)
            return
        queued.pod = newest
        self.world.give_back(queued, by, pending)
        if not by and not pending:
            assert self.world.place(queued.pod.name) in ("backoff", "gated")

    @precondition(lambda self: self.flying)
    @rule(data=st.data())
    def succeed(self, data: st.DataObject) -> None:
        uid = data.draw(st.sampled_from(sorted(self.flying)))
        queued = self.flying.pop(uid)
        self.queue.done(uid)
        if self.alive.get(queued.pod.name, queued.pod).uid == uid:
            self.alive.pop(queued.pod.name, None)
            self.queue.delete(queued.pod)

    @rule(chosen=st.sets(names))
    def activate(self, chosen: set[str]) -> None:
        pods = [self.alive[name] for name in sorted(chosen) if name in self.alive]
        self.queue.activate(pods)
        for pod in pods:
            assert self.world.place(pod.name) in ("active", "gated", "nowhere")

    # What changes around it

    @rule(seconds=st.sampled_from([0.3, 1.0, 5.0, 301.0]))
    def time_passes(self, seconds: float) -> None:
        self.world.clock.now += seconds
        self.queue.flush_backoff()
        if seconds > 300:
            self.queue.flush_unschedulable()
            assert self.queue.pending().unschedulable == []

    @rule(closed_to=st.sets(names), broken=st.booleans())
    def set_gate(self, closed_to: set[str], broken: bool) -> None:
        self.gate.closed_to = closed_to
        self.gate.answer = Status.error("broken") if broken else Status.unschedulable("not yet")

    @rule(answer=st.sampled_from(list(Hint)))
    def set_hints(self, answer: Hint) -> None:
        self.hints_say = answer

    # What must always hold

    @invariant()
    def every_pod_is_in_one_place(self) -> None:
        queued = [queued for place in self.queue.pending() for queued in place]
        in_queue = Counter(queued.pod.uid for queued in queued)
        in_flight = {queued.pod.uid for queued in self.flying.values()}
        expected = {pod.uid for pod in self.alive.values()} - in_flight
        assert in_queue == Counter(dict.fromkeys(expected, 1))
        assert sum(self.queue.counts()) == len(queued)

    @invariant()
    def the_queue_has_the_newest_versions(self) -> None:
        for place in self.queue.pending():
            for queued in place:
                assert queued.pod is self.alive[queued.pod.name]
                assert self.queue.get(queued.pod) is queued

    @invariant()
    def the_gauge_counts_the_pods_in_the_queue(self) -> None:
        rejections = Counter(
            plugin
            for place in self.queue.pending()
            for queued in place
            for plugin in queued.rejecting_plugins
        )
        assert self.world.observer.rejections == rejections

    @invariant()
    def waiting_pods_are_found_by_their_plugins(self) -> None:
        waiting = self.queue.pending().unschedulable + self.queue.pending().gated
        groups = self.queue._sub_queues.unschedulable.rejected_by(PLUGINS)
        found = [queued for group in groups for queued in group.pods.values()]
        assert {id(queued) for queued in found} == {id(queued) for queued in waiting}

    @invariant()
    def events_are_kept_for_pods_in_flight_only(self) -> None:
        assert len(self.queue._in_flight) == len(self.flying)
        assert self.flying or self.queue._in_flight.event_count == 0

    @invariant()
    def only_pods_that_exist_are_nominated(self) -> None:
        nominated = {pod.uid for node in ("node", "other") for pod in self.world.nominations.on(node)}
        assert nominated <= {pod.uid for pod in self.alive.values()}


TestQueueMachine = QueueMachine.TestCase
TestQueueMachine.settings = settings(max_examples=60, stateful_step_count=50, deadline=None)
