"""Another process takes the lease while many pods wait for their turn to be bound."""

import pytest

from moorage.client.errors import Conflict
from tests.controlplane.servers import wait_for
from tests.faults.scene import LEASES, Scene

pytestmark = pytest.mark.soak

LEASE = "taken-away"
SLOW = 20
"""Requests a second: most pods have their node and wait for their turn to be bound."""


def test_nothing_is_written_after_the_lease_was_lost(scene: Scene, soak: bool) -> None:
    with scene.scheduler(scene.kubeconfig("first"), lease=LEASE, qps=SLOW) as first:
        scene.create_pods(scene.size.pods)
        first.wait_until("the first pods are bound", lambda: scene.bound() > 2)
        wait_for("the lease is another's", lambda: _take(scene, "second"))
        wait_for("the loss is noticed", lambda: "Leaderelection lost" in first.log_text())
        assert first.exit_code(seconds=2 if soak else 10) == 1
        assert "Error scheduling pod" not in first.log_text()
    assert scene.bound() < scene.size.pods
    told = {each["reason"] for each in scene.api.items("events") if each["involvedObject"]["kind"] == "Pod"}
    assert told <= {"Scheduled"}
    conditions = [one for each in scene.api.items("pods") for one in each["status"].get("conditions", ())]
    assert not [each for each in conditions if each["status"] == "False"]
    with scene.scheduler(scene.kubeconfig("second")) as second:
        second.wait_until("all pods are bound", scene.all_bound)
    scene.audit()


def _take(scene: Scene, holder: str) -> bool:
    """Writes the lease as another candidate would."""
    lease = scene.api.request("GET", f"{LEASES}/{LEASE}")
    lease["spec"]["holderIdentity"] = holder
    try:
        return bool(scene.api.request("PUT", f"{LEASES}/{LEASE}", lease))
    except Conflict:
        return False
