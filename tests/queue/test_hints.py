from __future__ import annotations

import logging
from typing import Any

import pytest

from moorage.framework import events
from moorage.framework.events import EVERYTHING, Action, ClusterEvent, Hint, HintFunction
from moorage.framework.queued_pod import QueuedPod
from moorage.process.metrics import SchedulerMetrics
from moorage.queue.hints import Interests, Requeue
from moorage.testing.builders import make_node, make_pod
from tests.queue.worlds import Rejecter, make_queue_profile

BITS = [action for action in Action if action.value.bit_count() == 1]
UPDATES = [action for action in BITS if action not in (Action.ADD, Action.DELETE)]


def covers(registered: tuple[str, int], happened: tuple[str, int]) -> bool:
    wide, narrow = ((resource, Action(action)) for resource, action in (registered, happened))
    return ClusterEvent(*wide).covers(ClusterEvent(*narrow))


# The vocabulary


@pytest.mark.parametrize(
    ("action", "value", "name"),
    [
        (Action.ADD, 1, "Add"),
        (Action.DELETE, 2, "Delete"),
        (Action.UPDATE_NODE_ALLOCATABLE, 4, "UpdateNodeAllocatable"),
        (Action.UPDATE_NODE_LABEL, 8, "UpdateNodeLabel"),
        (Action.UPDATE_NODE_TAINT, 16, "UpdateNodeTaint"),
        (Action.UPDATE_NODE_CONDITION, 32, "UpdateNodeCondition"),
        (Action.UPDATE_NODE_ANNOTATION, 64, "UpdateNodeAnnotation"),
        (Action.UPDATE_NODE_DECLARED_FEATURE, 128, "UpdateNodeDeclaredFeature"),
        (Action.UPDATE_POD_LABEL, 256, "UpdatePodLabel"),
        (Action.UPDATE_POD_SCALE_DOWN, 512, "UpdatePodScaleDown"),
        (Action.UPDATE_POD_TOLERATION, 1024, "UpdatePodToleration"),
        (Action.UPDATE_POD_SCHEDULING_GATES_ELIMINATED, 2048, "UpdatePodSchedulingGatesEliminated"),
        (Action.UPDATE_POD_GENERATED_RESOURCE_CLAIM, 4096, "UpdatePodGeneratedResourceClaim"),
        (Action.UPDATE, 8188, "Update"),
        (Action.ALL, 8191, "All"),
    ],
)
def test_bits_and_labels(action: Action, value: int, name: str) -> None:
    assert action == value
    assert ClusterEvent("Node", action).label == f"Node{name}"


@pytest.mark.parametrize(
    ("event", "label"),
    [
        (ClusterEvent("AssignedPod", Action.DELETE), "AssignedPodDelete"),
        (ClusterEvent("UnschedulablePod", Action.UPDATE_POD_LABEL), "UnschedulablePodUpdatePodLabel"),
        (ClusterEvent(events.CSI_NODE, Action.UPDATE), "storage.k8s.io/CSINodeUpdate"),
        (events.UNSCHEDULABLE_TIMEOUT, "UnschedulableTimeout"),
        (events.FORCE_ACTIVATE, "ForceActivate"),
    ],
)
def test_labels_of_events(event: ClusterEvent, label: str) -> None:
    assert event.label == label


@pytest.mark.parametrize("bit", BITS)
def test_every_bit_matches_itself_and_all_and_no_other(bit: Action) -> None:
    for other in BITS:
        assert covers(("Node", bit), ("Node", other)) is (bit is other)
    assert covers(("Node", Action.ALL), ("Node", bit))
    assert covers(("*", Action.ALL), ("Node", bit))
    assert covers(("*", bit), ("Node", bit))
    assert not covers(("Node", bit), ("PersistentVolume", bit))


@pytest.mark.parametrize("update", UPDATES)
def test_a_plain_update_is_seen_by_whoever_registered_all_updates(update: Action) -> None:
    assert covers(("Node", Action.UPDATE), ("Node", update))
    assert covers(("Node", Action.ADD | Action.UPDATE), ("Node", update))
    assert not covers(("Node", update), ("Node", Action.UPDATE))


def test_a_plain_update_matches_all_updates() -> None:
    assert covers(("Node", Action.UPDATE), ("Node", Action.UPDATE))
    assert covers(("Node", Action.ADD | Action.UPDATE), ("Node", Action.UPDATE))
    assert covers(("Node", Action.ALL), ("Node", Action.UPDATE))
    assert not covers(("Node", Action.UPDATE), ("Node", Action.ADD))
    assert not covers(("Node", Action.UPDATE), ("Node", Action.DELETE))


def test_the_greater_number_never_matches() -> None:
    label_and_add = Action.ADD | Action.UPDATE_NODE_LABEL
    assert not covers(("Node", label_and_add), ("Node", label_and_add | Action.UPDATE_NODE_TAINT))
    # A smaller number with one bit in common does, even if it has further bits.
    assert covers(("Node", Action.ADD | Action.UPDATE_NODE_TAINT), ("Node", label_and_add))


@pytest.mark.parametrize("internal", ["AssignedPod", "UnschedulablePod"])
def test_pod_stands_for_both_internal_kinds(internal: str) -> None:
    assert covers(("Pod", Action.DELETE), (internal, Action.DELETE))
    assert covers((internal, Action.DELETE), (internal, Action.DELETE))
    assert not covers((internal, Action.DELETE), ("Pod", Action.DELETE))


def test_a_wildcard_event_matches_a_wildcard_registration_only() -> None:
    assert covers(("*", Action.ALL), ("*", Action.ALL))
    assert not covers(("Node", Action.ALL), ("*", Action.ALL))


# Which registrations there are


def interests(*plugins: Rejecter) -> Interests:
    return Interests({"default-scheduler": make_queue_profile("default-scheduler", *plugins)})


def test_a_plugin_that_does_not_say_hears_of_the_usual_kinds() -> None:
    known = interests(Rejecter("Any", None))
    for event in EVERYTHING:
        for bit in BITS:
            assert known.wanted(ClusterEvent(event.resource, bit))
    assert len(EVERYTHING) == 10
    for resource in (events.RESOURCE_SLICE, events.VOLUME_ATTACHMENT, events.POD_GROUP, "a.v1.b"):
        assert not known.wanted(ClusterEvent(resource, Action.ADD))


def test_a_plugin_that_lists_nothing_hears_of_nothing() -> None:
    known = interests(Rejecter("Deaf", []))
    assert not any(known.wanted(event) for event in EVERYTHING)
    assert known.wanted(events.UNSCHEDULABLE_TIMEOUT)
    assert known.wanted(events.FORCE_ACTIVATE)


def test_registering_node_add_implies_taints() -> None:
    def never(pod: Any, old: Any, new: Any) -> Hint:
        return Hint.SKIP

    taint = ClusterEvent("Node", Action.UPDATE_NODE_TAINT)
    queued = rejected(by={"P"})
    implied = interests(Rejecter("P", [ClusterEvent("Node", Action.ADD, never)]))
    assert implied.worth_requeueing(queued, taint, None, None) is Requeue.AFTER_BACKOFF
    own = interests(
        Rejecter("P", [ClusterEvent("Node", Action.ADD), ClusterEvent("Node", taint.action, never)])
    )
    assert own.worth_requeueing(queued, taint, None, None) is Requeue.SKIP
    without_add = interests(Rejecter("P", [ClusterEvent("Node", Action.DELETE)]))
    assert not without_add.wanted(taint)


def test_plugins_of_an_event() -> None:
    known = interests(
        Rejecter("A", [ClusterEvent("Pod", Action.DELETE)]),
        Rejecter("B", [ClusterEvent("Pod", Action.ADD | Action.DELETE)]),
        Rejecter("C", [ClusterEvent("Node", Action.ADD)]),
    )
    assert known.plugins(ClusterEvent("AssignedPod", Action.DELETE)) == {"A", "B"}
    assert known.plugins(ClusterEvent("AssignedPod", Action.ADD)) == {"B"}
    assert known.plugins(ClusterEvent("AssignedPod", Action.UPDATE)) == set()


# What an event means for a pod


def rejected(
    by: set[str] | None = None, pending: set[str] | None = None, scheduler: str = "default-scheduler"
) -> QueuedPod:
    queued = QueuedPod(make_pod(scheduler=scheduler), 0.0)
    queued.unschedulable_plugins = by or set()
    queued.pending_plugins = pending or set()
    return queued


def answering(answer: Any) -> HintFunction:
    def hint(pod: Any, old: Any, new: Any) -> Hint:
        if isinstance(answer, Exception):
            raise answer
        hinted: Hint = answer
        return hinted

    return hint


NODE_ADD = ClusterEvent("Node", Action.ADD)


@pytest.mark.parametrize(
    ("hint", "by", "pending", "verdict"),
    [
        (None, {"P"}, None, Requeue.AFTER_BACKOFF),
        (answering(Hint.QUEUE), {"P"}, None, Requeue.AFTER_BACKOFF),
        (answering(Hint.SKIP), {"P"}, None, Requeue.SKIP),
        (answering(ValueError("oops")), {"P"}, None, Requeue.AFTER_BACKOFF),
        (answering(None), {"P"}, None, Requeue.AFTER_BACKOFF),
        (answering(False), {"P"}, None, Requeue.AFTER_BACKOFF),
        (None, None, {"P"}, Requeue.IMMEDIATELY),
        (answering(Hint.QUEUE), None, {"P"}, Requeue.IMMEDIATELY),
        (answering(Hint.SKIP), None, {"P"}, Requeue.SKIP),
        (answering(ValueError("oops")), None, {"P"}, Requeue.IMMEDIATELY),
        (answering(Hint.QUEUE), {"P"}, {"P"}, Requeue.IMMEDIATELY),
        (answering(Hint.QUEUE), {"Q"}, None, Requeue.SKIP),
        (answering(Hint.QUEUE), {"Q"}, {"R"}, Requeue.SKIP),
        (answering(Hint.QUEUE), None, None, Requeue.AFTER_BACKOFF),
        (answering(Hint.SKIP), None, None, Requeue.AFTER_BACKOFF),
    ],
)
def test_verdicts(
    hint: HintFunction | None, by: set[str] | None, pending: set[str] | None, verdict: Requeue
) -> None:
    known = interests(Rejecter("P", [NODE_ADD._replace(hint=hint)]))
    assert known.worth_requeueing(rejected(by, pending), NODE_ADD, None, make_node()) is verdict


@pytest.mark.parametrize("first", ["Waits", "Rejects"])
def test_the_answer_of_a_pending_plugin_wins_in_any_order(first: str) -> None:
    plugins = sorted([Rejecter("Waits", [NODE_ADD]), Rejecter("Rejects", [NODE_ADD])], key=lambda p: p.name)
    if plugins[0].name != first:
        plugins.reverse()
    queued = rejected(by={"Rejects"}, pending={"Waits"})
    assert interests(*plugins).worth_requeueing(queued, NODE_ADD, None, None) is Requeue.IMMEDIATELY


def test_all_hints_of_a_plugin_are_asked_until_one_says_queue() -> None:
    narrow = ClusterEvent("Node", Action.ADD, answering(Hint.SKIP))
    wide = ClusterEvent("Node", Action.ALL, answering(Hint.QUEUE))
    known = interests(Rejecter("P", [narrow, wide]))
    assert known.worth_requeueing(rejected({"P"}), NODE_ADD, None, None) is Requeue.AFTER_BACKOFF


def test_what_hints_say_is_counted() -> None:
    metrics = SchedulerMetrics()
    answers = {"A": None, "B": answering(Hint.QUEUE), "C": answering(Hint.SKIP), "D": answering(ValueError())}
    profile = make_queue_profile(
        "default-scheduler",
        *(Rejecter(name, [NODE_ADD._replace(hint=hint)]) for name, hint in answers.items()),
    )
    profile.observer = metrics
    known = Interests({"default-scheduler": profile})
    for name in answers:
        known.worth_requeueing(rejected({name}), NODE_ADD, None, None)
    counted = [
        (sample.labels["plugin"], sample.labels["event"], sample.labels["hint"], sample.value)
        for family in metrics.collect()
        for sample in family.samples
        if sample.name == "scheduler_queueing_hint_execution_duration_seconds_count"
    ]
    assert counted == [
        ("A", "NodeAdd", "Queue", 1),
        ("B", "NodeAdd", "Queue", 1),
        ("C", "NodeAdd", "QueueSkip", 1),
        ("D", "NodeAdd", "Error", 1),
    ]


def test_a_hint_that_fails_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    known = interests(
        Rejecter("P", [NODE_ADD._replace(hint=answering(ValueError("oops")))]),
        Rejecter("Q", [NODE_ADD._replace(hint=answering("yes"))]),
    )
    with caplog.at_level(logging.ERROR):
        known.worth_requeueing(rejected({"P"}), NODE_ADD, None, None)
        known.worth_requeueing(rejected({"Q"}), NODE_ADD, None, None)
    assert "the hint of plugin P for NodeAdd failed for pod default/pod" in caplog.text
    assert "oops" in caplog.text
    assert "the hint of plugin Q for NodeAdd failed for pod default/pod" in caplog.text
    assert "the hint returned 'yes', use Hint.QUEUE or Hint.SKIP" in caplog.text


@pytest.mark.parametrize(
    ("by", "old", "new", "verdict"),
    [
        ({"P"}, None, None, Requeue.AFTER_BACKOFF),
        ({"P"}, None, make_pod("pod"), Requeue.AFTER_BACKOFF),
        ({"P"}, None, make_pod("stranger"), Requeue.SKIP),
        ({"P"}, make_pod("stranger"), None, Requeue.SKIP),
        ({"P"}, None, make_node(), Requeue.AFTER_BACKOFF),
        (None, None, make_pod("stranger"), Requeue.AFTER_BACKOFF),
    ],
)
def test_wildcard_events(by: set[str] | None, old: Any, new: Any, verdict: Requeue) -> None:
    known = interests(Rejecter("P", []))
    assert known.worth_requeueing(rejected(by), events.FORCE_ACTIVATE, old, new) is verdict


def test_a_pod_is_judged_by_the_registrations_of_its_profile() -> None:
    known = Interests(
        {
            "one": make_queue_profile("one", Rejecter("P", [NODE_ADD])),
            "two": make_queue_profile("two", Rejecter("P", [])),
        }
    )
    assert known.wanted(NODE_ADD)
    verdicts = [
        known.worth_requeueing(rejected({"P"}, scheduler=name), NODE_ADD, None, None)
        for name in ("one", "two")
    ]
    assert verdicts == [Requeue.AFTER_BACKOFF, Requeue.SKIP]
