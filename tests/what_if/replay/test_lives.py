"""What is found out about pods by reading a trace beforehand."""

from __future__ import annotations

from moorage.api.pods import on_node
from moorage.testing import make_node, make_pod
from moorage.what_if.replay.lives import read_lives
from tests.what_if.replay.traces import BEGAN, CONTROLLED, OF_DAEMON_SET, Recording, marked


def test_the_time_that_pods_have() -> None:
    recording = Recording(make_node("n"))
    recording.pod("ended", 0, bound=10, gone=40)
    recording.pod("runs-on", 0, bound=10)
    recording.pod("deleted", 0, gone=25)
    recording.pod("waits", 0)
    lives = read_lives(recording.trace(until=100)).pods
    left = {uid.removeprefix("pod-default-"): life.time_left() for uid, life in lives.items()}
    assert left == {
        "ended": (30, None),
        "runs-on": (None, None),
        "deleted": (None, BEGAN + 25),
        "waits": (None, None),
    }


def test_a_pod_that_has_finished_ends_then_and_not_when_it_is_gone() -> None:
    recording = Recording(make_node("n"))
    running = recording.pod("p", 0, bound=10)
    done = make_pod("p", node="n", status={"phase": "Succeeded"})
    recording.put(30, done)
    recording.gone(500, done)
    (life,) = read_lives(recording.trace()).pods.values()
    assert life.time_left() == (20, None) and running.name == "p"


def test_those_who_were_cut_short_go_on_in_their_successors() -> None:
    """Preempted twice: 10 seconds, 20, and 30 in the end."""
    recording = Recording(make_node("n"))
    came, ran = 0.0, (10.0, 20.0, 30.0)
    for number, seconds in enumerate(ran):
        pod = make_pod(f"web-{number}", metadata=CONTROLLED)
        placed = on_node(pod, "n")
        recording.put(came, pod)
        recording.put(came + 1, placed)
        ends = came + 1 + seconds
        if number < 2:
            recording.put(ends, marked(placed))
            recording.gone(ends + 5, marked(placed))
        else:
            recording.gone(ends, placed)
        came = ends + 2
    lives = read_lives(recording.trace()).pods
    first, second, third = (lives[f"pod-default-web-{number}"] for number in range(3))
    assert first.time_left() == (60, None)
    assert not first.is_successor and second.is_successor and third.is_successor


def test_whoever_was_cut_short_without_a_successor_runs_on() -> None:
    recording = Recording(make_node("n"))
    pod = recording.pod("p", 0, bound=1)
    recording.put(11, marked(pod))
    recording.gone(12, marked(pod))
    (life,) = read_lives(recording.trace()).pods.values()
    assert life.cut == BEGAN + 11 and life.time_left() == (None, None)


def test_a_successor_of_the_same_name_goes_first() -> None:
    recording = Recording(make_node("n"))
    for name in ("db-0", "db-1"):
        pod = recording.pod(name, 0, bound=1, metadata=CONTROLLED)
        recording.put(11, marked(pod))
        recording.gone(12, marked(pod))
    recording.pod("db-1", 20, bound=21, gone=31, uid="again-1", metadata=CONTROLLED)
    recording.pod("db-0", 20, bound=21, gone=41, uid="again-0", metadata=CONTROLLED)
    lives = read_lives(recording.trace()).pods
    assert lives["pod-default-db-0"].successor is lives["again-0"]
    assert lives["pod-default-db-1"].successor is lives["again-1"]


def test_the_kinds_of_pods_are_counted_without_those_of_nodes() -> None:
    recording = Recording(make_node("n"))
    for number in range(3):
        recording.pod(f"web-{number}", 0, cpu=1)
    recording.pod("agent-1", 0, cpu=2, metadata=OF_DAEMON_SET)
    lives = read_lives(recording.trace())
    assert lives.shapes == {(("cpu", 1000),): 3}
    assert [pod.name for pod in lives.daemons.values()] == ["agent-1"]


def test_reading_stops_at_a_time() -> None:
    recording = Recording(make_node("n"))
    recording.pod("p", 0, bound=10, gone=40)
    lives = read_lives(recording.trace(), BEGAN + 20)
    assert lives.ends == BEGAN + 20 and lives.changes == 3
    assert lives.pods["pod-default-p"].time_left() == (None, None)
