"""The phases of a PodGroup, row by row."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage.api.decoding import from_document
from moorage.api.pods import Pod
from moorage.contrib.controllers.pod_group_status import TIMEOUT, Outcome, settled, step
from moorage.contrib.objects import PodGroup, PodGroupStatus

CREATED = "2026-01-01T00:00:00Z"
NOW, NOW_TEXT = 1_767_225_600.0 + 60, "2026-01-01T00:01:00Z"
LATE, LATER = "2026-01-03T00:00:00Z", "2026-01-03T00:00:01Z"
PHASES = ("Pending", "Scheduling", "Running", "Unknown", "Finished", "Failed")
LETTERS = {"p": "Pending", "r": "Running", "s": "Succeeded", "f": "Failed"}


def group(phase: str = "", minimum: int | None = 3, **status: Any) -> PodGroup:
    return from_document(
        PodGroup,
        {
            "metadata": {"namespace": "ns", "name": "gang", "uid": "g", "creationTimestamp": CREATED},
            "spec": {} if minimum is None else {"minMember": minimum},
            "status": {"phase": phase, **status},
        },
    )


def pods(letters: str, **owners: str) -> list[Pod]:
    """A pod for each letter of its phase; `owners` are those of single pods, with commas between them."""
    return [pod(f"pod{place}", LETTERS[letter], owners) for place, letter in enumerate(letters)]


def pod(name: str, phase: str, owners: dict[str, str]) -> Pod:
    references = [{"kind": "Job", "name": owner} for owner in owners.get(name, "").split(",") if owner]
    metadata = {"namespace": "ns", "name": name, "uid": name, "ownerReferences": references}
    return from_document(Pod, {"metadata": metadata, "status": {"phase": phase}})


@pytest.mark.parametrize("phase", ["Finished", "Failed"])
def test_what_has_ended_stays_as_it_is(phase: str) -> None:
    ended = group(phase, running=1, succeeded=3)
    assert step(ended, pods("rrr"), NOW) == Outcome(ended.status)
    assert settled(ended, [], NOW) == Outcome(ended.status)


@pytest.mark.parametrize(
    ("phase", "start", "running", "letters", "times_out"),
    [
        ("Scheduling", LATER, 0, "ppp", True),
        ("Pending", LATER, 0, "", True),
        ("Scheduling", LATE, 0, "ppp", False),  # not longer than 48 hours
        ("Scheduling", None, 0, "ppp", False),
        ("Scheduling", LATER, 1, "ppp", False),
        ("Scheduling", LATER, 0, "ppr", False),  # it runs after all
        ("Scheduling", LATER, 0, "pps", False),
        ("Running", LATER, 0, "ppp", False),
        ("", LATER, 0, "ppp", False),
        ("Scheduling", "yesterday", 0, "ppp", False),
        ("Scheduling", "2026-01-03T00:00:01", 0, "ppp", False),  # which cannot be compared
    ],
)
def test_one_that_began_too_late_is_warned_of(
    phase: str, start: str | None, running: int, letters: str, times_out: bool
) -> None:
    late = group(phase, running=running, scheduleStartTime=start)
    outcome = step(late, pods(letters), NOW)
    assert (outcome.warned == TIMEOUT) is times_out
    if times_out:
        assert outcome.status == late.status
    assert TIMEOUT == ("Timeout", "schedule time longer than 48 hours")


def test_a_new_one_is_pending() -> None:
    assert step(group(), pods("rrr"), NOW).status.phase == "Pending"


@pytest.mark.parametrize(("letters", "phase"), [("", "Pending"), ("pp", "Pending"), ("ppp", "Scheduling")])
def test_a_pending_one_waits_for_its_pods(letters: str, phase: str) -> None:
    status = step(group("Pending"), pods(letters), NOW).status
    assert status.phase == phase
    assert status.schedule_start_time == (NOW_TEXT if phase == "Scheduling" else None)


@pytest.mark.parametrize(
    ("letters", "phase"),
    [
        ("", "Pending"),
        ("rr", "Pending"),
        ("ss", "Pending"),
        ("ppp", "Scheduling"),
        ("rrp", "Scheduling"),
        ("rsp", "Scheduling"),
        ("ppf", "Scheduling"),  # one failed of three, and two are still to come
        ("rrr", "Running"),
        ("rrrp", "Running"),
        ("rss", "Running"),
        ("rrf", "Failed"),
        ("fff", "Failed"),
        ("ssf", "Failed"),
        ("rrrf", "Failed"),
        ("sss", "Finished"),
        ("sssr", "Finished"),
        ("sssf", "Finished"),  # enough have succeeded
    ],
)
@pytest.mark.parametrize("before", ["Scheduling", "Running", "Unknown"])
def test_any_other_is_counted(before: str, letters: str, phase: str) -> None:
    status = step(group(before), pods(letters), NOW).status
    assert status.phase == phase
    counts = status.running, status.succeeded, status.failed
    assert counts == tuple(letters.count(letter) for letter in "rsf")


def test_counts_do_not_outlive_the_pods() -> None:
    halved = step(group("Running", running=3), pods("rr"), NOW).status
    assert (halved.phase, halved.running) == ("Pending", 2)
    gone = step(group("Pending", running=2), [], NOW).status
    assert (gone.phase, gone.running) == ("Pending", 0)


def test_the_first_beginning_counts() -> None:
    again = step(group("Running", scheduleStartTime=CREATED), pods("rrp"), NOW).status
    assert (again.phase, again.schedule_start_time) == ("Scheduling", CREATED)
    first = step(group("Running"), pods("rrp"), NOW).status
    assert (first.phase, first.schedule_start_time) == ("Scheduling", NOW_TEXT)


@pytest.mark.parametrize(
    ("owners", "before", "after"),
    [
        ({"pod0": "train"}, "", "ns/train"),
        ({"pod0": "train,eval"}, "", "ns/eval,ns/train"),
        ({"pod1": "train"}, "", ""),  # the first one counts
        ({}, "ns/other", "ns/other"),
        ({"pod0": "train"}, "ns/other", "ns/train"),
    ],
)
def test_who_it_is_occupied_by(owners: dict[str, str], before: str, after: str) -> None:
    pending = group("Pending", occupiedBy=before)
    members = pods("ppp", **owners)
    assert step(pending, members[::-1], NOW).status.occupied_by == after


def test_the_oldest_pod_is_the_first() -> None:
    members = pods("ppp", pod0="young", pod2="old")
    for place, member in enumerate(members):
        member.metadata.creation_timestamp = f"2026-01-01T00:00:0{9 - place}Z"
    assert step(group("Pending"), members, NOW).status.occupied_by == "ns/old"


def test_a_group_that_asks_for_none_has_enough_with_one() -> None:
    assert settled(group(minimum=None), [], NOW).status.phase == "Pending"
    assert settled(group(minimum=None), pods("r"), NOW).status.phase == "Running"


def test_several_phases_at_once() -> None:
    expected = PodGroupStatus(
        phase="Running", occupied_by="ns/train", running=3, schedule_start_time=NOW_TEXT
    )
    assert settled(group(), pods("rrr", pod0="train"), NOW) == Outcome(expected)
    assert settled(group(), pods("sss"), NOW).status.phase == "Finished"


def test_one_that_begins_too_late_begins_all_the_same() -> None:
    outcome = settled(group("Pending"), pods("ppp"), NOW + 49 * 3600)
    assert (outcome.status.phase, outcome.warned) == ("Scheduling", TIMEOUT)


@given(
    phase=st.sampled_from(["", *PHASES]),
    minimum=st.integers(1, 5),
    letters=st.text("prsf", max_size=7),
    running=st.integers(0, 3),
)
def test_what_is_settled_stays(phase: str, minimum: int, letters: str, running: int) -> None:
    before = group(phase, minimum, running=running)
    once = settled(before, pods(letters), NOW)
    before.status = once.status
    assert settled(before, pods(letters), NOW + 1).status == once.status
    assert once.status.phase in PHASES
    assert once.status.phase != "Unknown"
