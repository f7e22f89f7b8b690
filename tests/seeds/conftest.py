from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.controlplane.programs import programs_for
from tests.controlplane.servers import ControlPlane
from tests.embedded.clusters import Embedded, Kubectl
from tests.seeds.common import Cluster

RUN_IMAGE = "custom-scheduler:latest"
"""Containers of this image really run in the embedded cluster."""


@pytest.fixture(scope="module", params=["embedded", "real"])
def cluster(
    request: pytest.FixtureRequest, pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Cluster]:
    """Each kind of cluster in turn, empty, for the tests of one module."""
    programs = programs_for(pytestconfig)

    def kubectl(kubeconfig: Path) -> Kubectl:
        return Kubectl(kubeconfig, tmp_path_factory.mktemp("kubectl-cache"))

    if request.param == "embedded":
        with Embedded("--no-scheduler", "--nodes=0", f"--run-image={RUN_IMAGE}") as up:
            yield Cluster(True, up.kubeconfig, up.token, kubectl(up.kubeconfig))
    else:
        with ControlPlane(programs, disabled_admission=()) as plane:
            # What the controllers make in every namespace, and pods cannot do without.
            for namespace in ("default", "kube-system"):
                plane.kubectl("create", "serviceaccount", "default", "-n", namespace)
            yield Cluster(False, plane.kubeconfig, plane.admin_token, kubectl(plane.kubeconfig))
