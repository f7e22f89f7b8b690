"""How NumPy is loaded for a scheduler."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

_PROGRAM = """
import os
from moorage.cli.running.one_thread import load_numpy
load_numpy()
import numpy
print(len(os.listdir("/proc/self/task")), os.environ.get("OPENBLAS_NUM_THREADS"))
"""


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="threads are counted as Linux shows them")
@pytest.mark.parametrize("given", [None, "3"])
def test_numpy_has_no_threads_unless_the_environment_wants_some(given: str | None) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")}
    if given is not None:
        environment["OPENBLAS_NUM_THREADS"] = given
    found = subprocess.run(
        [sys.executable, "-c", _PROGRAM], env=environment, capture_output=True, text=True, check=True
    )
    threads, left = found.stdout.split()
    assert left == str(given)
    assert (int(threads) == 1) is (given is None)
