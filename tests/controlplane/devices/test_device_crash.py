"""A scheduler is killed between choosing devices and binding pods; another one finishes the work."""

import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from aiohttp import web

from tests.controlplane.devices.device_cluster import CLAIMS, PODS, DeviceCluster, claims_of
from tests.controlplane.devices.device_documents import devices
from tests.controlplane.schedulers import moorage
from tests.controlplane.servers import ControlPlane
from tests.faults.gateway import Action, Gateway, hang, hang_after_commit, pass_on

NAMES = [f"pod-{number}" for number in range(4)]
RESOURCE = "example.com/gpu"


@pytest.fixture
def cluster(control_plane: ControlPlane) -> Iterator[DeviceCluster]:
    made = DeviceCluster(control_plane)
    made.furnish(nodes=2, devices_each=2, extendedResourceName=RESOURCE)
    yield made
    made.clean_up()


MOMENTS = {
    "reserved": (hang, "PUT", rf"{CLAIMS}/[^/]+$"),
    "protected": (hang, "PUT", rf"{CLAIMS}/.+/status"),
    "allocated-without-an-answer": (hang_after_commit, "PUT", rf"{CLAIMS}/.+/status"),
    "allocated": (hang, "POST", f"{PODS}/.+/binding"),
    "bound-without-an-answer": (hang_after_commit, "POST", f"{PODS}/.+/binding"),
}
"""What has happened when the scheduler is killed: how a request ends, and which."""


@pytest.mark.parametrize("moment", MOMENTS)
def test_another_scheduler_finishes(
    cluster: DeviceCluster, gateway: Gateway, tmp_path: Path, moment: str
) -> None:
    kill_at(cluster, gateway, tmp_path, MOMENTS[moment], lambda: cluster.add(*NAMES))
    with moorage(cluster.plane) as process:
        cluster.wait_bound(process)
    cluster.audit()
    assert {
        name: len(each["status"]["reservedFor"]) for name, each in cluster.claims().items()
    } == dict.fromkeys(NAMES, 1)


async def hang_when_told(gateway: Gateway, request: web.Request) -> web.StreamResponse:
    """The pod is not told of its claim; what else is said of it passes."""
    of_claim = b"extendedResourceClaimStatus" in await request.read()
    return await (hang if of_claim else pass_on)(gateway, request)


OF_RESOURCES = {
    "made-without-an-answer": (hang_after_commit, "POST", f"{CLAIMS}$"),
    "made": (hang, "PUT", rf"{CLAIMS}/[^/]+$"),
    "allocated": (hang_when_told, "PATCH", f"{PODS}/.+/status"),
    "told-to-the-pod": (hang, "POST", f"{PODS}/.+/binding"),
}


@pytest.mark.parametrize("moment", OF_RESOURCES)
def test_claims_for_resources_are_made_anew(
    cluster: DeviceCluster, gateway: Gateway, tmp_path: Path, moment: str
) -> None:
    """Those that were left are deleted; then pods wait for anything that changes devices."""

    def add() -> None:
        cluster.plain(*NAMES, requests={"cpu": "100m", RESOURCE: "1"})

    kill_at(cluster, gateway, tmp_path, OF_RESOURCES[moment], add)
    left = set(cluster.claims())
    assert left
    with moorage(cluster.plane) as process:
        process.wait_until("those that were left to be gone", lambda: not left & set(cluster.claims()))
        cluster.publish("n0", *devices("d0", "d1", "d2"))
        cluster.wait_bound(process)
    cluster.audit()
    pods = cluster.api.items("pods")
    assert sorted(name for each in pods for name in claims_of(each)) == sorted(cluster.claims())


def kill_at(
    cluster: DeviceCluster,
    gateway: Gateway,
    folder: Path,
    moment: tuple[Action, str, str],
    add: Callable[[], None],
) -> None:
    """A scheduler gets as far as that with some pods."""
    action, method, path = moment
    with (
        cluster.scheduler_behind(gateway, folder) as process,
        gateway.fault(action, method=method, path=path),
    ):
        add()
        process.wait_until("the moment to kill the scheduler", lambda: len(gateway.hanging) == len(NAMES))
        process.send(signal.SIGKILL)
        process.exit_code(10)
