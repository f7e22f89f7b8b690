"""Many pods want few devices: each device is somebody's alone, and none is left over."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.controlplane.devices.device_cluster import CLAIMS, PODS, DeviceCluster, devices_of
from tests.controlplane.schedulers import Document, condition, moorage
from tests.controlplane.servers import ControlPlane
from tests.faults.gateway import Gateway, any_of, lose_answer, refuse, refuse_after_commit, slow

LATE_SECONDS = 5.0
WANTED = [f"pod-{number:02}" for number in range(20)]


@pytest.fixture
def cluster(control_plane: ControlPlane) -> Iterator[DeviceCluster]:
    made = DeviceCluster(control_plane)
    made.furnish(nodes=5, devices_each=2)
    yield made
    made.clean_up()


@pytest.fixture
def gateway(control_plane: ControlPlane, tmp_path: Path) -> Iterator[Gateway]:
    with Gateway(control_plane.url, control_plane.ca_file, tmp_path) as running:
        yield running


def test_twenty_pods_and_ten_devices(cluster: DeviceCluster) -> None:
    with moorage(cluster.plane) as process:
        cluster.add(*WANTED)

        def decided() -> bool:
            found = cluster.api.pods()
            waiting = [each for each in found.values() if not each["spec"].get("nodeName")]
            return len(waiting) == 10 and all(
                "cannot allocate all claims" in condition(each).get("message", "") for each in waiting
            )

        process.wait_until("ten pods to be bound and ten to wait", decided)
        cluster.audit()
        first = cluster.bound()
        assert sum(len(devices_of(each)) for each in cluster.claims().values()) == 10
        ended = sorted(first)[:6]
        cluster.end(ended)
        process.wait_until("others to follow", lambda: len(cluster.bound()) == 10)
        cluster.audit()
        cluster.end(sorted(set(cluster.bound()) & set(first)))
        cluster.wait_bound(process)
        cluster.audit()


def test_two_pods_with_one_claim(cluster: DeviceCluster) -> None:
    with moorage(cluster.plane) as process:
        for number in range(5):
            cluster.add(f"a-{number}", f"b-{number}", claim_of=f"shared-{number}")
        cluster.wait_bound(process)
    cluster.audit()
    for found in cluster.claims().values():
        assert len(found["status"]["reservedFor"]) == 2


CLAIM_WRITES = f"{CLAIMS}/"
FAULTS = {
    "conflicts": (refuse(409), "PUT", CLAIM_WRITES),
    "slow": (slow(0.5), "", f"{CLAIMS}|{PODS}"),
    "lost-answers": (lose_answer, "PUT", CLAIM_WRITES),
    "errors": (any_of(refuse(500), refuse_after_commit(500)), "PUT", CLAIM_WRITES),
    "lost-binds": (any_of(refuse(500), lose_answer), "POST", "/binding"),
    "refusals": (refuse(403), "", f"{CLAIM_WRITES}|/binding"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_an_api_server_in_trouble(
    cluster: DeviceCluster, gateway: Gateway, tmp_path: Path, fault: str
) -> None:
    """Half of the requests fail, and watches tell late; in the end all who fit are bound."""
    action, method, path = FAULTS[fault]
    with cluster.scheduler_behind(gateway, tmp_path) as process, gateway.late_streams(0.3):
        with gateway.fault(action, method=method, path=path, share=0.5, times=15) as happened:
            cluster.add(*WANTED[:10])
            cluster.wait_bound(process)
        assert happened.happened
    cluster.audit()


def test_a_device_whose_claim_may_be_written(
    cluster: DeviceCluster, gateway: Gateway, tmp_path: Path
) -> None:
    """Nobody else gets it: that no answer came does not mean that nothing was written."""
    with cluster.scheduler_behind(gateway, tmp_path) as process:
        cluster.claim("first", "second")
        cluster.add("seen")
        cluster.wait_bound(process)  # as are the claims, for they came before
        [(_, used, _)] = devices_of(cluster.claims()["seen"])
        there: Document = {"nodeSelector": {"kubernetes.io/hostname": used}}
        with (
            gateway.late_streams(LATE_SECONDS, "/resourceclaims"),
            gateway.fault(lose_answer, method="PUT", path=f"{CLAIMS}/first/status", times=1) as fault,
        ):
            cluster.pods("first", **there)
            process.wait_until("the first to fail", lambda: condition(cluster.api.pod("first")))
            assert fault.happened
            cluster.pods("second", **there)
            process.wait_until("the second to wait", lambda: condition(cluster.api.pod("second")))
        process.wait_until("the first to be bound", lambda: "first" in cluster.bound())
    assert "second" not in cluster.bound()
    cluster.audit()
