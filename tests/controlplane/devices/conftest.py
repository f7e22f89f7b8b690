from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.controlplane.servers import ControlPlane
from tests.faults.gateway import Gateway


@pytest.fixture
def gateway(control_plane: ControlPlane, tmp_path: Path) -> Iterator[Gateway]:
    """In front of the API server, for one test."""
    with Gateway(control_plane.url, control_plane.ca_file, tmp_path) as running:
        yield running
