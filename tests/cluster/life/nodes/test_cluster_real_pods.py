"""Pods whose containers are processes; in real time, since processes know no other."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from moorage.cluster.base.store import Document
from moorage.cluster.life.controllers.devices.claims import CLAIMS
from moorage.cluster.life.nodes import Nodes, containers, default_nodes
from moorage.cluster.life.nodes.machine import Machine as SharedMachine
from tests.cluster.life.controllers.fake_writer import FakeWriter

IMAGE = "program:latest"
PATIENCE = 20.0


class Machine:
    def __init__(self, folder: Path) -> None:
        self.writer = FakeWriter(time.time)
        self.nodes = self.nodes_of(self.writer, folder)
        [node] = default_nodes(1)
        self.writer.create("nodes", node)

    @staticmethod
    def nodes_of(writer: FakeWriter, folder: Path) -> Nodes:
        machine = SharedMachine(
            writer,
            folder=folder,
            server=("127.0.0.1", 6443),
            token_for=lambda *who: "token of " + "/".join(who),
            run_images=[IMAGE],
            run_namespaces=["default"],
        )
        return Nodes(machine)

    def run(self, code: str, *, name: str = "p", **spec: Any) -> None:
        """A pod that runs Python code."""
        container = {"name": "c", "image": IMAGE, "command": ["python3", "-c", code]}
        container |= spec.pop("container", {})
        self.writer.create(
            "pods",
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": name, "namespace": "default"},
                "spec": {"nodeName": "node-1", "containers": [container], **spec},
            },
        )

    @property
    def status(self) -> Any:
        return self.writer.document("pods", "default", "p")["status"]

    @property
    def container(self) -> Any:
        return (self.status.get("containerStatuses") or [{"state": {}}])[0]

    @property
    def log(self) -> str:
        return self.nodes.logs.read("default", "p", "c").decode()

    @property
    def is_ready(self) -> bool:
        return self.ready("p")

    def ready(self, name: str) -> bool:
        status = self.writer.document("pods", "default", name)["status"]
        conditions = {each["type"]: each["status"] for each in status.get("conditions", [])}
        return conditions.get("Ready") == "True"

    def config(self, **data: str) -> None:
        document = {"kind": "ConfigMap", "metadata": {"name": "config", "namespace": "default"}, "data": data}
        self.writer.create("configmaps", document)


async def until(condition: Callable[[], Any]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not condition():
            await asyncio.sleep(0.02)


def on_machine(folder: Path, test: Callable[[Machine], Awaitable[None]]) -> None:
    async def main() -> None:
        machine = Machine(folder)
        machine.nodes.start()
        try:
            await test(machine)
        finally:
            await machine.nodes.stop()

    asyncio.run(main())


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


WAIT = "import os,time;print('pid', os.getpid());time.sleep(60)"
STUBBORN = "import os,signal,time;signal.signal(signal.SIGTERM, signal.SIG_IGN);" + WAIT


def test_a_process_runs_with_its_volumes_until_its_pod_is_deleted(tmp_path: Path) -> None:
    code = (
        "import os,signal,sys,time\n"
        "def end(*_): print('ending'); sys.exit(0)\n"
        "signal.signal(signal.SIGTERM, end)\n"
        "print(open(sys.argv[1].partition('=')[2]).read(), os.environ['WHERE'], os.environ['POD'])\n"
        "print(open(os.environ['KUBERNETES_SERVICE_ACCOUNT_FOLDER'] + '/token').read())\n"
        "print(os.environ['KUBERNETES_SERVICE_PORT'], 'pid', os.getpid())\n"
        "while True: time.sleep(0.1)\n"
    )

    async def test(machine: Machine) -> None:
        machine.config(text="hello")
        machine.run(
            code,
            serviceAccountName="robot",
            volumes=[
                {"name": "v", "configMap": {"name": "config"}},
                {"name": "access", "projected": {"sources": [{"serviceAccountToken": {"path": "token"}}]}},
            ],
            container={
                "args": ["--file=/etc/v/text"],
                "env": [
                    {"name": "WHERE", "value": "/etc/v/text"},
                    {"name": "POD", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
                ],
                "volumeMounts": [
                    {"name": "v", "mountPath": "/etc/v/"},
                    {"name": "access", "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount"},
                ],
            },
        )
        await until(lambda: "pid" in machine.log)
        first, second, third = machine.log.splitlines()
        hello, where, name = first.split()
        assert (hello, name) == ("hello", "p")
        assert Path(where).read_text() == "hello"
        uid = machine.writer.document("pods", "default", "p")["metadata"]["uid"]
        assert second == f"token of default/robot/p/{uid}"
        assert third.startswith("6443 pid ")
        assert machine.status["phase"] == "Running"
        assert machine.is_ready
        assert list(machine.container["state"]) == ["running"]

        async def follow() -> bytes:
            later = machine.nodes.logs.follow("default", "p", "c", tail_lines=0)
            return b"".join([text async for text in later])

        following = asyncio.create_task(follow())
        machine.writer.edit(
            "configmaps", "default", "config", lambda each: each["data"].update(text="changed")
        )
        await until(lambda: Path(where).read_text() == "changed")
        last: list[Document] = []
        machine.writer.store.listen("pods", lambda change: last.append(change.new.document))
        machine.writer.end("pods", "default", "p")
        await until(lambda: not machine.writer.names("pods"))
        state = last[-1]["status"]["containerStatuses"][0]["state"]["terminated"]
        assert (state["exitCode"], state["reason"]) == (0, "Completed")
        assert last[-1]["status"]["phase"] == "Succeeded"
        assert await following == b"ending\n"
        assert not is_alive(int(third.split()[-1]))
        assert not Path(where).exists()
        reasons = [event.document["reason"] for event in machine.writer.store.objects("events")]
        assert reasons == ["Started", "Killing"]

    on_machine(tmp_path, test)


def test_a_process_that_does_not_end_is_killed(tmp_path: Path) -> None:
    async def test(machine: Machine) -> None:
        machine.run(STUBBORN)
        await until(lambda: "pid" in machine.log)
        pid = int(machine.log.split()[-1])
        pod = machine.writer.store.get("pods", "default", "p")
        assert pod is not None
        began = time.monotonic()
        machine.writer.delete("pods", pod, grace_seconds=1)
        await until(lambda: not machine.writer.names("pods"))
        assert time.monotonic() - began >= 1
        assert not is_alive(pid)

    on_machine(tmp_path, test)


def test_a_shorter_grace_period_holds(tmp_path: Path) -> None:
    async def test(machine: Machine) -> None:
        machine.run(STUBBORN, container={"lifecycle": {"preStop": {"sleep": {"seconds": 300}}}})
        await until(lambda: "pid" in machine.log)
        pid = int(machine.log.split()[-1])
        machine.writer.end("pods", "default", "p", grace_seconds=600)
        await until(lambda: machine.status["observedGeneration"] == 2)
        assert machine.status["phase"] == "Running"
        machine.writer.end("pods", "default", "p", grace_seconds=1)
        await until(lambda: not machine.writer.names("pods"))
        await until(lambda: not is_alive(pid))

    on_machine(tmp_path, test)


def test_a_process_of_a_pod_that_is_gone_does_not_stay(tmp_path: Path) -> None:
    async def test(machine: Machine) -> None:
        machine.run(STUBBORN)
        await until(lambda: "pid" in machine.log)
        pid = int(machine.log.split()[-1])
        machine.writer.end("pods", "default", "p", grace_seconds=600)
        await asyncio.sleep(0)
        stored = machine.writer.store.get("pods", "default", "p")
        assert stored is not None
        machine.writer.store.delete("pods", stored)
        await until(lambda: not is_alive(pid))

    on_machine(tmp_path, test)


def test_a_pod_is_not_active_for_longer_than_its_deadline(tmp_path: Path) -> None:
    async def test(machine: Machine) -> None:
        machine.run(WAIT, activeDeadlineSeconds=1)
        await until(lambda: "pid" in machine.log)
        pid = int(machine.log.split()[-1])
        failed: list[Document] = []
        machine.writer.store.listen("pods", lambda change: failed.append(change.new.status))
        await until(lambda: machine.status["phase"] == "Failed")
        assert all("reason" in each for each in failed if each["phase"] == "Failed")
        assert machine.status["reason"] == "DeadlineExceeded"
        assert machine.status["message"] == ("Pod was active on the node longer than the specified deadline")
        assert machine.container["state"]["terminated"]["exitCode"] == 143
        assert not is_alive(pid)
        events = [event.document["reason"] for event in machine.writer.store.objects("events")]
        assert events == ["Started", "DeadlineExceeded", "Killing"]

    on_machine(tmp_path, test)


def test_processes_end_with_the_cluster(tmp_path: Path) -> None:
    pids: list[int] = []

    async def test(machine: Machine) -> None:
        machine.run(WAIT)
        await until(lambda: "pid" in machine.log)
        pids.append(int(machine.log.split()[-1]))

    on_machine(tmp_path, test)
    assert not is_alive(pids[0])
    assert list(tmp_path.iterdir()) == []


def test_what_a_process_has_started_ends_with_it(tmp_path: Path) -> None:
    code = "import subprocess,sys;print(subprocess.Popen(['sleep', '60']).pid, flush=True)"

    async def test(machine: Machine) -> None:
        machine.run(code, restartPolicy="Never")
        await until(lambda: machine.status.get("phase") == "Succeeded")
        child = int(machine.log)
        await until(lambda: not is_alive(child))

    on_machine(tmp_path, test)


@pytest.mark.parametrize(("code", "phase", "reason"), [(0, "Succeeded", "Completed"), (3, "Failed", "Error")])
def test_a_pod_that_is_not_restarted_is_finished(tmp_path: Path, code: int, phase: str, reason: str) -> None:
    async def test(machine: Machine) -> None:
        machine.run(f"raise SystemExit({code})", restartPolicy="Never")
        await until(lambda: machine.status.get("phase") == phase)
        state = machine.container["state"]["terminated"]
        assert (state["exitCode"], state["reason"]) == (code, reason)
        assert not machine.is_ready

    on_machine(tmp_path, test)


def test_a_failing_process_is_started_again_and_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(containers, "FIRST_BACKOFF", 0.3)

    async def test(machine: Machine) -> None:
        machine.run("import sys;print('oh');sys.exit(7)")
        await until(
            lambda: (machine.container["state"].get("waiting") or {}).get("reason") == "CrashLoopBackOff"
        )
        assert machine.container["lastState"]["terminated"]["exitCode"] == 7
        assert machine.status["phase"] == "Running"
        assert not machine.is_ready
        await until(lambda: machine.container["restartCount"] == 2)
        assert machine.nodes.logs.read("default", "p", "c", previous=True) == b"oh\n"
        events = {event.document["reason"] for event in machine.writer.store.objects("events")}
        assert "BackOff" in events
        machine.writer.end("pods", "default", "p")
        await until(lambda: not machine.writer.names("pods"))

    on_machine(tmp_path, test)


def test_a_program_that_is_not_there_is_told(tmp_path: Path) -> None:
    async def test(machine: Machine) -> None:
        machine.run("", container={"command": ["/no/such/program"]}, restartPolicy="Never")
        await until(lambda: machine.status.get("phase") == "Failed")
        state = machine.container["state"]["terminated"]
        assert (state["exitCode"], state["reason"]) == (128, "StartError")
        assert "/no/such/program" in state["message"]

    on_machine(tmp_path, test)


def test_a_pod_waits_for_what_its_volumes_are_made_of(tmp_path: Path) -> None:
    async def test(machine: Machine) -> None:
        machine.run(WAIT, volumes=[{"name": "v", "configMap": {"name": "config"}}])
        await until(lambda: machine.writer.store.count("events"))
        [event] = machine.writer.store.objects("events")
        assert event.document["reason"] == "FailedMount"
        assert (
            event.document["message"]
            == 'MountVolume.SetUp failed for volume "v" : configmap "config" not found'
        )
        assert machine.status["phase"] == "Pending"
        assert machine.container["state"] == {"waiting": {"reason": "ContainerCreating"}}
        machine.config(text="hello")
        await until(lambda: machine.status["phase"] == "Running")

    on_machine(tmp_path, test)


def test_a_pod_waits_for_its_devices(tmp_path: Path) -> None:
    async def test(machine: Machine) -> None:
        claim = {"metadata": {"name": "gpu", "namespace": "default"}, "spec": {}}
        stored = machine.writer.create(CLAIMS, claim)
        machine.run("print('works')", resourceClaims=[{"name": "gpu", "resourceClaimName": "gpu"}])
        await until(lambda: "FailedPrepareDynamicResources" in reasons(machine))
        assert machine.status["phase"] == "Pending"
        [state] = machine.container["state"].values()
        assert state == {"reason": "ContainerCreating"}
        pod = machine.writer.document("pods", "default", "p")
        consumer = {"resource": "pods", "name": "p", "uid": pod["metadata"]["uid"]}
        machine.writer.set_status(CLAIMS, stored, allocation={}, reservedFor=[consumer])
        await until(lambda: "works" in machine.log)

    on_machine(tmp_path, test)


def reasons(machine: Machine) -> list[str]:
    return [each.document["reason"] for each in machine.writer.store.objects("events")]


def test_a_pod_is_ready_when_its_probe_says_so(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    code = (
        "import http.server,os,pathlib\n"
        "class Handler(http.server.BaseHTTPRequestHandler):\n"
        "    def do_GET(self):\n"
        f"        self.send_response(200 if pathlib.Path({str(tmp_path / 'ok')!r}).exists() else 503)\n"
        "        self.end_headers()\n"
        f"http.server.HTTPServer((os.environ['MOORAGE_POD_ADDRESS'], {port}), Handler).serve_forever()\n"
    )

    async def test(machine: Machine) -> None:
        check = {"httpGet": {"path": "/readyz", "port": "web"}, "periodSeconds": 1, "failureThreshold": 1}
        ports = [{"name": "web", "containerPort": port}]
        machine.run(code, container={"readinessProbe": check, "ports": ports})
        await until(lambda: "503" in machine.log)
        assert machine.status["phase"] == "Running"
        assert not machine.is_ready
        (tmp_path / "ok").touch()
        await until(lambda: machine.is_ready)
        (tmp_path / "ok").unlink()
        await until(lambda: not machine.is_ready)

    on_machine(tmp_path, test)


@pytest.mark.skipif(sys.platform != "linux", reason="there is only one loopback address")
def test_pods_can_listen_on_the_same_port(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    code = (
        "import os,socket,time\n"
        f"held = socket.create_server((os.environ['MOORAGE_POD_ADDRESS'], {port}))\n"
        "time.sleep(60)\n"
    )

    async def test(machine: Machine) -> None:
        probed = {"readinessProbe": {"tcpSocket": {"port": port}, "periodSeconds": 1}}
        machine.run(code, container=probed)
        machine.run(code, container=probed, name="q")
        await until(lambda: machine.is_ready and machine.ready("q"))

    on_machine(tmp_path, test)


def test_init_containers_run_first(tmp_path: Path) -> None:
    async def test(machine: Machine) -> None:
        command = ["python3", "-c", f"open({str(tmp_path / 'made')!r}, 'w').write('x')"]
        init = {"name": "i", "image": IMAGE, "command": command}
        machine.run(
            f"print(open({str(tmp_path / 'made')!r}).read())",
            initContainers=[init],
            restartPolicy="Never",
        )
        await until(lambda: machine.status.get("phase") == "Succeeded")
        assert machine.log == "x\n"
        assert machine.status["initContainerStatuses"][0]["state"]["terminated"]["exitCode"] == 0
        assert machine.status["initContainerStatuses"][0]["ready"]

    on_machine(tmp_path, test)


def test_containers_wait_for_the_init_containers(tmp_path: Path) -> None:
    async def test(machine: Machine) -> None:
        init = {"name": "i", "image": IMAGE, "command": ["python3", "-c", WAIT]}
        machine.run(WAIT, initContainers=[init], volumes=[{"name": "v", "configMap": {"name": "config"}}])
        initializing = {"waiting": {"reason": "PodInitializing"}}
        await until(lambda: machine.container["state"])
        assert machine.status["initContainerStatuses"][0]["state"] == initializing
        machine.config(text="hello")
        await until(lambda: "running" in machine.status["initContainerStatuses"][0]["state"])
        assert machine.container["state"] == initializing
        conditions = {each["type"]: each for each in machine.status["conditions"]}
        assert not machine.status["initContainerStatuses"][0]["ready"]
        assert conditions["Initialized"]["message"] == "containers with incomplete status: [i]"

    on_machine(tmp_path, test)


def test_a_pod_goes_on_when_the_cluster_is_started_again(tmp_path: Path) -> None:
    async def main() -> None:
        machine = Machine(tmp_path)
        machine.nodes.start()
        machine.run(WAIT)
        await until(lambda: "pid" in machine.log)
        await machine.nodes.stop()
        assert machine.status["phase"] == "Running"
        again = Machine.nodes_of(machine.writer, tmp_path)
        again.start()
        try:
            await until(lambda: again.logs.read("default", "p", "c"))
            assert machine.container["restartCount"] == 1
        finally:
            await again.stop()

    asyncio.run(main())
