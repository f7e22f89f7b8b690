"""A Dask scheduler and workers, each in a process of its own on loopback."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

from distributed import Client

from tests.docs.blocks import ROOT

_HERE = (ROOT / "src", ROOT)

_AT_MOST = "600"
"""So many seconds they live on, if nobody stops them."""


class DaskCluster(NamedTuple):
    folder: Path
    address: str
    scheduler: subprocess.Popen[str]
    workers: list[subprocess.Popen[str]]


@contextmanager
def dask_cluster(folder: Path, workers: int, import_from: Sequence[Path] = _HERE) -> Iterator[DaskCluster]:
    """Workers keep their files in the folder, and work there."""
    with ExitStack() as stack:
        listen = ("--host", "127.0.0.1", "--port", "0", "--dashboard-address", "127.0.0.1:0")
        scheduler = stack.enter_context(
            _program(folder, _HERE, "scheduler", *listen, "--no-dashboard", "--idle-timeout", f"{_AT_MOST}s")
        )
        address = _address(scheduler)
        here = ("--host", "127.0.0.1", "--no-nanny", "--no-dashboard", "--dashboard-address", "127.0.0.1:0")
        started = [
            stack.enter_context(
                _program(
                    folder,
                    import_from,
                    "worker",
                    address,
                    *here,
                    "--nthreads",
                    "1",
                    "--death-timeout",
                    _AT_MOST,
                )
            )
            for _ in range(workers)
        ]
        if workers:
            with Client(address, timeout=60, set_as_default=False) as client:
                client.wait_for_workers(workers, timeout=60)
        yield DaskCluster(folder, address, scheduler, started)


@contextmanager
def _program(folder: Path, import_from: Sequence[Path], *args: str) -> Iterator[subprocess.Popen[str]]:
    # A worker whose test was killed with its scheduler may be busy for ever.
    bounded = ["sh", "-c", 'ulimit -t 120; exec "$@"', "sh"]
    with subprocess.Popen(
        [*bounded, sys.executable, "-m", "dask", *args],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        cwd=folder,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(map(str, import_from)),
            "DASK_TEMPORARY_DIRECTORY": str(folder),
        },
    ) as process:
        try:
            yield process
        finally:
            process.kill()
            process.communicate()


def _address(scheduler: subprocess.Popen[str]) -> str:
    assert scheduler.stderr is not None
    said = []
    for line in scheduler.stderr:
        said.append(line)
        if found := re.search(r"Scheduler at: +(tcp://\S+)", line):
            return found.group(1)
    raise AssertionError("".join(said))
