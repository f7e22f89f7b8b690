from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.controlplane.programs import programs_for
from tests.controlplane.servers import ControlPlane
from tests.embedded.clusters import Embedded, Kubectl
from tests.embedded.comparing import Pair

MANIFESTS = Path(__file__).parent / "manifests"


@pytest.fixture(scope="module")
def programs(pytestconfig: pytest.Config) -> Path:
    """The control plane's programs; kubectl is one of them."""
    return programs_for(pytestconfig)


@pytest.fixture(scope="module")
def embedded(programs: Path) -> Iterator[Embedded]:
    """A whole embedded cluster for the tests of one module."""
    with Embedded() as running:
        yield running


@pytest.fixture(scope="module")
def kubectl(embedded: Embedded) -> Kubectl:
    return embedded.kubectl


@pytest.fixture(scope="module")
def pair(programs: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    """Our API server and the real one, alone, each with a service account in the namespace `default`."""
    caches = tmp_path_factory.mktemp("kubectl")
    real_server = ControlPlane(
        programs,
        disabled_admission=["TaintNodesByCondition"],
        apiserver_flags=["--service-cluster-ip-range=10.96.0.0/16"],
    )
    with Embedded(alone=True) as ours, real_server as real:
        found = Pair(
            Kubectl(ours.kubeconfig, caches / "ours", MANIFESTS),
            Kubectl(real.kubeconfig, caches / "real", MANIFESTS),
        )
        found.prepare("apply -f default-account.yaml")
        yield found
