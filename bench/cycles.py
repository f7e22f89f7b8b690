"""Timing scheduling cycles apart from the binding cycles that follow."""

from __future__ import annotations

import asyncio
import time

from moorage.scheduler.binding_cycle import PodToBind
from moorage.what_if.simulation import Simulation


def seconds_of_cycles(simulation: Simulation, workload: str, pods: int) -> float:
    """CPU seconds until all pods that wait have nodes; they are bound after that."""
    scheduler = simulation.scheduler
    binding = scheduler._binding
    to_bind: list[PodToBind] = []
    setattr(binding, "start", to_bind.append)  # noqa: B010
    started = time.process_time()
    while scheduler.try_next():
        pass
    seconds = time.process_time() - started
    delattr(binding, "start")
    if len(to_bind) != pods:
        raise RuntimeError(f"{workload}: only {len(to_bind)} of {pods} pods got a node")
    asyncio.run(_bind(simulation, to_bind))
    return seconds


async def _bind(simulation: Simulation, pods: list[PodToBind]) -> None:
    for pod in pods:
        simulation.scheduler._binding.start(pod)
    await simulation.scheduler.drain()
