"""A running `moorage up` with a cluster worth looking at."""

from __future__ import annotations

import asyncio
import contextlib
import json
import tempfile
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from moorage.client.connection import from_kubeconfig
from moorage.client.http import HttpClient
from tests.controlplane.schedulers import MOORAGE
from tests.controlplane.servers import Program, wait_for

Document = dict[str, Any]

START_SECONDS = 60.0

MARKUP = "<img src=x onerror=\"document.title='caught'\"><script>document.title='caught'</script>"
CONTROLS = "red \x1b[31m left \u202e bell \x07 line\nend"
SHOWN_CONTROLS = "red \\u{1b}[31m left \\u{202e} bell \\u{7} line\\nend"
"""How the page shows them."""

PLUGIN = f'''
from moorage import FilterPlugin, Status

SAID = {(MARKUP + " " + CONTROLS)!r}


class Hostile(FilterPlugin):
    """Says what no plugin should."""

    def filter(self, cycle, pod, node):
        if "said" in pod.metadata.annotations:
            return Status.unschedulable(SAID)
        return None
'''


class World:
    """The cluster and the scheduler's HTTP API."""

    def __init__(self, program: Program, kubeconfig: Path) -> None:
        self.program = program
        self.kubeconfig = kubeconfig
        place = Path(f"{kubeconfig}.scheduler")
        found: Document = json.loads(place.read_text()) if place.exists() else {}
        self.url, self.token = found.get("url", ""), found.get("token", "")

    @property
    def page(self) -> str:
        return f"{self.url}/dashboard/"

    @property
    def signed_in(self) -> str:
        """The address that opens the page without asking."""
        return f"{self.page}#token={self.token}"

    def get(self, path: str, **query: str | int) -> Document:
        return self._ask(f"{path}?{urllib.parse.urlencode(query)}")

    def post(self, path: str, body: Document) -> Document:
        return self._ask(path, json.dumps(body).encode())

    def _ask(self, path: str, body: bytes | None = None) -> Document:
        headers = {"Authorization": f"Bearer {self.token}"}
        request = urllib.request.Request(f"{self.url}/insight/v1/{path}", body, headers)
        with urllib.request.urlopen(request, timeout=60) as response:
            answer: Document = json.load(response)
        return answer

    def create(self, path: str, *documents: Document) -> None:
        """Makes objects in the cluster."""
        asyncio.run(self._send("POST", path, "application/json", documents))

    def patch_node(self, name: str, change: Document) -> None:
        kind = "application/merge-patch+json"
        asyncio.run(self._send("PATCH", f"/api/v1/nodes/{name}", kind, (change,)))

    async def _send(self, method: str, path: str, kind: str, documents: tuple[Document, ...]) -> None:
        async with HttpClient(from_kubeconfig(str(self.kubeconfig)), qps=-1) as client:
            for document in documents:
                await client.send(method, path, json.dumps(document).encode(), content_type=kind)

    def token_of(self, account: str) -> str:
        """A token for a service account of the namespace default."""
        return asyncio.run(self._token_of(account))

    async def _token_of(self, account: str) -> str:
        path = f"/api/v1/namespaces/default/serviceaccounts/{account}/token"
        asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
        async with HttpClient(from_kubeconfig(str(self.kubeconfig)), qps=-1) as client:
            answer = await client.request_json("POST", path, asked)
        return str(answer["status"]["token"])

    def objects(self) -> list[Document]:
        """All nodes and pods, as the cluster has them."""
        return asyncio.run(self._objects())

    async def _objects(self) -> list[Document]:
        found: list[Document] = []
        async with HttpClient(from_kubeconfig(str(self.kubeconfig)), qps=-1) as client:
            for path, kind in (("/api/v1/nodes", "Node"), ("/api/v1/pods", "Pod")):
                answer = await client.request_json("GET", path)
                found += [{**item, "kind": kind, "apiVersion": "v1"} for item in answer["items"]]
        return found

    def wait_until_quiet(self) -> None:
        """Until nothing is on its way: all pods are placed or wait for a change."""

        def is_quiet() -> bool:
            queue = self.get("queue")["counts"]
            busy = queue["active"] + queue["inFlight"]
            return not busy and not self.get("attempts", outcome="assumed")["attempts"]

        wait_for("a quiet scheduler", is_quiet)


@contextlib.contextmanager
def up(*flags: str) -> Iterator[World]:
    """A `moorage up` that ends with the block."""
    with tempfile.TemporaryDirectory(prefix="page-") as folder:
        kubeconfig = Path(folder) / "kubeconfig"
        program = Program(MOORAGE, ["up", f"--kubeconfig={kubeconfig}", *flags], Path(folder) / "up.log")

        def is_ready() -> bool:
            program.check_running()
            has_scheduler = "--no-scheduler" not in flags
            return kubeconfig.exists() and (not has_scheduler or Path(f"{kubeconfig}.scheduler").exists())

        try:
            wait_for("readiness of moorage up", is_ready, seconds=START_SECONDS)
            yield World(program, kubeconfig)
        finally:
            program.stop()


@contextlib.contextmanager
def busy_cluster() -> Iterator[World]:
    """One with placed pods, pods that wait for different reasons, and a plugin that says hostile things."""
    with tempfile.TemporaryDirectory(prefix="page-plugin-") as folder:
        plugin = Path(folder) / "hostile.py"
        plugin.write_text(PLUGIN)
        with up("--nodes=60", f"--plugin={plugin}") as world:
            fill(world, deployments=16, replicas=7)
            world.create("/api/v1/namespaces/default/pods", pod("hostile", annotations={"said": MARKUP}))
            wait_for("the hostile pod", lambda: world.get("queue", search="hostile")["pods"])
            world.wait_until_quiet()
            yield world


def fill(world: World, deployments: int, replicas: int) -> None:
    """Has pods of many sizes placed, and others wait."""
    names: list[str] = world.get("nodes")["names"]
    for name in names[: len(names) // 12]:
        world.patch_node(
            name, {"spec": {"taints": [{"key": "gpu", "value": "true", "effect": "NoSchedule"}]}}
        )
    for name in names[-2:]:
        world.patch_node(name, {"spec": {"unschedulable": True}})
    sizes = [200 + 75 * place for place in range(deployments)]
    world.create(
        "/apis/apps/v1/namespaces/default/deployments",
        *(deployment(f"shop-{place}", replicas, cpu=f"{size}m") for place, size in enumerate(sizes)),
        deployment("large", 3, cpu="64"),
    )
    world.create(
        "/api/v1/namespaces/default/pods",
        pod("picky", spec={"nodeSelector": {"disk": "ssd"}}),
        pod("gated", spec={"schedulingGates": [{"name": "example.com/quota"}]}),
    )
    wanted = deployments * replicas
    wait_for("placed pods", lambda: world.get("summary")["placedPods"] >= wanted, seconds=60)
    wait_for("waiting pods", lambda: len(world.get("queue")["pods"]) >= 5)
    world.wait_until_quiet()


def pod(
    name: str, *, cpu: str = "100m", spec: Document | None = None, annotations: Document | None = None
) -> Document:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "annotations": annotations or {}},
        "spec": {"containers": [_container(cpu)], **(spec or {})},
    }


def deployment(name: str, replicas: int, *, cpu: str) -> Document:
    labels = {"app": name}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [_container(cpu)]}},
        },
    }


def _container(cpu: str) -> Document:
    return {"name": "app", "image": "app", "resources": {"requests": {"cpu": cpu, "memory": "256Mi"}}}
