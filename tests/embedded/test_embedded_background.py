"""Background work of plugins, and custom resources that are missing, in a `moorage run` of its own."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from http.client import HTTPConnection
from pathlib import Path

import pytest
import yaml

from tests.cli.running import pod as plain_pod
from tests.controlplane.schedulers import Api
from tests.controlplane.servers import HOST, Program, free_ports, wait_for
from tests.embedded.clusters import Embedded
from tests.seeds.common import EXAMPLES, Cluster, Document, lines_with, pod
from tests.seeds.metrics import metrics

WORKING = """
import asyncio
from pathlib import Path

from moorage import FilterPlugin, every

notes = Path(__file__).with_name("notes")


def note(text):
    with notes.open("a") as file:
        print(text, file=file)


class Working(FilterPlugin):
    def filter(self, cycle, pod, node):
        return None

    async def start(self):
        note(f"started with {len(self.handle.nodes)} nodes")
        try:
            await asyncio.Event().wait()
        finally:
            note("cancelled")

    @every(0.2)
    def refresh(self):
        note("refreshed")
        raise KeyError("zone")

    def close(self):
        note("closed")
"""
WAITING = """
from moorage import FilterPlugin, Object


class Widget(Object, kw_only=True):
    group, version, resource, kind = "example.com", "v1", "widgets", "Widget"
    namespaced = False


class Waiting(FilterPlugin):
    def __init__(self, args, handle):
        super().__init__(args, handle)
        handle.lister_of(Widget, sync_timeout=120)

    def filter(self, cycle, pod, node):
        return None
"""
STOP_SECONDS = 20.0


@pytest.fixture(scope="module")
def cluster(programs: Path) -> Iterator[Cluster]:
    with Embedded("--no-scheduler", "--nodes=2") as up:
        yield Cluster(True, up.kubeconfig, up.token, up.kubectl)


def config(plugin: str, **election: object) -> Document:
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "leaderElection": election or {"leaderElect": False},
        "profiles": [{"plugins": {"multiPoint": {"enabled": [{"name": plugin}]}}}],
    }


def test_it_goes_on_while_another_process_leads_and_ends_with_this_one(
    cluster: Cluster, tmp_path: Path
) -> None:
    plugin, notes = tmp_path / "working.py", tmp_path / "notes"
    plugin.write_text(WORKING)
    cluster.apply(
        {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": "held", "namespace": "kube-system"},
            "spec": {
                "holderIdentity": "somebody",
                "leaseDurationSeconds": 3600,
                "renewTime": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
            },
        }
    )
    flags = (f"--plugin={plugin}", "-v=2")
    with cluster.run(config("Working", leaderElect=True, resourceName="held"), *flags) as process:
        wait_for("two tries", lambda: notes.exists() and notes.read_text().count("refreshed") >= 2)
        labels = {"plugin": "Working", "task": "refresh", "profile": "default-scheduler"}
        [count] = metrics(cluster, process, "moorage_plugin_background_errors_total", **labels)
        assert count >= 1
        line = lines_with(process, '"Background work of a plugin failed; it is tried again"')[0]
        assert line.startswith("E")
        assert "KeyError: 'zone'" in line
        assert 'plugin="Working" task="refresh" profile="default-scheduler" seconds=1' in line
        assert not lines_with(process, "starting to schedule"), "another process leads"
        process.send(signal.SIGTERM)
        assert process.exit_code(STOP_SECONDS) == 0
    lines = notes.read_text().splitlines()
    assert lines[:2] == ["started with 2 nodes", "refreshed"]
    assert lines[-2:] == ["cancelled", "closed"]


def test_a_missing_custom_resource_is_named_with_the_remedy(cluster: Cluster, tmp_path: Path) -> None:
    plugin = tmp_path / "waiting.py"
    plugin.write_text(WAITING)
    with cluster.run(config("Waiting"), f"--plugin={plugin}", ready=False) as process:
        process.wait_until("the line", lambda: lines_with(process, "Nothing is scheduled before a custom"))
        [line] = lines_with(process, "Nothing is scheduled before a custom resource is defined")
        remedy = f"moorage crd {plugin}:Widget | kubectl apply -f -"
        assert line.startswith("W")
        assert f'resource="widgets.example.com" plugin="Waiting" remedy="{remedy}"' in line
        answer = process.wait_until("an answer", lambda: process.get("/readyz"))
        assert answer.status == 500
        assert "[-]resource-widgets.example.com failed: reason withheld\n" in answer.text
        reason = process.get("/readyz/resource-widgets.example.com", token=cluster.token)
        assert reason is not None
        assert reason.text == "internal server error: it is not served\n"

        names = {"plural": "widgets", "kind": "Widget"}
        schema = {"openAPIV3Schema": {"type": "object"}}
        version = {"name": "v1", "served": True, "storage": True, "schema": schema}
        cluster.apply(
            {
                "apiVersion": "apiextensions.k8s.io/v1",
                "kind": "CustomResourceDefinition",
                "metadata": {"name": "widgets.example.com"},
                "spec": {"group": "example.com", "names": names, "scope": "Cluster", "versions": [version]},
            }
        )
        process.wait_ready()
        cluster.apply(pod("after"))
        assert cluster.bound("after")


def test_a_source_that_is_not_there_is_survived_and_used_when_it_comes(tmp_path: Path) -> None:
    example, [port] = EXAMPLES / "live_load", free_ports(1)
    settings = yaml.safe_load((example / "scheduler-config.yaml").read_text())
    settings["profiles"][0]["pluginConfig"][0]["args"]["url"] = f"http://{HOST}:{port}/loads"
    file = tmp_path / "config.yaml"
    file.write_text(yaml.safe_dump(settings))
    flags = ("--nodes=3", f"--config={file}", f"--plugin={example / 'plugin.py'}")
    with Embedded(*flags) as up:
        api = Api(up)
        failed = f"Cannot connect to host {HOST}:{port}"
        wait_for("the failure in the log", lambda: failed in up.program.log_text())
        api.create([plain_pod("first", namespace="default")])
        wait_for("the first pod's node", lambda: "first" in api.bound())

        loads = ("node-1=1", "node-2=1", "node-3=0")
        source = Program(
            Path(sys.executable), (str(example / "server.py"), str(port), *loads), tmp_path / "log"
        )
        try:
            wait_for("a listener", lambda: ask_source(port, "GET", "/loads"))
            assert ask_source(port, "PUT", "/loads/node-1", "0.9") == 204, "it is answered when it was read"
            api.create([plain_pod("second", namespace="default")])
            wait_for("the second pod's node", lambda: api.bound().get("second") == "node-3")
        finally:
            source.stop()


def ask_source(port: int, method: str, path: str, body: str | None = None) -> int | None:
    """The code of its answer; None while it does not."""
    connection = HTTPConnection(HOST, port, timeout=40)
    try:
        connection.request(method, path, body)
        return connection.getresponse().status
    except ConnectionError:
        return None
    finally:
        connection.close()
