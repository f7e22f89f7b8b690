"""The schedulers as processes, and what a process has used."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from bench.drain.workload import SCHEDULER
from tests.controlplane.schedulers import MOORAGE as MOORAGE_PROGRAM
from tests.controlplane.servers import Program

MOORAGE, ORIGINAL = "moorage run", "kube-scheduler"
_CONFIG = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection: {{leaderElect: false}}
clientConnection: {{kubeconfig: {kubeconfig}, qps: 5000, burst: 5000}}
profiles: [{{schedulerName: {name}}}]
"""


class Scheduler(NamedTuple):
    name: str
    program: Path
    arguments: tuple[str, ...]
    log: Path

    @contextmanager
    def running(self) -> Iterator[Program]:
        program = Program(self.program, self.arguments, self.log)
        try:
            yield program
        finally:
            program.stop()


def schedulers(programs: Path, kubeconfig: Path, folder: Path) -> tuple[Scheduler, Scheduler]:
    """Moorage and the original, with the same configuration; their files are in the folder."""
    config = folder / "scheduler.yaml"
    config.write_text(_CONFIG.format(kubeconfig=kubeconfig, name=SCHEDULER))
    flags = (f"--config={config}", "--secure-port=0")
    return (
        Scheduler(MOORAGE, MOORAGE_PROGRAM, ("run", *flags), folder / "moorage.log"),
        Scheduler(ORIGINAL, programs / "kube-scheduler", flags, folder / "kube-scheduler.log"),
    )


class Usage(NamedTuple):
    cpu: float
    """Seconds, user and system."""
    megabytes: float
    """At the peak."""


def usage(pid: int) -> Usage:
    """What a process has used since it was started."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
    ticks = int(fields[11]) + int(fields[12])
    status = Path(f"/proc/{pid}/status").read_text()
    peak = next(line for line in status.splitlines() if line.startswith("VmHWM"))
    return Usage(ticks / os.sysconf("SC_CLK_TCK"), int(peak.split()[1]) / 1024)
