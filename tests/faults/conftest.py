from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.controlplane.programs import programs_for
from tests.controlplane.servers import ControlPlane
from tests.faults.audit import POLICY
from tests.faults.history import FLAGS
from tests.faults.scene import LARGE, SMALL, Scene, Size


@pytest.fixture(scope="module")
def plane(pytestconfig: pytest.Config) -> Iterator[ControlPlane]:
    """A control plane whose history and requests can be read afterwards."""
    with ControlPlane(
        programs_for(pytestconfig), apiserver_flags=FLAGS, audit=True, audit_policy=POLICY
    ) as running:
        yield running


@pytest.fixture
def size(soak: bool) -> Size:
    return LARGE if soak else SMALL


@pytest.fixture
def scene(plane: ControlPlane, size: Size, tmp_path: Path) -> Iterator[Scene]:
    """An empty cluster with nodes; whatever a test did to it is audited by the test."""
    made = Scene(plane, size, tmp_path)
    yield made
    made.clean_up()
