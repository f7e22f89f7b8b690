"""An API server that keeps a record of all requests, with a few large nodes, for each module."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.controlplane.observing import NODES, audited
from tests.controlplane.schedulers import Api, node
from tests.controlplane.servers import ControlPlane


@pytest.fixture(scope="module")
def control_plane() -> Iterator[ControlPlane]:
    yield from audited()


@pytest.fixture(scope="module")
def api(control_plane: ControlPlane) -> Api:
    opened = Api(control_plane)
    opened.create(node(f"node-{number}", cpu="51") for number in range(NODES))
    return opened


@pytest.fixture(autouse=True)
def no_pods_left(api: Api) -> Iterator[None]:
    yield
    api.delete_all("pods")
