"""Several electors, one lease, a real API server."""

import asyncio
import contextlib
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from moorage.api.durations import Duration
from moorage.client.connection import from_kubeconfig
from moorage.client.http import HttpClient
from moorage.config.types import LeaderElection
from moorage.process.leader_election import LeaderElector
from tests.controlplane.servers import ControlPlane, wait_for

ROOT = Path(__file__).parents[2]
PATIENCE = 30.0
LEASE_SECONDS = 3

HOLDER = """
import asyncio, sys
from moorage.client.connection import from_kubeconfig
from moorage.client.http import HttpClient
from moorage.config.types import LeaderElection
from moorage.process.leader_election import LeaderElector
from tests.controlplane.test_leader_election import settings

async def main(kubeconfig, name):
    connection = from_kubeconfig(kubeconfig)
    elector = LeaderElector(lambda: HttpClient(connection), settings(name), identity="holder")
    elector.start()
    await elector.wait_until_leading()
    print("leading", flush=True)
    await asyncio.sleep(3600)

asyncio.run(main(*sys.argv[1:]))
"""


def settings(name: str) -> LeaderElection:
    return LeaderElection(
        lease_duration=Duration.of_seconds(LEASE_SECONDS),
        renew_deadline=Duration.of_seconds(2),
        retry_period=Duration.parse("300ms"),
        resource_name=name,
    )


def elector(
    control_plane: ControlPlane, name: str, identity: str, on_lost: Callable[[], None] | None = None
) -> LeaderElector:
    def connect() -> HttpClient:
        return HttpClient(from_kubeconfig(str(control_plane.kubeconfig)))

    return LeaderElector(connect, settings(name), identity=identity, on_lost=on_lost)


def lease(control_plane: ControlPlane, name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(
        control_plane.kubectl("get", "lease", name, "-n", "kube-system", "-o", "json")
    )
    return found


@contextlib.contextmanager
def other_process(control_plane: ControlPlane, name: str) -> Iterator[subprocess.Popen[str]]:
    """A process that leads."""
    command = [sys.executable, "-c", HOLDER, str(control_plane.kubeconfig), name]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "leading\n"
            yield process
        finally:
            process.kill()


def test_one_leads_and_when_it_stops_the_other_takes_over(control_plane: ControlPlane) -> None:
    name = "handed-over"

    async def main() -> None:
        first, second = (elector(control_plane, name, identity) for identity in ("first", "second"))
        first.start()
        await asyncio.wait_for(first.wait_until_leading(), PATIENCE)
        second.start()
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(second.wait_until_leading(), LEASE_SECONDS * 1.5)
        assert (first.may_act(), second.may_act()) == (True, False)
        assert lease(control_plane, name)["spec"]["holderIdentity"] == "first"

        await first.stop()
        begun = time.monotonic()
        await asyncio.wait_for(second.wait_until_leading(), PATIENCE)
        assert time.monotonic() - begun < LEASE_SECONDS
        assert (first.may_act(), second.may_act()) == (False, True)
        taken = lease(control_plane, name)["spec"]
        assert (taken["holderIdentity"], taken["leaseTransitions"]) == ("second", 1)

        await second.stop()
        released = lease(control_plane, name)["spec"]
        assert (released["holderIdentity"], released["leaseDurationSeconds"]) == ("", 1)

    asyncio.run(main())

    def notes() -> set[str]:
        query = f"involvedObject.name={name},reason=LeaderElection"
        events = control_plane.kubectl(
            "get", "events", "-n", "kube-system", f"--field-selector={query}", "-o", "json"
        )
        return {event["message"] for event in json.loads(events)["items"]}

    everyone = {"first became leader", "second became leader"}
    wait_for("the events of both leaders", lambda: notes() == everyone)


def test_a_killed_holder_is_followed_after_the_lease_has_run_out(control_plane: ControlPlane) -> None:
    name = "killed"

    async def follow(holder: subprocess.Popen[str]) -> float:
        ours = elector(control_plane, name, "follower")
        ours.start()
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(ours.wait_until_leading(), LEASE_SECONDS * 1.5)
        holder.kill()
        killed = time.monotonic()
        await asyncio.wait_for(ours.wait_until_leading(), PATIENCE)
        after = time.monotonic() - killed
        await ours.stop()
        return after

    with other_process(control_plane, name) as holder:
        after = asyncio.run(follow(holder))
    # The last renewal was up to a retry period before the end.
    assert LEASE_SECONDS - 1 < after < LEASE_SECONDS + 5


def test_a_deposed_leader_is_told(control_plane: ControlPlane) -> None:
    name = "deposed"

    async def main() -> None:
        lost = asyncio.Event()
        ours = elector(control_plane, name, "deposed", lost.set)
        ours.start()
        await asyncio.wait_for(ours.wait_until_leading(), PATIENCE)
        patch = json.dumps({"spec": {"holderIdentity": "somebody else"}})
        control_plane.kubectl("patch", "lease", name, "-n", "kube-system", "--type=merge", "-p", patch)
        await asyncio.wait_for(lost.wait(), PATIENCE)
        assert not ours.may_act()
        await ours.stop()

    asyncio.run(main())
    assert lease(control_plane, name)["spec"]["holderIdentity"] == "somebody else"
