"""Requests and answers go wrong on the way to the API server; one scheduler lives through all of it."""

from collections.abc import Iterator

import pytest

from tests.controlplane.schedulers import Moorage
from tests.controlplane.servers import ControlPlane
from tests.faults.gateway import Gateway, lose_answer
from tests.faults.scene import SMALL, Scene

BINDING = "/binding$"


@pytest.fixture(scope="module")
def gateway(plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    with Gateway(plane.url, plane.ca_file, tmp_path_factory.mktemp("gateway")) as running:
        yield running


@pytest.fixture(scope="module")
def scheduler(
    plane: ControlPlane, gateway: Gateway, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Moorage]:
    scene = Scene(plane, SMALL, tmp_path_factory.mktemp("scheduler"))
    scene.clean_up()
    kubeconfig = scene.kubeconfig("moorage", gateway.url, gateway.ca_file)
    with scene.scheduler(kubeconfig, serve=True) as running:
        yield running


def test_the_answer_to_a_bind_is_lost_after_it_was_committed(
    scene: Scene, gateway: Gateway, scheduler: Moorage
) -> None:
    with gateway.fault(lose_answer, method="POST", path=BINDING, share=0.5) as fault:
        scene.create_pods(scene.size.pods)
        scheduler.wait_until("all pods are bound", scene.all_bound)
    assert fault.happened > scene.size.pods / 4
    scene.audit()
