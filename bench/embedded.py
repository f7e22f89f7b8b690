"""The embedded cluster: how soon it is ready, and how fast it schedules."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple, Self

from bench.bounds import Check, Outcomes
from bench.drain.draining import Drained
from bench.drain.loading import load
from bench.drain.schedulers import usage
from bench.drain.watching import watched
from bench.drain.workload import SCHEDULER, Size, Workload
from moorage.client.connection import from_kubeconfig
from moorage.client.http import HttpClient
from tests.controlplane.schedulers import MOORAGE
from tests.controlplane.servers import Program, wait_for

_GIVE_UP = 120.0
_CONFIG = f"""\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles: [{{schedulerName: {SCHEDULER}}}]
"""


def measure() -> Outcomes:
    print("\nembedded cluster", flush=True)
    for nodes, bound in ((10, 2.0), (5000, 15.0)):
        with _up(f"--nodes={nodes}") as running:
            yield Check(f"ready with {nodes} nodes", running.seconds, bound, "s")


class _Running(NamedTuple):
    program: Program
    kubeconfig: Path
    ready: float
    seconds: float
    """Until it was ready."""


@contextmanager
def _up(*flags: str) -> Iterator[_Running]:
    """A running `moorage up` that is ready."""
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        kubeconfig = Path(folder) / "kubeconfig"
        started = time.monotonic()
        program = Program(MOORAGE, ["up", f"--kubeconfig={kubeconfig}", *flags], Path(folder) / "up.log")

        def is_ready() -> bool:
            program.check_running()
            return kubeconfig.exists()

        try:
            wait_for("readiness of moorage up", is_ready, seconds=_GIVE_UP)
            ready = time.monotonic()
            yield _Running(program, kubeconfig, ready, ready - started)
        finally:
            program.stop()


class Backlog:
    """The data of a cluster in which many pods wait, for the length of a `with` block."""

    def __init__(self, workload: Workload, size: Size) -> None:
        self._workload = workload
        self._size = size

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            self._folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="bench-")))
            self._data = self._folder / "backlog"
            with _up(f"--data={self._data}", f"--nodes={self._size.nodes}", "--no-scheduler") as running:
                self._pods = asyncio.run(self._load(running.kubeconfig))
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    async def _load(self, kubeconfig: Path) -> set[str]:
        async with HttpClient(from_kubeconfig(str(kubeconfig)), qps=-1) as client:
            return await load(client, self._workload, self._size, "embedded")

    def drain(self) -> Drained:
        """How the embedded cluster fares with it, as a whole. Its first bind is when it was ready."""
        data, config = self._folder / "copy", self._folder / "scheduler.yaml"
        shutil.copyfile(self._data, data)
        config.write_text(_CONFIG)
        with _up(f"--data={data}", "--nodes=0", f"--config={config}") as running:
            rate = asyncio.run(_rate(running, self._pods))
            cpu, megabytes = usage(running.program.pid)
        return Drained(running.seconds, rate, cpu / len(self._pods) * 1000, megabytes)


async def _rate(running: _Running, pods: set[str]) -> float:
    """Pods that get their nodes per second, from readiness to the last pod."""
    connection = from_kubeconfig(str(running.kubeconfig))
    async with HttpClient(connection, qps=-1) as client, watched(client, pods) as binds:
        await binds.wait(running.program)
    return len(pods) / (max(binds.times.values()) - running.ready)
