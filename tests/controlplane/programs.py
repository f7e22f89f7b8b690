"""The control plane's programs for a test."""

import contextlib
import os
from pathlib import Path

import pytest

from tests.controlplane import build


def programs_for(config: pytest.Config) -> Path:
    """The folder with the programs, which the first use on a machine builds.

    Where they cannot be had the test is skipped, or fails if `CONTROL_PLANE_REQUIRED` is set.
    """
    if reason := build.available():
        if os.environ.get("CONTROL_PLANE_REQUIRED"):
            pytest.fail(f"no control plane: {reason}")
        pytest.skip(f"no control plane: {reason}")
    capture = config.pluginmanager.getplugin("capturemanager")
    # A build takes minutes: let its progress be seen.
    with capture.global_and_fixture_disabled() if capture else contextlib.nullcontext():
        programs = build.assets()
    assert programs is not None
    return programs
