"""Several instances, one leader: what happens when it dies, hangs, is deposed or is told to stop."""

import contextlib
import signal
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.controlplane.observing import Assignments, bound_more_than_once, overcommitted
from tests.controlplane.schedulers import Api, Document, Moorage, configuration, moorage, pod
from tests.controlplane.servers import ControlPlane

PODS = 1000
LEASE_SECONDS = 4
LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"

PLUGINS = '''
import asyncio
import time

from moorage import PreBindPlugin, PreFilterPlugin


class Blocker(PreFilterPlugin):
    """Holds everything up for as many seconds as the pod says."""

    def pre_filter(self, cycle, pod):
        time.sleep(float(pod.labels.get("block", "0")))


class SlowBind(PreBindPlugin):
    """Takes a while before a pod is bound."""

    async def pre_bind(self, cycle, pod, node_name):
        await asyncio.sleep(float(pod.labels.get("slow", "0")))
'''

pytestmark = pytest.mark.soak


@pytest.fixture
def plugin_file(tmp_path: Path) -> Path:
    file = tmp_path / "plugins.py"
    file.write_text(PLUGINS)
    return file


def elected(plane: ControlPlane, lease: str, *plugins: str) -> Document:
    election = {
        "leaseDuration": f"{LEASE_SECONDS}s",
        "renewDeadline": "3s",
        "retryPeriod": "1s",
        "resourceName": lease,
    }
    config = configuration(plane, election=election)
    config["profiles"][0]["plugins"] = {"multiPoint": {"enabled": [{"name": name} for name in plugins]}}
    return config


@contextlib.contextmanager
def waiting_instance(plane: ControlPlane, lease: str) -> Iterator[Moorage]:
    """An instance whose turn has not come yet."""
    with moorage(plane, config=elected(plane, lease), ready=False) as process:
        trying = "Attempting to acquire leader lease"
        process.wait_until(trying, lambda: trying in process.log_text())
        yield process


def holder(api: Api, lease: str) -> str:
    found: str = api.request("GET", f"{LEASES}/{lease}")["spec"]["holderIdentity"]
    return found


def test_a_killed_leader_is_followed_in_the_middle_of_its_work(control_plane: ControlPlane, api: Api) -> None:
    config = elected(control_plane, "killed")
    # Slow enough that most of the work is left.
    config["clientConnection"].update(qps=150, burst=10)
    with Assignments(control_plane) as assignments, moorage(control_plane, config=config) as first:
        with waiting_instance(control_plane, "killed") as second:
            before = holder(api, "killed")
            api.create(pod(f"pod-{number}", requests={"cpu": "1"}) for number in range(PODS))
            first.wait_until("some binds", lambda: assignments.seen() > 50)
            first.send(signal.SIGKILL)
            first.exit_code(10)
            done = len(api.bound())
            assert 50 < done < PODS
            second.wait_until("all pods are bound", lambda: assignments.seen() == PODS)
            assert holder(api, "killed") not in ("", before)
        assert assignments.moved() == {}
    assert bound_more_than_once(control_plane) == {}
    assert overcommitted(api) == {}


def test_a_loop_that_hangs_keeps_the_lease(control_plane: ControlPlane, api: Api, plugin_file: Path) -> None:
    seconds = 12
    config = elected(control_plane, "hanging", "Blocker")
    flags = (f"--plugin={plugin_file}", "--plugin-timeout=0")
    with moorage(control_plane, *flags, config=config) as first:
        before = holder(api, "hanging")
        with waiting_instance(control_plane, "hanging") as second:
            began = time.monotonic()
            api.create([pod("hanging", labels={"block": str(seconds)})])
            first.wait_until("the bind", lambda: "hanging" in api.bound())
            assert time.monotonic() - began >= seconds
            assert holder(api, "hanging") == before
            assert "Successfully acquired lease" not in second.log_text()
            first.check_running()


def test_a_deposed_leader_does_nothing_any_more(
    control_plane: ControlPlane, api: Api, plugin_file: Path
) -> None:
    seconds = 12
    config = elected(control_plane, "deposed", "Blocker")
    high = {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": "high"},
        "value": 1000,
    }
    api.create([high, pod("victim", nodeName="node-0", requests={"cpu": "50"})])
    flags = (f"--plugin={plugin_file}", "--plugin-timeout=0", "-v=3")
    with moorage(control_plane, *flags, config=config) as process:
        block, there = {"block": str(seconds)}, {"kubernetes.io/hostname": "node-0"}
        preemptor = pod("preemptor", requests={"cpu": "50"}, nodeSelector=there, priorityClassName="high")
        preemptor["metadata"]["labels"] = {"block": "0.5"}
        api.create([pod("blocked", labels=block)])
        process.wait_until("the block", lambda: "Attempting to schedule pod" in process.log_text())
        # By the time its turn comes, somebody else leads.
        api.create([preemptor])
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        lease = api.request("GET", f"{LEASES}/deposed")
        lease["spec"].update(holderIdentity="thief", leaseDurationSeconds=60, renewTime=now, acquireTime=now)
        api.request("PUT", f"{LEASES}/deposed", lease)
        assert process.exit_code(seconds + 15) == 1
        assert "Leaderelection lost" in process.log_text()
    assert api.bound() == {"victim": "node-0"}
    assert "deletionTimestamp" not in api.pod("victim")["metadata"]
    assert {"default/blocked", "default/preemptor"}.isdisjoint(
        request.pod for request in control_plane.bindings()
    )
    assert holder(api, "deposed") == "thief"


def test_a_leader_that_is_told_to_stop_finishes_and_hands_over(
    control_plane: ControlPlane, api: Api, plugin_file: Path
) -> None:
    config = elected(control_plane, "stopped", "SlowBind")
    with moorage(control_plane, f"--plugin={plugin_file}", "-v=3", config=config) as process:
        assert holder(api, "stopped")
        api.create(pod(f"slow-{number}", labels={"slow": "1"}) for number in range(5))
        tried = "Attempting to schedule pod"
        process.wait_until("five tries", lambda: process.log_text().count(tried) == 5)
        assert api.bound() == {}
        process.send(signal.SIGTERM)
        assert process.exit_code(15) == 0
    assert api.bound().keys() == {f"slow-{number}" for number in range(5)}
    assert holder(api, "stopped") == ""
    lease = api.request("GET", f"{LEASES}/stopped")["spec"]
    assert lease["leaseDurationSeconds"] == 1
