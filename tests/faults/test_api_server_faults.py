"""API servers and etcd freeze, crash, fill up and forget, and lines to them are cut."""

import asyncio
import contextlib
import time
from collections.abc import Iterator

import pytest

from moorage.api.pods import Pod
from moorage.client.connection import find
from moorage.client.errors import Invalid
from moorage.client.http import HttpClient
from moorage.client.informer import Informer
from moorage.client.resources import Resource
from tests.controlplane.schedulers import pod
from tests.controlplane.servers import ControlPlane, wait_for
from tests.faults.proxy import Balancer
from tests.faults.scene import Scene

pytestmark = pytest.mark.soak

STEADY = 30
"""Binds in a second, so that the middle of the work can be met."""


@pytest.fixture(scope="module")
def servers(plane: ControlPlane) -> tuple[str, str]:
    return plane.url, plane.start_another_apiserver()


@pytest.fixture
def balancer(servers: tuple[str, str]) -> Iterator[Balancer]:
    with Balancer(*servers) as running:
        yield running


def test_one_of_two_api_servers_freezes(scene: Scene, balancer: Balancer, soak: bool) -> None:
    """Nothing is closed, nothing comes: watches that stood there are noticed to be dead, and go elsewhere."""
    balancer.refuse(1)  # all watches are on one connection, and it is to lead to the first
    with scene.scheduler(scene.kubeconfig("moorage", balancer.url), serve=True) as process:
        balancer.accept(1)
        for frozen in (0, 1) if soak else (0,):
            assert balancer.open_connections(frozen)
            balancer.freeze(frozen)
            process.wait_until("it says so", lambda: process.get("/readyz") != (200, "ok"), seconds=40)
            scene.create_pods(scene.size.pods // 2)
            scene.wait_until_all_are_bound(process)
            process.wait_until("readiness", lambda: process.get("/readyz") == (200, "ok"))
            balancer.cut(frozen)
            balancer.thaw(frozen)
    scene.audit()


def test_an_informer_leaves_a_frozen_api_server(scene: Scene, balancer: Balancer) -> None:
    config = find(str(scene.kubeconfig("moorage", balancer.url)))
    seen: set[str] = set()

    async def watch() -> None:
        async with HttpClient(config, silence_seconds=1.0) as client:
            informer = Informer(
                client,
                Resource.of(Pod),
                added=lambda pod: seen.add(pod.name),
                updated=lambda old, new: None,
                deleted=lambda pod: None,
            )
            running = asyncio.create_task(informer.run())
            await informer.wait_synced()
            for frozen in (0, 1):
                balancer.freeze(frozen)
                names = set(await asyncio.to_thread(scene.create_pods, 1))
                async with asyncio.timeout(30):
                    while not names <= seen:
                        await asyncio.sleep(0.05)
                balancer.cut(frozen)
                balancer.thaw(frozen)
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)

    asyncio.run(watch())


def test_the_network_is_cut_while_pods_come_and_nodes_go(
    scene: Scene, balancer: Balancer, soak: bool
) -> None:
    size = scene.size
    with scene.scheduler(scene.kubeconfig("moorage", balancer.url)) as process:
        first = scene.create_pods(size.pods // 2)
        scene.wait_until_all_are_bound(process)
        balancer.freeze()
        # A third of the nodes goes with its pods; as many pods as there is room for then come.
        gone = [f"node-{number}" for number in range(size.nodes // 3)]
        on_them = [name for name, node in scene.api.bound().items() if node in gone]
        scene.delete_pods(on_them)
        scene.api.delete(*(f"/api/v1/nodes/{name}" for name in gone))
        left = len(first) - len(on_them)
        scene.create_pods((size.nodes - len(gone)) * size.cores - left)
        time.sleep(60 if soak else 1)
        balancer.cut()
        balancer.thaw()
        scene.wait_until_all_are_bound(process)
    # The watch of pods may come back before that of nodes.
    scene.audit(gone=gone)


def test_an_api_server_is_killed_in_the_middle_of_the_work(scene: Scene) -> None:
    with scene.scheduler(scene.kubeconfig("moorage"), qps=STEADY * scene.size.rounds) as process:
        scene.create_pods(scene.size.pods)
        process.wait_until("some binds", lambda: scene.bound() > scene.size.pods / 6)
        scene.plane.kill_apiserver()
        assert scene.bound_in_etcd() < scene.size.pods
        scene.plane.start_apiserver()
        scene.wait_until_all_are_bound(process)
    scene.audit()


def test_etcd_is_killed_in_the_middle_of_the_work(scene: Scene) -> None:
    with scene.scheduler(scene.kubeconfig("moorage"), qps=STEADY * scene.size.rounds) as process:
        scene.create_pods(scene.size.pods)
        process.wait_until("some binds", lambda: scene.bound() > scene.size.pods / 6)
        scene.plane.restart_etcd()
        scene.wait_until_all_are_bound(process)
    scene.audit()


def test_etcd_has_no_space_for_a_while(scene: Scene) -> None:
    with scene.scheduler(scene.kubeconfig("moorage"), qps=STEADY * scene.size.rounds) as process:
        scene.create_pods(scene.size.pods)
        process.wait_until("some binds", lambda: scene.bound() > scene.size.pods / 6)
        with scene.plane.etcd_without_space():
            full = "database space exceeded"
            process.wait_until("a refused bind", lambda: full in process.log_text())
            before = scene.bound()
            assert before < scene.size.pods
        scene.wait_until_all_are_bound(process)
    scene.audit()


def test_the_history_is_gone_when_the_line_comes_back(scene: Scene, balancer: Balancer) -> None:
    size = scene.size
    with scene.scheduler(scene.kubeconfig("moorage", balancer.url)) as process:
        first = scene.create_pods(size.pods)
        scene.wait_until_all_are_bound(process)
        balancer.freeze()
        scene.delete_pods(first[::2])
        scene.create_pods(len(first[::2]))
        scene.history.read_and_forget()
        # It keeps recent changes in memory; a new one has to ask etcd, which has forgotten them.
        scene.plane.restart_apiserver()
        balancer.refuse(1)
        balancer.cut()
        balancer.thaw()
        scene.wait_until_all_are_bound(process)
        assert "listing again" in process.log_text()
    scene.audit()


def test_binds_are_refused_by_a_policy_for_a_while(scene: Scene) -> None:
    with scene.scheduler(scene.kubeconfig("moorage")) as process:
        with refused_binds(scene):
            scene.create_pods(scene.size.pods)
            process.wait_until("a refusal", lambda: scene.api.events("FailedScheduling"))
            assert scene.bound() == 0
            messages = {each["message"] for each in scene.api.events("FailedScheduling")}
            assert all("no binds today" in message for message in messages), messages
        scene.wait_until_all_are_bound(process)
    scene.audit()


POLICIES = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
POLICY = {
    "apiVersion": "admissionregistration.k8s.io/v1",
    "kind": "ValidatingAdmissionPolicy",
    "metadata": {"name": "no-binds"},
    "spec": {
        "failurePolicy": "Fail",
        "matchConstraints": {
            "resourceRules": [
                {
                    "apiGroups": [""],
                    "apiVersions": ["v1"],
                    "resources": ["pods/binding"],
                    "operations": ["CREATE"],
                }
            ]
        },
        "validations": [{"expression": "false", "message": "no binds today"}],
    },
}
POLICY_BINDING = {
    "apiVersion": "admissionregistration.k8s.io/v1",
    "kind": "ValidatingAdmissionPolicyBinding",
    "metadata": {"name": "no-binds"},
    "spec": {"policyName": "no-binds", "validationActions": ["Deny"]},
}


@contextlib.contextmanager
def refused_binds(scene: Scene) -> Iterator[None]:
    """The API server refuses all binds for the length of a `with` block."""
    api = scene.api
    api.create([pod("probe", scheduler="nobody")])
    target = {"kind": "Node", "name": "node-0"}
    body = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "probe"}, "target": target}

    def refused() -> bool:
        try:
            api.request("POST", "/api/v1/namespaces/default/pods/probe/binding?dryRun=All", body)
        except Invalid:
            return True
        return False

    api.request("POST", POLICIES, POLICY)
    api.request("POST", POLICIES.replace("policies", "policybindings"), POLICY_BINDING)
    wait_for("the policy to be obeyed", refused)
    scene.delete_pods(["probe"])
    try:
        yield
    finally:
        api.delete(f"{POLICIES.replace('policies', 'policybindings')}/no-binds", f"{POLICIES}/no-binds")
