"""Another commit's Moorage, to be measured in turns with this one."""

import subprocess
import sys
from pathlib import Path

import pytest

from bench.before import source_of
from bench.bounds import Unavailable
from bench.decisions import in_process_of_its_own, source_used
from bench.machine import ROOT

pytestmark = pytest.mark.skipif(not (ROOT / ".git").exists(), reason="not a git repository")


def test_the_moorage_measured_is_that_of_the_commit() -> None:
    with source_of("HEAD") as source:
        assert source_used(source) == source / "moorage" / "__init__.py"
        assert source_used(ROOT / "src") == ROOT / "src" / "moorage" / "__init__.py"
        assert in_process_of_its_own("plain", 20, 0, source).microseconds > 0
    assert not Path(source).exists()


def test_one_that_knew_no_devices_can_be_measured() -> None:
    asked = "import sys, bench.decisions; print('moorage.api.devices' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", asked], cwd=ROOT, check=True, capture_output=True, text=True)
    assert done.stdout == "False\n"


def test_unknown_commit_is_named() -> None:
    with (
        pytest.raises(Unavailable, match=r"commit no-such-commit cannot be had: .*; name one that"),
        source_of("no-such-commit"),
    ):
        pass
