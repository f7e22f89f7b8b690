"""Pods bound per second: Moorage and kube-scheduler on a real API server, and Moorage's embedded cluster."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterator
from pathlib import Path

from bench.backlog import NODES, PODS, Drained, create_nodes, create_pods
from bench.bounds import Check
from bench.draining import HEADINGS, commands, drain, row
from bench.embedded import Backlog
from tests.controlplane.build import assets, available
from tests.controlplane.servers import ControlPlane

ROUNDS = 3
MOORAGE, ORIGINAL, EMBEDDED = "moorage run", "kube-scheduler", "moorage up"


def measure() -> Iterator[Check]:
    reason = available()
    if reason is not None:
        print(f"\nthe comparison of schedulers is left out: {reason}")
        return
    print(f"\nbacklog of {PODS} plain pods, {NODES} nodes; best of {ROUNDS} runs in turns", flush=True)
    print(HEADINGS)
    found = _compared()
    best = {name: max(runs, key=lambda run: run.pods_per_second) for name, runs in found.items()}
    ours, theirs, inside = best[MOORAGE].pods_per_second, best[ORIGINAL].pods_per_second, best[EMBEDDED]
    print(f"pods per second against kube-scheduler: {ours / theirs:.2f}x")
    print(f"embedded cluster against the real one: {inside.pods_per_second / ours:.2f}x\n")
    yield Check("first bind after the start of the process", best[MOORAGE].first_bind, 10, "s")
    yield Check("memory with 5000 nodes and 10000 pods", best[MOORAGE].megabytes, 500, "MB")
    seconds = 1000 / inside.pods_per_second
    yield Check(
        "embedded: seconds per 1000 pods, at most those of the real cluster", seconds, 1000 / ours, "s"
    )


def _compared() -> dict[str, list[Drained]]:
    """Several runs of each, since other guests of a machine slow down single ones."""
    programs = assets()
    assert programs is not None
    found: dict[str, list[Drained]] = {MOORAGE: [], ORIGINAL: [], EMBEDDED: []}

    def note(name: str, run: Drained) -> None:
        found[name].append(run)
        print(row(name, run), flush=True)

    with ControlPlane(programs) as plane, Backlog() as backlog, tempfile.TemporaryDirectory() as folder:
        asyncio.run(create_nodes(plane.kubeconfig))
        moorage, original = commands(programs, plane.kubeconfig, Path(folder))
        for _ in range(ROUNDS):
            note(MOORAGE, _drained(plane.kubeconfig, moorage, "moorage"))
            note(ORIGINAL, _drained(plane.kubeconfig, original, "original"))
            note(EMBEDDED, backlog.drain())
    return found


def _drained(kubeconfig: Path, command: list[str], prefix: str) -> Drained:
    asyncio.run(create_pods(kubeconfig, prefix))
    return drain(kubeconfig, command, prefix, PODS)
