"""The first mode: pods wait, a scheduler is started, and the clock runs until the last has its node."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from pathlib import Path

from bench.drain.loading import load, remove_pods
from bench.drain.schedulers import Scheduler, Usage, usage
from bench.drain.watching import watched
from bench.drain.workload import Size, Workload
from moorage.client.connection import from_kubeconfig
from moorage.client.http import HttpClient

_MOST_SECONDS, _IDLE = 60, 0.05


@dataclass(frozen=True)
class Drained:
    """How a scheduler fared with the pods that waited."""

    first_bind: float
    """Seconds from the start of the process."""
    pods_per_second: float
    """From the first bind, or the first eviction that made room for one, to the last bind."""
    cpu_per_thousand: float
    """Seconds of CPU of the process per 1000 pods, from its start until it has nothing more to do."""
    megabytes: float
    """At the peak."""

    def __str__(self) -> str:
        return (
            f"first bind {self.first_bind:5.1f} s {self.pods_per_second:7.0f} pods/s "
            f"{self.cpu_per_thousand:7.2f} CPU s/1000 {self.megabytes:6.0f} MB"
        )


async def _usage_in_the_end(pid: int, *, goes_on: bool) -> Usage:
    """Events may be written after the last bind, and count; where work never ends, the last bind does."""
    used = usage(pid)
    for _ in range(0 if goes_on else _MOST_SECONDS):
        await asyncio.sleep(1)
        before, used = used, usage(pid)
        if used.cpu - before.cpu < _IDLE:
            break
    return used


async def drain(
    kubeconfig: Path, scheduler: Scheduler, workload: Workload, size: Size, prefix: str
) -> Drained:
    """One run: has the pods made, starts the scheduler, and removes them afterwards."""
    async with HttpClient(from_kubeconfig(str(kubeconfig)), qps=-1) as client:
        expected = await load(client, workload, size, prefix)
        async with watched(client, expected) as binds:
            meanwhile = asyncio.create_task(workload.meanwhile(client, size)) if workload.meanwhile else None
            try:
                started = time.monotonic()
                with scheduler.running() as program:
                    await binds.wait(program, meanwhile=meanwhile)
                    used = await _usage_in_the_end(program.pid, goes_on=meanwhile is not None)
            finally:
                if meanwhile is not None:
                    meanwhile.cancel()
                    await asyncio.gather(meanwhile, return_exceptions=True)
        await remove_pods(client)
        if workload.afterwards is not None:
            await workload.afterwards(client)
    first, last = min(binds.times.values()), max(binds.times.values())
    pods = len(expected)
    rate = pods / max(last - binds.began, 0.001)
    return Drained(first - started, rate, used.cpu / pods * 1000, used.megabytes)
