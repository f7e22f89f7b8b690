"""Leader election on an API server in memory, in fake time."""

from __future__ import annotations

import asyncio
import logging
import re
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from copy import deepcopy
from typing import Any

import pytest

from moorage.api.durations import Duration
from moorage.config.types import LeaderElection
from moorage.process.leader_election import ElectionEnded, LeaderElector
from moorage.process.lease import LeaseLock, Outcome
from moorage.process.logs import TextFormatter
from tests import fake_time

COLLECTION = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
PATH = f"{COLLECTION}/moorage"
SETTINGS = LeaderElection(resource_name="moorage")
PATIENCE = 10.0


class Refusal(Exception):
    def __init__(self, code: int, message: str = "refused") -> None:
        super().__init__(message)
        self.code = code


class Server:
    """Keeps one lease and the events, with resource versions as an API server does."""

    def __init__(self) -> None:
        self.lease: dict[str, Any] | None = None
        self.events: list[dict[str, Any]] = []
        self.requests: list[str] = []
        self.failing: Exception | None = None
        self.lose_answers = False
        self.on_request: Callable[[], None] = lambda: None
        self._lock = threading.RLock()

    @property
    def spec(self) -> dict[str, Any]:
        assert self.lease is not None
        spec: dict[str, Any] = self.lease["spec"]
        return spec

    def hold(self, identity: str, **fields: Any) -> None:
        """Has somebody else write the lease."""
        spec = {"holderIdentity": identity, "leaseDurationSeconds": 15, "leaseTransitions": 3, **fields}
        with self._lock:
            metadata = {"name": "moorage", "labels": {"keep": "me"}, **(self.lease or {}).get("metadata", {})}
            self._store({"metadata": metadata, "spec": spec})

    async def request_json(self, method: str, path: str, body: Any = None) -> dict[str, Any]:
        with self._lock:
            self.requests.append(method)
            self.on_request()
            if self.failing is not None:
                raise self.failing
            answer = self._answer(method, path, body)
            if self.lose_answers and method != "GET":
                raise ConnectionResetError("connection lost")
            return deepcopy(answer)

    @asynccontextmanager
    async def connect(self) -> AsyncIterator[Server]:
        yield self

    def _answer(self, method: str, path: str, body: Any) -> dict[str, Any]:
        if path == "/api/v1/namespaces/kube-system/events":
            self.events.append(body)
            return dict(body)
        assert path == (COLLECTION if method == "POST" else PATH)
        if method == "POST":
            if self.lease is not None:
                raise Refusal(409)
        elif self.lease is None:
            raise Refusal(404)
        elif method == "PUT":
            if body["metadata"]["resourceVersion"] != self.lease["metadata"]["resourceVersion"]:
                raise Refusal(409)
        else:
            return self.lease
        return self._store(deepcopy(body))

    def _store(self, lease: dict[str, Any]) -> dict[str, Any]:
        old = (self.lease or {}).get("metadata", {}).get("resourceVersion", "0")
        lease["metadata"] |= {"resourceVersion": str(int(old) + 1), "uid": "lease-uid"}
        self.lease = lease
        return lease


class Clock:
    """Time that passes when somebody sleeps, and only then."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.slept: list[float] = []

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds
        await asyncio.sleep(0)


def shown(caplog: pytest.LogCaptureFixture) -> str:
    """The log as it is written to stderr."""
    formatter = TextFormatter()
    return "\n".join(formatter.format(record) for record in caplog.records)


def lock(server: Any, clock: Callable[[], float], identity: str = "me", duration: float = 15.0) -> LeaseLock:
    return LeaseLock(
        server,
        "kube-system",
        "moorage",
        identity=identity,
        duration=duration,
        request_timeout=5.0,
        clock=clock,
        wall_clock=lambda: 1_700_000_000.25,
    )


def elector(server: Any, clock: Clock, settings: LeaderElection = SETTINGS, **more: Any) -> LeaderElector:
    return LeaderElector(
        server.connect,
        settings,
        clock=clock,
        sleep=clock.sleep,
        rand=lambda: 0.5,
        **{"identity": "me"} | more,
    )


# The lease


def test_an_absent_lease_is_created() -> None:
    server = Server()
    assert asyncio.run(lock(server, Clock()).take_or_keep()) is Outcome.HELD
    assert server.spec == {
        "holderIdentity": "me",
        "leaseDurationSeconds": 15,
        "acquireTime": "2023-11-14T22:13:20.250000Z",
        "renewTime": "2023-11-14T22:13:20.250000Z",
        "leaseTransitions": 0,
    }


def test_a_foreign_lease_is_taken_only_when_unchanged_for_its_duration_here() -> None:
    async def main() -> None:
        server, clock = Server(), Clock()
        ours = lock(server, clock)
        # The holder's clock is far behind: only our own counts.
        server.hold("other", renewTime="1999-01-01T00:00:00.000000Z", leaseDurationSeconds=20)
        assert await ours.take_or_keep() is Outcome.HELD_BY_OTHER
        clock.now += 19.9
        assert await ours.take_or_keep() is Outcome.HELD_BY_OTHER
        server.hold("other", renewTime="1999-01-01T00:00:01.000000Z", leaseDurationSeconds=20)
        clock.now += 19.9
        assert await ours.take_or_keep() is Outcome.HELD_BY_OTHER
        clock.now += 19.9
        assert await ours.take_or_keep() is Outcome.HELD_BY_OTHER
        clock.now += 0.1
        assert await ours.take_or_keep() is Outcome.HELD
        assert (server.spec["holderIdentity"], server.spec["leaseTransitions"]) == ("me", 4)
        assert server.lease is not None
        assert server.lease["metadata"]["labels"] == {"keep": "me"}

    asyncio.run(main())


def test_a_released_lease_is_taken_at_once() -> None:
    server = Server()
    server.hold("", leaseDurationSeconds=1)
    assert asyncio.run(lock(server, Clock()).take_or_keep()) is Outcome.HELD
    assert (server.spec["leaseTransitions"], server.spec["leaseDurationSeconds"]) == (4, 15)


def test_a_lease_without_a_record_is_free() -> None:
    server = Server()
    server.lease = {"metadata": {"name": "moorage", "resourceVersion": "7"}}
    assert asyncio.run(lock(server, Clock()).take_or_keep()) is Outcome.HELD
    assert server.spec["leaseTransitions"] == 1


def test_of_two_that_try_at_once_one_wins() -> None:
    async def main() -> None:
        server, clock = Server(), Clock()
        server.hold("")
        ours, rival = lock(server, clock), lock(server, clock, "rival")

        def rival_is_faster() -> None:
            if server.requests[-1] == "PUT":
                server.on_request = lambda: None
                server.hold("rival")

        server.on_request = rival_is_faster
        assert await ours.take_or_keep() is Outcome.FAILED
        assert await ours.take_or_keep() is Outcome.HELD_BY_OTHER
        assert await rival.take_or_keep() is Outcome.HELD

    asyncio.run(main())


def test_renewing_is_one_request_and_keeps_the_time_of_acquisition() -> None:
    async def main() -> None:
        server, clock = Server(), Clock()
        ours = lock(server, clock)
        await ours.take_or_keep()
        server.spec["acquireTime"] = "then"
        ours._lease = deepcopy(server.lease)
        server.requests.clear()
        assert await ours.take_or_keep() is Outcome.HELD
        assert server.requests == ["PUT"]
        assert (server.spec["acquireTime"], server.spec["leaseTransitions"]) == ("then", 0)

    asyncio.run(main())


def test_a_renewal_counts_from_when_it_was_begun() -> None:
    async def main() -> None:
        server, clock = Server(), Clock()
        ours = lock(server, clock)
        begun = clock.now

        def slow() -> None:
            clock.now += 3

        server.on_request = slow
        assert await ours.take_or_keep() is Outcome.HELD
        assert ours.renewed_at == begun + 3  # after the read, before the write
        assert clock.now == begun + 6

    asyncio.run(main())


def test_an_update_whose_answer_was_lost_does_not_lose_the_lease() -> None:
    async def main() -> None:
        server, clock = Server(), Clock()
        ours = lock(server, clock)
        await ours.take_or_keep()
        server.lose_answers = True
        assert await ours.take_or_keep() is Outcome.FAILED
        server.lose_answers = False
        assert await ours.take_or_keep() is Outcome.HELD

    asyncio.run(main())


def test_a_deleted_lease_is_made_again() -> None:
    async def main() -> None:
        server = Server()
        ours = lock(server, Clock())
        await ours.take_or_keep()
        server.lease = None
        assert await ours.take_or_keep() is Outcome.HELD
        assert server.spec["holderIdentity"] == "me"

    asyncio.run(main())


def test_a_lease_that_another_took_is_not_taken_back() -> None:
    async def main() -> None:
        server = Server()
        ours = lock(server, Clock())
        await ours.take_or_keep()
        server.hold("other")
        assert await ours.take_or_keep() is Outcome.HELD_BY_OTHER

    asyncio.run(main())


def test_fractions_of_a_second_are_rounded_up() -> None:
    server = Server()
    asyncio.run(lock(server, Clock(), duration=1.2).take_or_keep())
    assert server.spec["leaseDurationSeconds"] == 2


def test_a_request_without_an_answer_is_given_up(caplog: pytest.LogCaptureFixture) -> None:
    class Silent:
        async def request_json(self, method: str, path: str, body: Any = None) -> dict[str, Any]:
            await asyncio.sleep(3600)
            return {}

    async def main() -> None:
        assert await lock(Silent(), fake_time.now).take_or_keep() is Outcome.FAILED
        assert fake_time.now() == 5.0

    fake_time.run(main())
    assert "TimeoutError" in shown(caplog)


def test_the_log_says_that_the_lease_is_forbidden(caplog: pytest.LogCaptureFixture) -> None:
    server = Server()
    server.failing = Refusal(403, 'leases "moorage" is forbidden')
    assert asyncio.run(lock(server, Clock()).take_or_keep()) is Outcome.FAILED
    assert 'leases \\"moorage\\" is forbidden' in shown(caplog)


@pytest.mark.parametrize("holder", ["me", "other"])
def test_only_ones_own_lease_is_released(holder: str) -> None:
    async def main() -> None:
        server = Server()
        ours = lock(server, Clock())
        await ours.take_or_keep()
        server.hold(holder)
        await ours.release()
        assert server.spec["holderIdentity"] == ("" if holder == "me" else "other")
        assert server.spec["leaseDurationSeconds"] == (1 if holder == "me" else 15)
        assert server.spec["leaseTransitions"] == 3

    asyncio.run(main())


def test_one_that_never_wrote_has_nothing_to_release() -> None:
    server = Server()
    asyncio.run(lock(server, Clock()).release())
    assert server.requests == []


# The elector


def test_leads_says_so_and_releases(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)

    async def main() -> None:
        server, clock = Server(), Clock()
        ours = elector(server, clock, component="my-scheduler")
        assert (ours.is_leading, ours.may_act()) == (False, False)
        ours.start()
        await asyncio.wait_for(ours.wait_until_leading(), PATIENCE)
        assert (ours.is_leading, ours.healthy()) == (True, True)
        await until(lambda: server.events != [])
        await ours.stop()
        assert (ours.is_leading, ours.may_act()) == (False, False)
        assert (server.spec["holderIdentity"], server.spec["leaseDurationSeconds"]) == ("", 1)
        [event] = server.events
        assert (event["type"], event["reason"], event["message"]) == (
            "Normal",
            "LeaderElection",
            "me became leader",
        )
        assert event["involvedObject"]["kind"] == "Lease"
        assert event["involvedObject"]["uid"] == "lease-uid"
        assert event["source"] == {"component": "my-scheduler"}
        await ours.stop()

    asyncio.run(main())
    assert '"Attempting to acquire leader lease..." lock="kube-system/moorage"' in shown(caplog)
    assert "Successfully acquired lease" in caplog.text
    assert "Leaderelection lost" not in caplog.text


def test_waits_with_jitter_and_takes_over_what_ran_out() -> None:
    async def main() -> None:
        server, clock = Server(), Clock()
        server.hold("other")
        ours = elector(server, clock)
        ours.start()
        await asyncio.wait_for(ours.wait_until_leading(), PATIENCE)
        await ours.stop()
        assert clock.slept[:5] == [pytest.approx(2 * (1 + 1.2 * 0.5))] * 5  # 16 s: the first past 15
        assert server.spec["leaseTransitions"] == 4

    asyncio.run(main())


def test_losing_the_lease_is_told_even_while_the_scheduler_is_blocked(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def main() -> None:
        server, clock = Server(), Clock()
        lost = threading.Event()
        ours = elector(server, clock, on_lost=lost.set)
        ours.start()
        await asyncio.wait_for(ours.wait_until_leading(), PATIENCE)
        server.failing = ConnectionRefusedError("connection refused")
        assert lost.wait(PATIENCE)
        assert not ours.is_leading
        assert not ours.may_act()
        # As long as the others believe in the lease, so did we try: not longer.
        assert clock.now - ours._renewed_at == pytest.approx(12.0)
        await ours.stop()

    asyncio.run(main())
    assert "Failed to renew lease" in caplog.text
    assert "Leaderelection lost" in caplog.text


def test_a_lease_that_another_holds_is_lost_at_once() -> None:
    async def main() -> None:
        server, clock = Server(), Clock()
        lost = threading.Event()
        ours = elector(server, clock, on_lost=lost.set)
        ours.start()
        await asyncio.wait_for(ours.wait_until_leading(), PATIENCE)
        server.hold("other")
        assert lost.wait(PATIENCE)
        await ours.stop()
        assert server.spec["holderIdentity"] == "other"

    asyncio.run(main())


def test_a_short_outage_does_not_end_leadership() -> None:
    async def main() -> None:
        server, clock = Server(), Clock()
        ours = elector(server, clock, on_lost=lambda: pytest.fail("lost"))
        failures = 0

        def fail_four_times() -> None:
            nonlocal failures
            if server.lease is not None and failures < 4:
                failures += 1
                server.failing = Refusal(503)
            else:
                server.failing = None

        server.on_request = fail_four_times
        ours.start()
        await asyncio.wait_for(ours.wait_until_leading(), PATIENCE)
        await until(lambda: failures == 4 and server.requests.count("PUT") > 10)
        assert ours.is_leading
        await ours.stop()

    asyncio.run(main())


def test_may_act_ends_with_the_renew_deadline_even_if_nothing_noticed() -> None:
    async def main() -> None:
        server, clock = Server(), Clock()
        stuck = asyncio.Event()

        async def never(seconds: float) -> None:
            await stuck.wait()

        ours = LeaderElector(server.connect, SETTINGS, identity="me", clock=clock, sleep=never)
        ours.start()
        await asyncio.wait_for(ours.wait_until_leading(), PATIENCE)
        begun = clock.now
        assert ours.may_act()
        assert ours.may_act(begun + 9.9)
        assert not ours.may_act(begun + 10.0)
        clock.now = begun + 34.9
        assert ours.is_leading
        assert ours.healthy()
        clock.now = begun + 35.1
        assert not ours.healthy()
        await ours.stop()
        assert not ours.may_act(begun)

    asyncio.run(main())


@pytest.mark.parametrize(
    ("lease", "renew", "write_seconds", "acts_for"),
    [(15, 10, 5.0, 10.0), (15, 14, 5.0, 10.0), (60, 40, 5.0, 40.0), (6, 4, 2.0, 4.0), (6, 5, 2.0, 4.0)],
)
def test_what_may_begin_ends_within_the_lease(
    lease: int, renew: int, write_seconds: float, acts_for: float
) -> None:
    async def main() -> None:
        settings = LeaderElection(
            resource_name="moorage",
            lease_duration=Duration.of_seconds(lease),
            renew_deadline=Duration.of_seconds(renew),
        )
        server, clock = Server(), Clock()
        stuck = asyncio.Event()

        async def never(seconds: float) -> None:
            await stuck.wait()

        ours = LeaderElector(server.connect, settings, identity="me", clock=clock, sleep=never)
        ours.start()
        await asyncio.wait_for(ours.wait_until_leading(), PATIENCE)
        assert ours.write_seconds == write_seconds
        assert ours.may_act(clock.now + acts_for - 0.1)
        assert not ours.may_act(clock.now + acts_for)
        await ours.stop()

    asyncio.run(main())


def test_a_blocked_scheduler_does_not_hold_up_renewals() -> None:
    async def main() -> None:
        server, clock = Server(), Clock()
        renewed_often = threading.Event()

        def count() -> None:
            if server.requests.count("PUT") >= 20:
                renewed_often.set()

        server.on_request = count
        ours = elector(server, clock)
        ours.start()
        assert renewed_often.wait(PATIENCE)  # blocks this loop
        await ours.stop()

    asyncio.run(main())


def test_what_keeps_it_from_connecting_is_raised_to_who_waits() -> None:
    def broken() -> AbstractAsyncContextManager[Server]:
        raise RuntimeError("no kubeconfig")

    async def main() -> None:
        ours = LeaderElector(broken, SETTINGS)
        ours.start()
        with pytest.raises(RuntimeError, match="no kubeconfig"):
            await asyncio.wait_for(ours.wait_until_leading(), PATIENCE)
        await ours.stop()

    asyncio.run(main())


def test_stopped_while_waiting_it_leaves_the_lease_alone() -> None:
    async def main() -> None:
        server = Server()
        server.hold("other")
        ours = LeaderElector(server.connect, SETTINGS)
        ours.start()
        await until(lambda: server.requests != [])
        waiting = asyncio.create_task(ours.wait_until_leading())
        await asyncio.wait_for(ours.stop(), PATIENCE)
        with pytest.raises(ElectionEnded):
            await waiting
        assert set(server.requests) == {"GET"}

    asyncio.run(main())


def test_can_be_stopped_unstarted_and_started_once() -> None:
    async def main() -> None:
        await elector(Server(), Clock()).stop()
        ours = elector(Server(), Clock())
        ours.start()
        with pytest.raises(RuntimeError, match="already started"):
            ours.start()
        await ours.stop()

    asyncio.run(main())


def test_the_identity_is_the_host_and_a_uuid() -> None:
    ours = LeaderElector(Server().connect, SETTINGS)
    assert re.fullmatch(r".+_[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", ours.identity)


@pytest.mark.parametrize(
    ("lease", "renew", "retry", "message"),
    [(10, 10, 2, "leaseDuration must be greater"), (15, 10, 9, "renewDeadline must be greater")],
)
def test_times_that_cannot_work_are_refused(lease: int, renew: int, retry: int, message: str) -> None:
    seconds = Duration.of_seconds
    settings = LeaderElection(
        lease_duration=seconds(lease), renew_deadline=seconds(renew), retry_period=seconds(retry)
    )
    with pytest.raises(ValueError, match=message):
        LeaderElector(Server().connect, settings)


async def until(condition: Callable[[], bool]) -> None:
    """Lets other threads run until the condition holds."""
    async with asyncio.timeout(PATIENCE):
        while not condition():
            await asyncio.sleep(0)
