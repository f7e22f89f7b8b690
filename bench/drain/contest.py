"""A workload, in turns with all who take part, on a control plane of its own."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import TypeVar

from bench.drain.draining import Drained, drain
from bench.drain.loading import fill
from bench.drain.schedulers import Scheduler, schedulers
from bench.drain.workload import Size, Workload
from bench.embedded import Backlog
from moorage.client.connection import from_kubeconfig
from moorage.client.http import HttpClient
from tests.controlplane.servers import ControlPlane

EMBEDDED = "moorage up"
WITH_EMBEDDED = "plain"
"""The workload in which the embedded cluster takes part."""

R = TypeVar("R")


def contest(programs: Path, workload: Workload, size: Size, rounds: int) -> dict[str, list[Drained]]:
    """All runs of each scheduler, by its name."""
    with ExitStack() as stack:
        plane, both = stack.enter_context(control_plane(programs, workload, size))
        entrants: dict[str, Callable[[str], Drained]] = {
            scheduler.name: partial(_drain, plane.kubeconfig, scheduler, workload, size) for scheduler in both
        }
        if workload.name == WITH_EMBEDDED:
            backlog = stack.enter_context(Backlog(workload, size))
            entrants[EMBEDDED] = lambda prefix: backlog.drain()
        return in_turns(entrants, rounds)


def in_turns(entrants: Mapping[str, Callable[[str], R]], rounds: int) -> dict[str, list[R]]:
    """Lets each run once a round; who begins changes. Every run gets a prefix of its own for its pods."""
    found: dict[str, list[R]] = {name: [] for name in entrants}
    for number in range(1, rounds + 1):
        for name in order(list(entrants), number):
            run = entrants[name](f"{name.replace(' ', '-')}-{number}")
            found[name].append(run)
            print(f"  round {number} of {rounds}  {name:15} {run}", flush=True)
    return found


def order(names: Sequence[str], number: int) -> Sequence[str]:
    return names if number % 2 else names[::-1]


@contextmanager
def control_plane(
    programs: Path, workload: Workload, size: Size
) -> Iterator[tuple[ControlPlane, tuple[Scheduler, Scheduler]]]:
    """A fresh one, with the nodes of the workload in it, and the schedulers for it."""
    flags = ("--delete-collection-workers=16",)  # between runs, thousands of pods are deleted at once
    with (
        tempfile.TemporaryDirectory(prefix="bench-") as folder,
        ControlPlane(programs, apiserver_flags=flags) as plane,
    ):
        asyncio.run(_fill(plane.kubeconfig, workload, size))
        yield plane, schedulers(programs, plane.kubeconfig, Path(folder))


def _drain(kubeconfig: Path, scheduler: Scheduler, workload: Workload, size: Size, prefix: str) -> Drained:
    return asyncio.run(drain(kubeconfig, scheduler, workload, size, prefix))


async def _fill(kubeconfig: Path, workload: Workload, size: Size) -> None:
    async with HttpClient(from_kubeconfig(str(kubeconfig)), qps=-1) as client:
        await fill(client, workload, size)
