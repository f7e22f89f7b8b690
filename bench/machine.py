"""What a run was measured on, for those who read its results."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import moorage
from tests.controlplane.go_programs import ETCD, KUBERNETES_VERSION, VERSIONS

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "bench" / "results"


def describe() -> dict[str, Any]:
    return {
        "cpu": _field("/proc/cpuinfo", "model name"),
        "cores": len(os.sched_getaffinity(0)),
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1),
        "kernel": platform.release(),
        "python": platform.python_version(),
        "moorage": moorage.__version__,
        "kubernetes": KUBERNETES_VERSION,
        "etcd": VERSIONS[ETCD],
        "commit": _commit(),
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
    }


def write_results(benchmark: str, found: Any) -> Path:
    """Keeps what was found in a file of its own, with the machine; returns it."""
    RESULTS.mkdir(exist_ok=True)
    file = RESULTS / f"{benchmark}-{time.strftime('%Y-%m-%d-%H%M%S')}.json"
    file.write_text(json.dumps({"machine": describe(), benchmark: found}, indent=2) + "\n")
    return file


def _field(file: str, name: str) -> str:
    try:
        lines = Path(file).read_text().splitlines()
    except OSError:
        return "unknown"
    return next((line.partition(":")[2].strip() for line in lines if line.startswith(name)), "unknown")


def _commit() -> str:
    """The commit that is measured; a `+` behind it says that files differ from it."""
    command = ["git", "-C", str(ROOT), "describe", "--always", "--dirty=+", "--exclude=*"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
