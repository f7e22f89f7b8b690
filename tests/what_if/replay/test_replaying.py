"""What is taken from a trace, and what comes of the replay."""

from __future__ import annotations

from copy import copy
from itertools import pairwise

import pytest
from msgspec.structs import replace

from moorage.api.pods import Condition, SchedulingGate, on_node
from moorage.framework.extension_points import PermitPlugin, ScorePlugin
from moorage.framework.status import Wait
from moorage.testing import make_node, make_pod
from tests.what_if.replay.traces import CONTROLLED, OF_DAEMON_SET, Recording, Replayed, marked


class Last(ScorePlugin):
    """Prefers nodes whose names come late in the alphabet."""

    def score(self, cycle, pod, node):  # type: ignore[no-untyped-def]
        return ord(node.name[0]) - ord("a")


def test_pods_run_as_long_as_they_ran_from_when_they_are_bound() -> None:
    recording = Recording(make_node("n", cpu=4))
    recording.pod("a", 0, bound=1, gone=61, cpu=3)
    recording.pod("b", 5, bound=62, gone=100, cpu=3)
    found = Replayed(recording.trace())
    assert found.bound == {"a": (0, "n"), "b": (60, "n")}
    assert found.went == {"a": 60, "b": 98}
    assert (found.outcome.pods, found.outcome.placed, found.outcome.never_placed) == (2, 2, 0)


def test_the_nodes_come_of_the_replay_and_not_of_the_trace() -> None:
    recording = Recording(make_node("a"), make_node("z"))
    recording.pod("p", 1, bound=2, on="a", cpu=1)
    assert Replayed(recording.trace(), Last).bound == {"p": (1, "z")}


def test_a_pod_that_never_had_a_node_goes_when_it_went_and_runs_no_longer() -> None:
    recording = Recording(make_node("n", cpu=4))
    recording.pod("large", 0, gone=50, cpu=8)
    recording.pod("small", 0, gone=70, cpu=1)
    found = Replayed(recording.trace(until=100))
    assert found.bound == {"small": (0, "n")}
    assert found.went == {"large": 50, "small": 70}


def test_a_pod_that_had_a_node_and_finds_none_waits_to_the_end() -> None:
    recording = Recording(make_node("n", cpu=4))
    recording.pod("a", 0, bound=0, cpu=3)
    recording.pod("b", 5, bound=6, gone=20, cpu=3)
    found = Replayed(recording.trace(until=100))
    assert "b" not in found.bound and "b" not in found.went
    assert found.outcome.never_placed == 1


def test_what_still_ran_at_the_end_runs_on() -> None:
    recording = Recording(make_node("n"))
    recording.pod("p", 1, bound=2)
    assert not Replayed(recording.trace(until=1000)).went


def test_pods_that_ran_at_the_start_are_where_they_were() -> None:
    recording = Recording()
    running = make_pod("running", node="a", cpu=1)
    recording.put(0, running)  # before its node, as lists of an API server may come in any order
    recording.put(0, make_node("a"))
    recording.put(0, make_node("z"))
    recording.gone(30, running)
    found = Replayed(recording.trace(until=60), Last)
    assert found.bound == {"running": (0, "a")} and found.went == {"running": 30}
    assert found.outcome.pods == 0


def test_a_pod_that_was_made_for_a_node_stays_there_and_one_that_was_seen_late_does_not() -> None:
    recording = Recording(make_node("a"), make_node("z"))
    recording.put(5, make_pod("static", node="a"))
    late = make_pod("late", node="a")
    late.status.conditions = (Condition(type="PodScheduled", status="True"),)
    recording.put(5, late)
    found = Replayed(recording.trace(until=10), Last)
    assert found.bound == {"static": (5, "a"), "late": (5, "z")}


def test_what_somebody_changes_of_a_pod_is_changed_and_what_became_of_it_is_not() -> None:
    recording = Recording(make_node("n"))
    pod = make_pod("p", schedulingGates=[{"name": "wait"}])
    recording.put(1, pod)
    opened = copy(pod)
    opened.spec = replace(pod.spec, scheduling_gates=())
    recording.put(50, opened)
    nominated = copy(opened)
    nominated.status = replace(opened.status, nominated_node_name="elsewhere")
    recording.put(51, nominated)
    recording.put(52, on_node(nominated, "n"))
    found = Replayed(recording.trace(until=60))
    assert pod.spec.scheduling_gates == (SchedulingGate("wait"),)
    assert found.bound == {"p": (50, "n")}
    assert not any(pod.status.nominated_node_name for _, pod, _ in found.pods())


def test_labels_that_come_with_a_node_are_not_taken() -> None:
    recording = Recording(make_node("n"))
    pod = recording.pod("p", 1, bound=2)
    labelled = copy(pod)
    labelled.metadata = replace(pod.metadata, labels={"topology.kubernetes.io/zone": "far", "mine": "yes"})
    recording.put(3, labelled)
    *_, (_, last, _) = Replayed(recording.trace(until=10)).pods()
    assert last.labels == {"mine": "yes"}


def test_who_is_preempted_and_has_a_controller_comes_again_with_the_rest_of_its_time() -> None:
    recording = Recording(make_node("n", cpu=4))
    recording.pod("victim", 0, bound=0, gone=100, cpu=3, metadata=CONTROLLED)
    recording.pod("urgent", 40, bound=41, gone=61, cpu=3, priority=10)
    found = Replayed(recording.trace(until=300))
    assert found.outcome.preemptions == 1
    assert found.bound["urgent"] == (40, "n")
    # 40 of its 100 seconds were over; the other pod ran for 20.
    assert found.bound["victim"] == (60, "n") and found.went["victim"] == 120
    assert found.outcome.pods == 2 and found.outcome.placed == 2


def test_who_is_preempted_without_a_controller_is_gone() -> None:
    recording = Recording(make_node("n", cpu=4))
    recording.pod("victim", 0, bound=0, gone=100, cpu=3)
    recording.pod("urgent", 40, bound=41, gone=61, cpu=3, priority=10)
    found = Replayed(recording.trace(until=300))
    assert found.went["victim"] == 40 and len(found.again) == 2


def test_what_was_preempted_in_the_trace_goes_on_as_one_pod() -> None:
    """With room for both, the pod that was made for the one that had to go is not another one."""
    recording = Recording(make_node("n", cpu=8))
    victim = make_pod("victim", cpu=3, metadata=CONTROLLED)
    recording.put(0, victim)
    placed = on_node(victim, "n")
    recording.put(0, placed)
    recording.pod("urgent", 40, bound=41, gone=61, cpu=3, priority=10)
    recording.put(40, marked(placed))
    recording.pod("successor", 41, bound=62, gone=122, cpu=3, metadata=CONTROLLED)
    recording.gone(41, marked(placed))
    found = Replayed(recording.trace(until=300))
    assert found.outcome.preemptions == 0 and found.outcome.pods == 2
    assert "successor" not in found.bound
    assert found.went == {"urgent": 60, "victim": 100}  # 40 seconds, and the 60 of its successor


def test_pods_of_a_node_that_is_lost_come_again_elsewhere() -> None:
    lost = make_node("z", cpu=4)
    recording = Recording(make_node("a", cpu=4), lost)
    recording.pod("web", 0, bound=0, gone=100, on="a", cpu=1, metadata=CONTROLLED)
    recording.pod("bare", 0, bound=0, gone=100, on="a", cpu=1)
    recording.pod("agent", 0, bound=0, gone=30, on="z", cpu=1, metadata=OF_DAEMON_SET)
    recording.gone(30, lost)
    found = Replayed(recording.trace(until=200), Last)
    assert found.bound["web"] == (30, "a") and found.went["web"] == 100
    assert found.went["bare"] == 30 and found.went["agent"] == 30


def test_pods_that_were_lost_with_their_node_in_the_trace_go_on() -> None:
    lost = make_node("z", cpu=4)
    recording = Recording(make_node("a", cpu=8), lost)
    recording.pod("web", 0, bound=0, gone=31, on="z", cpu=3, metadata=CONTROLLED)
    recording.gone(30, lost)
    recording.pod("web-2", 32, bound=33, gone=93, on="a", cpu=3, metadata=CONTROLLED)
    found = Replayed(recording.trace(until=200))
    assert "web-2" not in found.bound and found.went["web"] == 31 + 60


def test_nodes_come_and_go_as_recorded() -> None:
    recording = Recording()
    recording.pod("p", 1, bound=21, cpu=1)
    recording.put(20, make_node("n"))
    found = Replayed(recording.trace(until=60))
    assert found.bound == {"p": (20, "n")} and found.outcome.pending_p99 == 19


def test_given_nodes_take_the_place_of_those_of_the_trace() -> None:
    recording = Recording(make_node("n"))
    recording.put(0, make_pod("running", node="n", cpu=1, metadata=CONTROLLED))
    recording.put(0, make_pod("agent-1", node="n", metadata=OF_DAEMON_SET, nodeSelector={"kind": "large"}))
    recording.pod("p", 1, bound=2, gone=22, cpu=1)
    recording.gone(10, make_node("n"))
    nodes = [make_node("x", labels={"kind": "large"}), make_node("y", taints=["only=me:NoSchedule"])]
    found = Replayed(recording.trace(until=60), nodes=nodes)
    assert found.bound["running"] == (0, "x") and found.bound["p"] == (1, "x")
    assert found.bound["agent-1-on-x"] == (0, "x")
    assert "agent-1" not in found.bound and "agent-1-on-y" not in found.bound


def test_a_pod_waits_for_the_one_of_its_name_to_end() -> None:
    recording = Recording(make_node("n", cpu=4))
    recording.pod("other", 0, bound=0, gone=50, cpu=3)
    recording.pod("db-0", 1, bound=2, gone=12, cpu=3, uid="first")
    recording.pod("db-0", 13, bound=14, gone=34, cpu=3, uid="second")
    found = Replayed(recording.trace(until=200))
    assert found.again == ["pod-default-other", "first", "second"]
    assert found.bound["db-0"] == (60, "n") and found.went["db-0"] == 80


def test_back_off_and_the_flush_of_unschedulable_pods_take_virtual_time() -> None:
    class Refuses(ScorePlugin):
        """Raises at first: the pod backs off for a second, two, four."""

        tries: list[float] = []

        def score(self, cycle, pod, node):  # type: ignore[no-untyped-def]
            self.tries.append(self.handle.clock())
            if len(self.tries) < 8:
                raise RuntimeError("not yet")
            return 0

    recording = Recording(make_node("a"), make_node("b"))
    recording.pod("p", 1, bound=2)
    found = Replayed(recording.trace(until=100), Refuses)
    times = sorted({round(time - 1_750_000_000) for time in Refuses.tries})
    # The wait doubles up to ten seconds; a whole second is added, as it ends with the clock's seconds.
    pauses = [after - before for before, after in pairwise(times)]
    assert times[0] == 1 and pauses[:3] == [2, 3, 5]
    assert found.bound["p"][0] == times[-1]
    assert found.outcome.failed_plugins["Refuses"] > 0


def test_waits_on_permit_take_virtual_time() -> None:
    class Gate(PermitPlugin):
        """Holds every pod back; who waits for too long is rejected."""

        def permit(self, cycle, pod, node_name):  # type: ignore[no-untyped-def]
            return Wait(30) if self.handle.clock() < 1_750_000_000 + 100 else None

    recording = Recording(make_node("n"))
    recording.pod("p", 1, bound=2)
    found = Replayed(recording.trace(until=1000), Gate)
    # It is tried again when it was unschedulable for five minutes, if nothing happens before.
    assert 100 < found.bound["p"][0] < 400
    assert found.outcome.seconds < 60


def test_only_what_came_within_the_measured_time_counts() -> None:
    recording = Recording(make_node("n", cpu=4))
    recording.pod("early", 1, bound=2, gone=100, cpu=3)
    recording.pod("late", 50, bound=51, gone=60, cpu=1)
    recording.pod("later", 90, bound=91, cpu=1)
    found = Replayed(recording.trace(), since=40, until=80).outcome
    assert (found.pods, found.placed) == (1, 1) and found.virtual_seconds == pytest.approx(40)


def test_seeds_decide_among_equal_nodes_and_the_same_seed_decides_alike() -> None:
    recording = Recording(*(make_node(f"n{number}") for number in range(40)))
    for number in range(10):
        recording.pod(f"p{number}", number, bound=number, cpu=1)
    runs = {seed: Replayed(recording.trace(), seed=seed).bound for seed in (0, 1, 2)}
    assert runs[1] != runs[2]
    assert runs[1] == Replayed(recording.trace(), seed=1).bound


def test_a_victim_of_two_preemptors_is_made_again_once() -> None:
    """Both chose it before it was gone; the pod in its place is not the one that they meant."""
    recording = Recording(make_node("n", cpu=4))
    recording.pod("victim", 0, bound=0, gone=100, cpu=4, metadata=CONTROLLED)
    for number in range(2):
        recording.pod(f"urgent-{number}", 10, bound=11, gone=21, cpu=2, priority=10)
    found = Replayed(recording.trace(until=300))
    assert found.outcome.preemptions == 1
    assert found.bound["victim"] == (20, "n") and found.went["victim"] == 110


def test_pods_of_other_schedulers_get_the_nodes_that_they_got() -> None:
    recording = Recording(make_node("a", cpu=4), make_node("z", cpu=4))
    recording.pod("foreign", 1, bound=5, gone=45, on="z", cpu=4, scheduler="another")
    recording.pod("ours", 10, bound=11, gone=31, on="z", cpu=1)
    found = Replayed(recording.trace(until=60), Last)
    assert found.bound == {"foreign": (5, "z"), "ours": (10, "a")}
    assert found.went == {"foreign": 45, "ours": 30}
    assert found.outcome.pods == 1 and max(found.outcome.history.pending) == 0
