"""Pods that wait for volumes, bound per second: Moorage and kube-scheduler on a real API server.

Each pod has a claim of a class that waits for its first consumer. A provisioner answers with volumes that
were made before, so that a run measures schedulers and not provisioning.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.backlog import NODES, Drained, create, create_nodes, plain_pods
from bench.bounds import Check
from bench.draining import HEADINGS, commands, drain, row
from moorage.api.pods import Pod
from moorage.api.storage import PersistentVolume, PersistentVolumeClaim, StorageClass
from moorage.client.connection import from_kubeconfig
from moorage.client.http import HttpClient
from moorage.client.resources import Resource
from tests.controlplane.build import assets, available
from tests.controlplane.servers import ControlPlane

PODS = 2000
ROUNDS = 3
MOORAGE, ORIGINAL = "moorage run", "kube-scheduler"
_CLASS, _POOL = "waits", "made-before"
Document = dict[str, Any]


def measure() -> Iterator[Check]:
    reason = available()
    if reason is not None:
        print(f"\nthe comparison with volumes is left out: {reason}")
        return
    print(f"\n{PODS} pods with a claim each, {NODES} nodes; best of {ROUNDS} runs in turns", flush=True)
    print(HEADINGS)
    found = _compared()
    best = {name: max(run.pods_per_second for run in runs) for name, runs in found.items()}
    print(f"pods per second against kube-scheduler: {best[MOORAGE] / best[ORIGINAL]:.2f}x\n")
    yield Check(
        "volumes: time per pod against kube-scheduler's", best[ORIGINAL] / best[MOORAGE], 1 / 1.5, "x"
    )


def _compared() -> dict[str, list[Drained]]:
    programs = assets()
    assert programs is not None
    found: dict[str, list[Drained]] = {MOORAGE: [], ORIGINAL: []}
    with ControlPlane(programs) as plane, tempfile.TemporaryDirectory() as folder:
        asyncio.run(create_nodes(plane.kubeconfig))
        moorage, original = commands(programs, plane.kubeconfig, Path(folder))
        asyncio.run(_create_class(plane.kubeconfig))
        for number in range(ROUNDS):
            for name, command in ((MOORAGE, moorage), (ORIGINAL, original)):
                run = _drained(plane.kubeconfig, command, f"{name.split()[0]}-{number}")
                found[name].append(run)
                print(row(name, run), flush=True)
    return found


def _drained(kubeconfig: Path, command: list[str], prefix: str) -> Drained:
    """Creates pods, their claims and volumes for them, and has them placed."""
    asyncio.run(_create_backlog(kubeconfig, prefix))
    with subprocess.Popen([sys.executable, "-m", "bench.provisioner", str(kubeconfig)]) as provisioner:
        try:
            return drain(kubeconfig, command, prefix, PODS)
        finally:
            provisioner.terminate()


async def _create_class(kubeconfig: Path) -> None:
    document: Document = {
        "metadata": {"name": _CLASS},
        "provisioner": "bench.example",
        "volumeBindingMode": "WaitForFirstConsumer",
    }
    async with HttpClient(from_kubeconfig(str(kubeconfig)), qps=-1) as client:
        await create(client, Resource.of(StorageClass), iter([document]))


async def _create_backlog(kubeconfig: Path, prefix: str) -> None:
    async with HttpClient(from_kubeconfig(str(kubeconfig)), qps=-1) as client:
        names = [document["metadata"]["name"] for document in plain_pods(prefix, PODS)]
        await create(client, Resource.of(PersistentVolume), map(_volume, names))
        await create(client, Resource.of(PersistentVolumeClaim), map(_claim, names), namespace="default")
        pods = map(_with_claim, plain_pods(prefix, PODS))
        await create(client, Resource.of(Pod), pods, namespace="default")


def _volume(name: str) -> Document:
    return {
        "metadata": {"name": name},
        "spec": {
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": _POOL,
            "claimRef": {"namespace": "default", "name": name},
            "csi": {"driver": "bench.example", "volumeHandle": name},
        },
    }


def _claim(name: str) -> Document:
    return {
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": _CLASS,
            "resources": {"requests": {"storage": "1Gi"}},
        },
    }


def _with_claim(pod: Document) -> Document:
    volume = {"name": "data", "persistentVolumeClaim": {"claimName": pod["metadata"]["name"]}}
    return {**pod, "spec": {**pod["spec"], "volumes": [volume]}}
