"""How long `moorage --help` takes."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from bench.bounds import Check, Outcomes

_RUNS = 7


def measure() -> Outcomes:
    command = [str(Path(sys.executable).parent / "moorage"), "--help"]
    best = min(_timed(command) for _ in range(_RUNS))
    yield Check("moorage --help", best, 0.5, "s")


def _timed(command: list[str]) -> float:
    started = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - started
