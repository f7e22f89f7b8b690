"""Pods bound per second: Moorage and kube-scheduler on a real API server, and Moorage's embedded cluster."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from bench.backlog import NODES, PODS, Drained, create_nodes, create_pods, usage
from bench.bounds import Check
from bench.embedded import Backlog
from moorage.api.pods import Pod
from moorage.client.connection import from_kubeconfig
from moorage.client.http import HttpClient
from moorage.client.resources import Resource
from tests.controlplane.build import assets, available
from tests.controlplane.servers import ControlPlane

ROUNDS = 3
MOORAGE, ORIGINAL, EMBEDDED = "moorage run", "kube-scheduler", "moorage up"
_GIVE_UP = 300.0

_CONFIG = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection: {{leaderElect: false}}
clientConnection: {{kubeconfig: {kubeconfig}, qps: 5000, burst: 5000}}
profiles: [{{schedulerName: bench}}]
"""


def measure() -> Iterator[Check]:
    reason = available()
    if reason is not None:
        print(f"\nthe comparison of schedulers is left out: {reason}")
        return
    print(f"\nbacklog of {PODS} plain pods, {NODES} nodes; best of {ROUNDS} runs in turns", flush=True)
    print(f"{'':20}{'first bind':>12}{'pods/s':>9}{'CPU s/1000':>12}{'MB':>7}")
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
        print(
            f"{name:20}{run.first_bind:11.1f}s{run.pods_per_second:9.0f}"
            f"{run.cpu_per_thousand:12.2f}{run.megabytes:7.0f}",
            flush=True,
        )

    with ControlPlane(programs) as plane, Backlog() as backlog, tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "scheduler.yaml"
        config.write_text(_CONFIG.format(kubeconfig=plane.kubeconfig))
        asyncio.run(create_nodes(plane.kubeconfig))
        moorage = [str(Path(sys.executable).parent / "moorage"), "run", "--config", str(config)]
        original = [str(programs / "kube-scheduler"), "--config", str(config)]
        for _ in range(ROUNDS):
            note(MOORAGE, _drain(plane.kubeconfig, [*moorage, "--secure-port=0"], "moorage"))
            note(ORIGINAL, _drain(plane.kubeconfig, [*original, "--secure-port=0"], "original"))
            note(EMBEDDED, backlog.drain())
    return found


def _drain(kubeconfig: Path, command: list[str], prefix: str) -> Drained:
    """Creates the backlog, starts the scheduler and watches until everything is bound; then cleans up."""
    asyncio.run(create_pods(kubeconfig, prefix))
    started = time.monotonic()
    with tempfile.TemporaryFile() as log, subprocess.Popen(command, stdout=log, stderr=log) as process:
        try:
            first, last = asyncio.run(_watch_binds(kubeconfig, prefix))
            cpu, megabytes = usage(process.pid)
        except BaseException:
            log.seek(0)
            sys.stderr.write(log.read().decode(errors="replace")[-4000:])
            raise
        finally:
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
    asyncio.run(_delete_pods(kubeconfig))
    return Drained(first - started, PODS / (last - first), cpu / PODS * 1000, megabytes)


async def _watch_binds(kubeconfig: Path, prefix: str) -> tuple[float, float]:
    """When the first and the last pod got their nodes."""
    bound: set[str] = set()
    first = last = 0.0
    async with HttpClient(from_kubeconfig(str(kubeconfig)), qps=-1) as client, asyncio.timeout(_GIVE_UP):
        resource = Resource.of(Pod)
        listed = await client.list(resource)
        changes = client.watch(resource, resource_version=listed.resource_version)
        try:
            bound.update(pod.name for pod in listed.items if pod.spec.node_name)
            while len(bound) < PODS:
                change = await anext(changes)
                pod = change.object
                if isinstance(pod, Pod) and pod.spec.node_name and pod.name.startswith(prefix):
                    last = time.monotonic()
                    first = first or last
                    bound.add(pod.name)
        finally:
            await changes.aclose()
    return first, last


async def _delete_pods(kubeconfig: Path) -> None:
    async with HttpClient(from_kubeconfig(str(kubeconfig)), qps=-1) as client:
        path = Resource.of(Pod).path("default")
        await client.request_json("DELETE", path, {"gracePeriodSeconds": 0})
