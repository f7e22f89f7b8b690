"""How long a day of a large cluster takes to replay: 200,000 pods that come and go on 5000 nodes."""

from __future__ import annotations

import heapq
import random
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bench.bounds import Check, Outcomes
from moorage.api.decoding import from_document
from moorage.api.pods import Pod, on_node
from moorage.what_if.replay.jobs import Job, Outcome
from moorage.what_if.replay.running import run_job
from moorage.what_if.trace.changes import Change, Head
from moorage.what_if.trace.files import TraceWriter
from moorage.what_if.workloads import make_nodes

NODES = 5000
PODS = 200_000
DAY = 24 * 3600.0
BEGAN = 1_750_000_000.0
_MOST_SECONDS = 300.0
_SHAPES = ((("500m", "1Gi"), 50), (("2", "4Gi"), 30), (("4", "24Gi"), 15), (("16", "32Gi"), 5))
_MEAN_LIFE = 4 * 3600.0
_UNTIL_BOUND = 0.5
"""Seconds from when a pod came to when it was bound, in the trace."""


def measure() -> Outcomes:
    print(f"\nreplaying a day of {PODS} pods on {NODES} nodes", flush=True)
    outcome = run(NODES, PODS)
    rate = outcome.pods / outcome.seconds
    print(f"{outcome.placed} of {outcome.pods} pods placed, {rate:.0f} pods/s", flush=True)
    yield Check("replay of a day, reading included", outcome.seconds, _MOST_SECONDS, "s")


def run(nodes: int, pods: int) -> Outcome:
    """Replays a made-up day from a file, as users have it."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "day.moor"
        with TraceWriter(path, Head(began=BEGAN, source="a made-up day")) as writer:
            for change in MadeUpDay(nodes, pods):
                item = change.item
                document = {"apiVersion": item.api_version(), "kind": item.kind, **item.raw}
                (writer.gone if change.gone else writer.put)(change.time, document)
        return run_job(Job(trace=str(path)))


class MadeUpDay:
    """Changes of a day, made anew each time they are read: nothing of them is kept."""

    def __init__(self, nodes: int, pods: int) -> None:
        self._nodes = nodes
        self._pods = pods

    def __iter__(self) -> Iterator[Change]:
        chance = random.Random(7)
        for node in make_nodes(self._nodes):
            yield Change(BEGAN, node)
        pending: list[tuple[float, int, Change]] = []
        amounts = [shape for shape, _ in _SHAPES]
        weights = [weight for _, weight in _SHAPES]
        for number in range(self._pods):
            came = BEGAN + DAY * number / self._pods
            while pending and pending[0][0] <= came:
                yield heapq.heappop(pending)[2]
            pod = _pod(number, *chance.choices(amounts, weights)[0])
            yield Change(came, pod)
            placed = on_node(pod, f"node-{chance.randrange(self._nodes):05d}")
            bound = came + _UNTIL_BOUND
            heapq.heappush(pending, (bound, 2 * number, Change(bound, placed)))
            ended = bound + chance.expovariate(1 / _MEAN_LIFE)
            if ended < BEGAN + DAY:
                heapq.heappush(pending, (ended, 2 * number + 1, Change(ended, placed, gone=True)))
        while pending:
            yield heapq.heappop(pending)[2]


def _pod(number: int, cpu: str, memory: str) -> Pod:
    name = f"pod-{number:06d}"
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": f"app-{number % 100}", "controller": True}
    requests = {"cpu": cpu, "memory": memory}
    document: dict[str, Any] = {
        "metadata": {
            "name": name,
            "namespace": "default",
            "uid": f"uid-{name}",
            "labels": {"app": f"app-{number % 100}"},
            "ownerReferences": [{**owner, "uid": f"uid-app-{number % 100}"}],
        },
        "spec": {"containers": [{"name": "main", "image": "app:v1", "resources": {"requests": requests}}]},
    }
    return from_document(Pod, document)
