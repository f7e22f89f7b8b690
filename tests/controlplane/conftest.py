from collections.abc import Iterator

import pytest

from tests.controlplane.programs import programs_for
from tests.controlplane.servers import ControlPlane


@pytest.fixture(scope="module")
def control_plane(pytestconfig: pytest.Config) -> Iterator[ControlPlane]:
    """A control plane for the tests of one module."""
    with ControlPlane(programs_for(pytestconfig)) as running:
        yield running
