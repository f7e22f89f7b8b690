import contextlib
import os
from collections.abc import Iterator

import pytest

from tests.controlplane import build
from tests.controlplane.servers import ControlPlane


@pytest.fixture(scope="module")
def control_plane(pytestconfig: pytest.Config) -> Iterator[ControlPlane]:
    """A control plane for the tests of one module; the first use on a machine builds its programs."""
    if reason := build.available():
        if os.environ.get("CONTROL_PLANE_REQUIRED"):
            pytest.fail(f"no control plane: {reason}")
        pytest.skip(f"no control plane: {reason}")
    capture = pytestconfig.pluginmanager.getplugin("capturemanager")
    # A build takes minutes: let its progress be seen.
    with capture.global_and_fixture_disabled() if capture else contextlib.nullcontext():
        programs = build.assets()
    assert programs is not None
    with ControlPlane(programs) as running:
        yield running
