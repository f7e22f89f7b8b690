"""One workload, in turns with both schedulers on a control plane of its own."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.drain.draining import Drained, drain
from bench.drain.loading import fill
from bench.drain.schedulers import Scheduler, schedulers
from bench.drain.workload import Size, Workload
from moorage.client.connection import from_kubeconfig
from moorage.client.http import HttpClient
from tests.controlplane.servers import ControlPlane

_FLAGS = ("--delete-collection-workers=16",)  # between runs, thousands of pods are deleted at once


def contest(
    programs: Path, workload: Workload, size: Size, rounds: int, note: Callable[[str, int, Drained], None]
) -> dict[str, list[Drained]]:
    """All runs of each scheduler. Who begins changes with every round."""
    with control_plane(programs, workload, size) as (plane, both):
        found: dict[str, list[Drained]] = {scheduler.name: [] for scheduler in both}
        for number in range(1, rounds + 1):
            for scheduler in in_turn(both, number):
                prefix = f"{scheduler.name.split()[0]}-{number}"
                run = asyncio.run(drain(plane.kubeconfig, scheduler, workload, size, prefix))
                found[scheduler.name].append(run)
                note(scheduler.name, number, run)
    return found


def in_turn(both: tuple[Scheduler, Scheduler], number: int) -> tuple[Scheduler, Scheduler]:
    first, second = both
    return (first, second) if number % 2 else (second, first)


@contextmanager
def control_plane(
    programs: Path, workload: Workload, size: Size
) -> Iterator[tuple[ControlPlane, tuple[Scheduler, Scheduler]]]:
    """A fresh one, with the nodes of the workload in it, and the schedulers for it."""
    with (
        tempfile.TemporaryDirectory(prefix="bench-") as folder,
        ControlPlane(programs, apiserver_flags=_FLAGS) as plane,
    ):
        asyncio.run(_fill(plane.kubeconfig, workload, size))
        yield plane, schedulers(programs, plane.kubeconfig, Path(folder))


async def _fill(kubeconfig: Path, workload: Workload, size: Size) -> None:
    async with HttpClient(from_kubeconfig(str(kubeconfig)), qps=-1) as client:
        await fill(client, workload, size)
