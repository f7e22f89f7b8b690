"""`moorage up --data`: what was acknowledged is there again, however the process ended."""

from __future__ import annotations

import asyncio
import contextlib
import random
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from moorage.api.meta import Object
from moorage.client.connection import find
from moorage.client.errors import ApiError, Unauthorized
from moorage.client.http import HttpClient
from moorage.client.resources import Resource
from tests.cli.running import run_alone
from tests.controlplane.servers import free_ports
from tests.embedded.clusters import Embedded

Document = dict[str, Any]

KILLS = 10
SOAK_KILLS = 50
WRITERS = 8
NAMES = 5  # objects per writer
CONFIG_MAPS = Resource("", "v1", "configmaps", "ConfigMap", True, Object)
PATH = CONFIG_MAPS.path("default")
ABSENT = 0


class Ledger:
    """What is known about the objects: the number in each, as acknowledged, and one that is on its way."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.acknowledged: dict[str, int] = {}
        self.asked: dict[str, int] = {}
        self.newest = 0
        """The highest resource version that was seen."""
        self.writes = 0
        self._number = 0

    async def write(self, client: HttpClient, name: str) -> None:
        """One write of any kind to an object."""
        present = self.acknowledged.get(name, ABSENT)
        self._number += 1
        what = self.random.choice(("update", "patch", "delete")) if present else "create"
        self.asked[name] = ABSENT if what == "delete" else self._number
        document = {"metadata": {"name": name}, "data": {"number": str(self._number)}}
        if what == "create":
            answer = await client.request_json("POST", PATH, document)
        elif what == "update":
            answer = await client.request_json("PUT", f"{PATH}/{name}", document)
        elif what == "patch":
            answer = await client.patch(CONFIG_MAPS, name, {"data": document["data"]}, namespace="default")
        else:
            answer = await client.request_json("DELETE", f"{PATH}/{name}")
        self.acknowledged[name] = self.asked.pop(name)
        self.newest = max(self.newest, int(answer["metadata"].get("resourceVersion") or 0))
        self.writes += 1

    def check(self, listed: Document) -> None:
        """Every object is as it was acknowledged, or as it was asked for last."""
        assert int(listed["metadata"]["resourceVersion"]) >= self.newest
        found = {
            each["metadata"]["name"]: int(each["data"]["number"])
            for each in listed["items"]
            if "number" in (each.get("data") or {})
        }
        for name in self.acknowledged.keys() | self.asked.keys() | found.keys():
            number = found.get(name, ABSENT)
            allowed = {self.acknowledged.get(name, ABSENT), self.asked.get(name, ABSENT)}
            assert number in allowed, f"{name}: has {number}, not one of {allowed}"
        self.acknowledged, self.asked = found, {}


async def write_until_killed(cluster: Embedded, ledger: Ledger, writes: int) -> None:
    enough = asyncio.Event()
    goal = ledger.writes + writes

    async def writer(client: HttpClient, names: list[str]) -> None:
        with contextlib.suppress(ApiError):  # as all do whose server is killed
            while True:
                await ledger.write(client, ledger.random.choice(names))
                if ledger.writes >= goal:
                    enough.set()

    async with HttpClient(find(str(cluster.kubeconfig)), qps=-1) as client:
        tasks = [
            asyncio.create_task(writer(client, [f"w{number}-{each}" for each in range(NAMES)]))
            for number in range(WRITERS)
        ]
        await asyncio.wait_for(enough.wait(), 30)
        cluster.program.send(signal.SIGKILL)
        await asyncio.wait(tasks, timeout=10)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    assert cluster.program.exit_code(10) == -signal.SIGKILL


async def ask(cluster: Embedded, method: str, path: str, body: Any = None, token: str = "") -> Document:
    config = find(str(cluster.kubeconfig))
    async with HttpClient(replace(config, token=token) if token else config, qps=-1) as client:
        answer: Document = await client.request_json(method, path, body)
        return answer


@pytest.mark.soak
def test_a_kill_in_the_middle_of_writes_loses_nothing_that_was_acknowledged(
    tmp_path: Path, soak: bool
) -> None:
    [port] = free_ports(1)
    flags = ("--no-scheduler", "--nodes=1", f"--port={port}", f"--data={tmp_path / 'cluster.db'}")
    ledger = Ledger(seed=5)
    token, kubeconfig = "", ""
    cluster = Embedded(*flags, folder=tmp_path)
    with cluster:
        for _ in range(SOAK_KILLS if soak else KILLS):
            if token:
                assert cluster.kubeconfig.read_text() == kubeconfig, (
                    "the same administrator, the same certificate"
                )
                ledger.check(asyncio.run(ask(cluster, "GET", PATH)))
                asyncio.run(
                    ask(cluster, "GET", "/api/v1/namespaces/default/serviceaccounts/default", token=token)
                )
            else:
                token = asyncio.run(account_token(cluster))
                kubeconfig = cluster.kubeconfig.read_text()
            asyncio.run(write_until_killed(cluster, ledger, ledger.random.randrange(5, 150)))
            cluster.kubeconfig.unlink()
            cluster.start()
        ledger.check(asyncio.run(ask(cluster, "GET", PATH)))
        before = ledger.newest
        asyncio.run(write_one(cluster, ledger))
        assert ledger.newest > before, "versions never begin again"


async def account_token(cluster: Embedded) -> str:
    """A token of a service account that may read service accounts."""
    binding = {
        "metadata": {"name": "reader", "namespace": "default"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"},
        "subjects": [{"kind": "ServiceAccount", "name": "default", "namespace": "default"}],
    }
    await ask(cluster, "POST", "/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings", binding)
    answer = await ask(
        cluster, "POST", "/api/v1/namespaces/default/serviceaccounts/default/token", {"spec": {}}
    )
    token: str = answer["status"]["token"]
    with pytest.raises(Unauthorized):
        await ask(cluster, "GET", PATH, token=f"{token}x")
    return token


async def write_one(cluster: Embedded, ledger: Ledger) -> None:
    async with HttpClient(find(str(cluster.kubeconfig)), qps=-1) as client:
        await ledger.write(client, "last")


async def node_names(cluster: Embedded) -> list[str]:
    async with HttpClient(find(str(cluster.kubeconfig)), qps=-1) as client:
        answer = await client.request_json("GET", "/api/v1/nodes")
        return [each["metadata"]["name"] for each in answer["items"]]


async def delete_node(cluster: Embedded, name: str) -> None:
    async with HttpClient(find(str(cluster.kubeconfig)), qps=-1) as client:
        await client.request_json("DELETE", f"/api/v1/nodes/{name}")


def test_nodes_are_those_of_the_file_unless_others_are_asked_for(tmp_path: Path) -> None:
    flags = ("--no-scheduler", f"--data={tmp_path / 'cluster.db'}")
    with Embedded(*flags, folder=tmp_path) as cluster:
        assert asyncio.run(node_names(cluster)) == ["node-1", "node-2", "node-3"]
        asyncio.run(delete_node(cluster, "node-2"))
    with Embedded(*flags, folder=tmp_path) as cluster:
        assert asyncio.run(node_names(cluster)) == ["node-1", "node-3"]
    assert ", 2 nodes. Type:" in cluster.program.log_text()
    with Embedded(*flags, "--nodes=2", folder=tmp_path) as cluster:
        assert asyncio.run(node_names(cluster)) == ["node-1", "node-2", "node-3"]


def test_a_file_that_is_in_use_or_damaged_is_refused(tmp_path: Path) -> None:
    data = tmp_path / "cluster.db"
    second = ("up", "--no-scheduler", f"--data={data}", f"--kubeconfig={tmp_path / 'second'}")
    with Embedded("--no-scheduler", "--nodes=2", f"--data={data}", folder=tmp_path):
        done = run_alone(*second)
    assert (done.returncode, done.stderr) == (
        1,
        f"{data}: is in use by another process; stop that one or give another file\n",
    )
    content = bytearray(data.read_bytes())
    content[4096:8192] = b"\xff" * 4096
    data.write_bytes(content)
    done = run_alone(*second)
    assert (done.returncode, done.stdout) == (1, "")
    [line] = done.stderr.splitlines()
    assert line.startswith(f"{data}: ")


def test_files_that_are_no_data_files_are_refused_and_not_touched(tmp_path: Path) -> None:
    notes = tmp_path / "notes.txt"
    notes.write_text("things to keep\n" * 100)
    done = run_alone("up", f"--data={notes}", f"--kubeconfig={tmp_path / 'kubeconfig'}")
    assert (done.returncode, done.stderr) == (
        1,
        f"{notes}: is not a data file of moorage up; give another file\n",
    )
    assert notes.read_text() == "things to keep\n" * 100
    done = run_alone("up", f"--data={tmp_path}", f"--kubeconfig={tmp_path / 'kubeconfig'}")
    assert done.returncode == 2
    assert (
        done.stderr.splitlines()[-1]
        == f"Error: Invalid value for '--data': File '{tmp_path}' is a directory."
    )
