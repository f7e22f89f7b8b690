"""The second mode: pods arrive one by one, and each is timed from its request to its node."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from functools import partial
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from bench.bounds import Check, Failed, Outcomes
from bench.drain.contest import control_plane, in_turns
from bench.drain.loading import remove_pods, without_uid
from bench.drain.programs import NOT_MEASURED, programs, told
from bench.drain.schedulers import MOORAGE, ORIGINAL, Scheduler
from bench.drain.watching import watched
from bench.drain.workload import Document, Size
from bench.drain.workloads import WORKLOADS
from bench.machine import write_results
from moorage.api.pods import Pod
from moorage.client.connection import from_kubeconfig
from moorage.client.http import HttpClient
from moorage.client.resources import Resource

_WORKLOAD = WORKLOADS["plain"]
_PODS = Resource.of(Pod)
_OVERLOADED = 500.0
"""Milliseconds to create a pod, in the median."""


@dataclass(frozen=True)
class Latency:
    """From when the request to create a pod is sent until its node is seen, in milliseconds."""

    p50: float
    p99: float
    created: float
    """The median until the API server has answered the request, which is no scheduler's doing."""

    def __str__(self) -> str:
        return f"p50 {self.p50:7.1f} ms  p99 {self.p99:7.1f} ms  (created, p50: {self.created:.1f} ms)"


def measure(nodes: int = 5000, rate: int = 200, seconds: int = 25, rounds: int = 3) -> Outcomes:
    """Pods arrive at `rate` a second for so many seconds."""
    found_programs = programs()
    minutes = (rounds * 2 * (seconds + 15) + nodes / 300 + 15) / 60
    print(f"\n{rate} plain pods a second, {nodes} nodes; minutes: about {minutes:.0f}", flush=True)
    size = Size(nodes, rate * seconds)
    try:
        with control_plane(found_programs, _WORKLOAD, size) as (plane, both):
            entrants = {each.name: partial(_arrive, plane.kubeconfig, each, size, rate) for each in both}
            found = in_turns(entrants, rounds)
    except NOT_MEASURED as error:
        yield Failed("steady arrival", told(error))
        return
    ours, theirs = middle(found[MOORAGE]), middle(found[ORIGINAL])
    for name, latency in ((MOORAGE, ours), (ORIGINAL, theirs)):
        print(f"{name:17}{latency}")
    if max(ours.created, theirs.created) > _OVERLOADED:
        print(f"the API server did not keep up with {rate} pods a second: the figures say little")
    print(f"all figures: {write_results('steady', _data(size, rate, found))}\n")
    yield Check(
        "steady arrival: p99 from create to bind, at most kube-scheduler's", ours.p99, theirs.p99, "ms"
    )


def middle(runs: Sequence[Latency]) -> Latency:
    """The median of each figure."""
    return Latency(*(median(getattr(run, each.name) for run in runs) for each in fields(Latency)))


def latency_of(
    sent: Mapping[str, float], created: Mapping[str, float], bound: Mapping[str, float]
) -> Latency:
    cuts = quantiles(((bound[name] - at) * 1000 for name, at in sent.items()), n=100, method="inclusive")
    return Latency(cuts[49], cuts[98], median((created[name] - at) * 1000 for name, at in sent.items()))


def _data(size: Size, rate: int, found: Mapping[str, Sequence[Latency]]) -> dict[str, Any]:
    runs = {name: [asdict(run) for run in latencies] for name, latencies in found.items()}
    medians = {name: asdict(middle(latencies)) for name, latencies in found.items()}
    return {**size._asdict(), "pods_per_second": rate, "median": medians, "runs": runs}


def _arrive(kubeconfig: Path, scheduler: Scheduler, size: Size, rate: int, prefix: str) -> Latency:
    return asyncio.run(_arrive_at(kubeconfig, scheduler, size, rate, prefix))


async def _arrive_at(kubeconfig: Path, scheduler: Scheduler, size: Size, rate: int, prefix: str) -> Latency:
    first, *rest = _WORKLOAD.pods(prefix, Size(size.nodes, size.pods + 1))
    names = [pod["metadata"]["name"] for pod in (first, *rest)]
    async with HttpClient(from_kubeconfig(str(kubeconfig)), qps=-1) as client:
        async with watched(client, names) as binds:
            with scheduler.running() as program:
                await _create(client, first)
                await binds.wait(program, count=1)  # from here on it is ready
                sent, created = await _send(client, rest, rate)
                await binds.wait(program)
        await remove_pods(client)
    return latency_of(sent, created, binds.times)


async def _send(
    client: HttpClient, pods: Sequence[Document], rate: int
) -> tuple[dict[str, float], dict[str, float]]:
    """Creates the pods, each when its time has come; returns when requests were sent and when answered."""
    sent: dict[str, float] = {}
    created: dict[str, float] = {}

    async def send(pod: Document) -> None:
        name = pod["metadata"]["name"]
        sent[name] = time.monotonic()
        await _create(client, pod)
        created[name] = time.monotonic()

    began = time.monotonic()
    async with asyncio.TaskGroup() as tasks:
        for number, pod in enumerate(pods):
            await asyncio.sleep(max(0, began + number / rate - time.monotonic()))
            tasks.create_task(send(pod))
    return sent, created


async def _create(client: HttpClient, pod: Document) -> None:
    await client.create(_PODS, without_uid(pod))
