"""Requests fail, get lost and take long; in the end every pod has its device, and no device two claims."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.controlplane.devices.device_cluster import CLAIMS, PODS, DeviceCluster
from tests.controlplane.servers import ControlPlane
from tests.faults.gateway import (
    Gateway,
    any_of,
    cut,
    lose_answer,
    refuse,
    refuse_after_commit,
    slow,
)

WANTED = [f"pod-{number}" for number in range(10)]
MOST = 10
"""Requests that are spoiled: whoever fails again and again waits longer and longer."""


@pytest.fixture
def cluster(control_plane: ControlPlane) -> Iterator[DeviceCluster]:
    made = DeviceCluster(control_plane)
    made.furnish(nodes=5, devices_each=2)
    yield made
    made.clean_up()


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
        with gateway.fault(action, method=method, path=path, share=0.5, times=MOST) as happened:
            cluster.add(*WANTED)
            cluster.wait_bound(process)
        assert happened.happened
    cluster.audit()


LOST = {"answers": lose_answer, "requests": cut}


@pytest.mark.parametrize("lost", LOST)
def test_what_a_pod_gave_back_may_have_been_written_or_not(
    cluster: DeviceCluster, gateway: Gateway, tmp_path: Path, lost: str
) -> None:
    """Binds are refused, and nobody says whether the reservations were ended; watches tell late."""
    with (
        cluster.scheduler_behind(gateway, tmp_path) as process,
        gateway.late_streams(3.0, path="resourceclaims"),
        gateway.fault(refuse(500), method="POST", path="/binding", times=MOST) as refused,
        gateway.fault(LOST[lost], method="PATCH", path=CLAIM_WRITES, times=MOST) as happened,
    ):
        cluster.add(*WANTED)
        cluster.wait_bound(process)
        assert refused.happened == happened.happened == MOST
    cluster.audit()
