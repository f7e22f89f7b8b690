from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from moorage.framework.runtime.waiting_pods import WaitingPod, WaitingPods
from moorage.framework.status import Status
from moorage.testing import make_pod
from tests import fake_time


def ended(timeouts: dict[str, float], *acts: Callable[[WaitingPod], object]) -> tuple[Status | None, float]:
    """What ends a wait if these things are done one after the other, and when."""

    async def main() -> tuple[Status | None, float]:
        waiting = WaitingPod(make_pod("p"), timeouts)
        for act in acts:
            act(waiting)
        return await waiting.ended(), fake_time.now()

    return fake_time.run(main())


NO = Status.unschedulable("no").by("A")


@pytest.mark.parametrize(
    ("acts", "status", "seconds"),
    [
        ([lambda w: w.allow("A"), lambda w: w.allow("B")], None, 0),
        (
            [lambda w: w.allow("A")],
            Status.unschedulable("rejected due to timeout after waiting 20s at plugin B").by("B"),
            20,
        ),
        (
            [lambda w: w.allow("Other"), lambda w: w.allow("B"), lambda w: w.allow("B")],
            Status.unschedulable("rejected due to timeout after waiting 10s at plugin A").by("A"),
            10,
        ),
        ([lambda w: w.reject("A", "no")], NO, 0),
        ([lambda w: w.allow("A"), lambda w: w.reject("A", "no")], NO, 0),
        ([lambda w: w.reject("A", "no"), lambda w: w.allow("A"), lambda w: w.allow("B")], NO, 0),
        ([lambda w: w.reject("A", "no"), lambda w: w.reject("B", "not at all")], NO, 0),
        ([lambda w: w.allow("A"), lambda w: w.allow("B"), lambda w: w.reject("A", "no")], None, 0),
        ([lambda w: w.preempt("B", "make room")], Status.error("make room").by("B"), 0),
        (
            [lambda w: w.preempt("B", "make room"), lambda w: w.reject("A", "no")],
            Status.error("make room").by("B"),
            0,
        ),
    ],
)
def test_the_first_ending_counts(
    acts: list[Callable[[WaitingPod], object]], status: Status | None, seconds: float
) -> None:
    assert ended({"A": 10, "B": 20}, *acts) == (status, seconds)


def test_who_is_still_waited_for_and_who_ended_the_wait() -> None:
    async def main() -> None:
        waiting = WaitingPod(make_pod("p"), {"A": 10, "B": 20})
        assert waiting.pending_plugins == ["A", "B"]
        waiting.allow("A")
        assert waiting.pending_plugins == ["B"]
        assert waiting.reject("B", "no") is True
        assert waiting.reject("B", "no") is False
        assert waiting.preempt("B", "no") is False
        # No timer is left that would have to be waited for.
        await asyncio.sleep(100)
        assert await waiting.ended() == Status.unschedulable("no").by("B")

    fake_time.run(main())


def test_waiting_pods_are_found_by_uid_and_rejected_from_outside() -> None:
    async def main() -> None:
        pods = WaitingPods()
        first, second = (WaitingPod(make_pod(name), {"A": 10}) for name in ("first", "second"))
        pods.add(first)
        pods.add(second)
        assert list(pods) == [first, second]
        assert pods.with_uid(first.pod.uid) is first
        assert pods.reject("unknown") is False
        assert pods.reject(first.pod.uid) is True
        assert await first.ended() == Status.unschedulable("removed")
        for waiting in pods:
            pods.remove(waiting.pod.uid)
        pods.remove("unknown")
        assert len(pods) == 0
        assert pods.with_uid(first.pod.uid) is None
        second.reject("", "removed")

    fake_time.run(main())
