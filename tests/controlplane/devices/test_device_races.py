"""Many pods want few devices: each device is somebody's alone, and none is left over."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.controlplane.devices.device_cluster import CLAIMS, DeviceCluster, devices_of
from tests.controlplane.devices.device_documents import devices
from tests.controlplane.devices.device_scenarios import READY
from tests.controlplane.schedulers import Document, condition, moorage
from tests.controlplane.servers import ControlPlane
from tests.faults.gateway import Gateway, lose_answer

LATE_SECONDS = 5.0
WANTED = [f"pod-{number:02}" for number in range(20)]


@pytest.fixture
def cluster(control_plane: ControlPlane) -> Iterator[DeviceCluster]:
    made = DeviceCluster(control_plane)
    made.furnish(nodes=5, devices_each=2)
    yield made
    made.clean_up()


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


def test_preemption_while_a_device_is_not_ready(cluster: DeviceCluster) -> None:
    """Who waits for a device does not have to go, for it is not there yet; it keeps the device."""
    there: Document = {"nodeSelector": {"kubernetes.io/hostname": "n0"}}
    cluster.publish("n0", *devices("slow", **READY))
    high = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}}
    cluster.api.create([{**high, "value": 1000}])
    with moorage(cluster.plane) as process:
        cluster.claim("low")
        cluster.pods("low", requests={"cpu": "20"}, **there)
        process.wait_until("the claim to be written", lambda: devices_of(cluster.claims()["low"]))
        cluster.plain("high", requests={"cpu": "20"}, priorityClassName="high", **there)
        process.wait_until("the other to be bound", lambda: "high" in cluster.bound())
        said = "preempted by DefaultPreemption"
        process.wait_until("what it says", lambda: said in cluster.notes("low"))
        process.wait_until(
            "the end of the reservation", lambda: not cluster.claims()["low"]["status"].get("reservedFor")
        )
    assert "deletionTimestamp" not in cluster.api.pod("low")["metadata"]
    assert devices_of(cluster.claims()["low"]) == [("gpu", "n0", "slow")]


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
