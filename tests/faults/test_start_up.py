"""A start while the API server leaves something unanswered."""

import pytest

from tests.controlplane.servers import ControlPlane
from tests.faults.gateway import Gateway, hang
from tests.faults.scene import Scene

pytestmark = pytest.mark.soak

REVIEWS = "/selfsubjectaccessreviews"


def test_the_check_of_permissions_holds_up_nothing(scene: Scene, plane: ControlPlane) -> None:
    with (
        Gateway(plane.url, plane.ca_file, scene.folder) as gateway,
        gateway.fault(hang, path=REVIEWS) as fault,
    ):
        kubeconfig = scene.kubeconfig("moorage", gateway.url, gateway.ca_file)
        with scene.scheduler(kubeconfig, lease="hung-reviews", ready=False) as running:
            scene.create_pods(scene.size.pods)
            running.wait_until("all pods are bound", scene.all_bound)
            assert fault.happened
            assert "Missing permission" not in running.log_text()
    scene.audit(lease="hung-reviews")
