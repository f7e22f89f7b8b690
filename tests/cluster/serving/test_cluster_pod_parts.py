"""The parts of pods and workloads that have addresses of their own."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from moorage.cluster.base.store import Document
from moorage.cluster.life.nodes import default_nodes
from tests.cluster.api_worlds import PODS, World, living, pod
from tests.fake_time import run

MERGE_PATCH = "application/merge-patch+json"
BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
ZONE, REGION = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"


@pytest.fixture
def world() -> World:
    return World().prepared()


def binding(name: str, node: str = "n", **metadata: Any) -> Document:
    return {"metadata": {"name": name, **metadata}, "target": {"kind": "Node", "name": node}}


def bind(world: World, name: str, node: str = "n", **metadata: Any) -> Document:
    world.create(f"{PODS}/{name}/binding", binding(name, node, **metadata))
    return world.get(f"{PODS}/{name}")


# Binding


def test_a_binding_gives_a_pod_its_node(world: World) -> None:
    world.create("/api/v1/nodes", {"metadata": {"name": "n", "labels": {ZONE: "z", REGION: "r", "x": "y"}}})
    world.create(PODS, pod("p", labels={"a": "b"}))
    bound = bind(world, "p", annotations={"why": "best"})
    assert bound["spec"]["nodeName"] == "n"
    assert bound["metadata"]["labels"] == {"a": "b", ZONE: "z", REGION: "r"}
    assert bound["metadata"]["annotations"] == {"why": "best"}
    [condition] = [each for each in bound["status"]["conditions"] if each["type"] == "PodScheduled"]
    assert condition["status"] == "True"


def test_a_bound_pod_is_nominated_to_no_node(world: World) -> None:
    created = world.create(PODS, pod("p"))
    nominated = {**created, "status": {**created["status"], "nominatedNodeName": "n"}}
    world.done("PUT", f"{PODS}/p/status", nominated)
    assert world.get(f"{PODS}/p")["status"]["nominatedNodeName"] == "n"
    assert "nominatedNodeName" not in bind(world, "p")["status"]


def test_a_pod_is_bound_once(world: World) -> None:
    world.create(PODS, pod("p"))
    bind(world, "p")
    reply = world.ask("POST", f"{PODS}/p/binding", binding("p", "other"))
    assert (reply.code, reply.document["reason"]) == (409, "Conflict")
    assert reply.message == (
        'Operation cannot be fulfilled on pods/binding "p": pod p is already assigned to node "n"'
    )


def test_bindings_that_are_refused(world: World) -> None:
    created = world.create(PODS, pod("p"))
    world.create(PODS, pod("gated", schedulingGates=[{"name": "example.com/wait"}]))
    held = pod("going")
    held["metadata"]["finalizers"] = ["example.com/hold"]
    world.create(PODS, held)
    world.done("DELETE", f"{PODS}/going")

    def refused(name: str, body: Document) -> tuple[int, str]:
        reply = world.ask("POST", f"{PODS}/{name}/binding", body)
        return reply.code, reply.message.rpartition('": ')[2]

    assert refused("none", binding("none")) == (404, 'pods "none" not found')
    assert refused("gated", binding("gated")) == (409, "pod gated has non-empty .spec.schedulingGates")
    assert refused("going", binding("going")) == (
        409,
        "pod going is being deleted, cannot be assigned to a host",
    )
    assert refused("p", binding("other"))[0] == 400
    assert refused("p", {"metadata": {"name": "p"}, "target": {}}) == (400, "target.name: Required value")
    assert refused("p", {"metadata": {"name": "p"}, "target": {"kind": "Pod", "name": "n"}})[0] == 400
    mistaken = world.ask("POST", f"{PODS}/p/binding", binding("p", uid="x")).message
    assert mistaken == (
        'Operation cannot be fulfilled on pods "p": StorageError: invalid object, Code: 4, Key: '
        "/registry/pods/default/p, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: "
        f"UID in precondition: x, UID in object meta: {created['metadata']['uid']}"
    )
    assert world.ask("POST", f"{PODS}/p/binding", binding("p"), dryRun="All").code == 201
    assert "nodeName" not in world.get(f"{PODS}/p")["spec"]
    assert bind(world, "p", uid=created["metadata"]["uid"])["spec"]["nodeName"] == "n"


def test_a_binding_posted_to_the_collection(world: World) -> None:
    world.create(PODS, pod("p"))
    world.create("/api/v1/namespaces/default/bindings", binding("p"))
    assert world.get(f"{PODS}/p")["spec"]["nodeName"] == "n"


@pytest.mark.parametrize(
    ("path", "resource"),
    [
        ("pods/p/binding", "pods"),
        ("bindings", "bindings"),
        ("pods/p/eviction", "pods"),
        ("serviceaccounts/p/token", "serviceaccounts"),
    ],
)
def test_nothing_is_posted_to_a_namespace_that_ends(world: World, path: str, resource: str) -> None:
    body = {"metadata": {"name": "p"}}
    if "binding" in path:
        body = binding("p")
    reply = world.ask("POST", f"/api/v1/namespaces/nowhere/{path}", body)
    assert (reply.code, reply.message) == (404, 'namespaces "nowhere" not found')
    world.create("/api/v1/namespaces", {"metadata": {"name": "going"}})
    world.create("/api/v1/namespaces/going/serviceaccounts", {"metadata": {"name": "default"}})
    world.create("/api/v1/namespaces/going/pods", pod("p"))
    world.done("DELETE", "/api/v1/namespaces/going")
    reply = world.ask("POST", f"/api/v1/namespaces/going/{path}", body)
    why = "unable to create new content in namespace going because it is being terminated"
    assert (reply.code, reply.message) == (403, f'{resource} "p" is forbidden: {why}')
    [cause] = reply.document["details"]["causes"]
    assert cause["reason"] == "NamespaceTerminating"


# Eviction


def evict(world: World, name: str, **params: Any) -> tuple[int, Any]:
    reply = world.ask("POST", f"{PODS}/{name}/eviction", {"metadata": {"name": name}}, **params)
    return reply.code, reply.document


def test_evictions_ask_the_budgets(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with living(tmp_path, default_nodes(1)) as world:
            budget = {
                "metadata": {"name": "b"},
                "spec": {"minAvailable": 2, "selector": {"matchLabels": {"a": "b"}}},
            }
            world.create(BUDGETS, budget)
            [node] = world.ask("GET", "/api/v1/nodes").names
            await asyncio.sleep(1)
            for name in ("p1", "p2", "p3"):
                world.create(PODS, pod(name, labels={"a": "b"}))
                bind(world, name, node)
            world.create(PODS, pod("other"))
            bind(world, "other", node)
            await asyncio.sleep(30)
            status = world.get(f"{BUDGETS}/b")["status"]
            assert (status["currentHealthy"], status["disruptionsAllowed"]) == (3, 1)
            assert evict(world, "p1", dryRun="All")[0] == 201
            assert evict(world, "p1")[0] == 201
            code, refusal = evict(world, "p2")
            assert (code, refusal["reason"]) == (429, "TooManyRequests")
            assert refusal["message"] == "Cannot evict pod as it would violate the pod's disruption budget."
            [cause] = refusal["details"]["causes"]
            assert cause["reason"] == "DisruptionBudget"
            assert evict(world, "other")[0] == 201, "no budget selects it"
            assert evict(world, "none")[0] == 404
            await asyncio.sleep(60)
            assert world.ask("GET", PODS).names == ["p2", "p3"]

    run(scenario())


# Scale


TEMPLATE = {"metadata": {"labels": {"a": "b"}}, "spec": pod("x")["spec"]}
SELECTOR = {"matchLabels": {"a": "b"}}


@pytest.mark.parametrize(
    ("collection", "spec"),
    [
        ("/apis/apps/v1/namespaces/default/deployments", {"selector": SELECTOR, "template": TEMPLATE}),
        ("/apis/apps/v1/namespaces/default/replicasets", {"selector": SELECTOR, "template": TEMPLATE}),
        (
            "/apis/apps/v1/namespaces/default/statefulsets",
            {"selector": SELECTOR, "template": TEMPLATE, "serviceName": "s"},
        ),
        ("/api/v1/namespaces/default/replicationcontrollers", {"selector": {"a": "b"}, "template": TEMPLATE}),
    ],
)
def test_the_scale_of_workloads(world: World, collection: str, spec: Document) -> None:
    made = world.create(collection, {"metadata": {"name": "w"}, "spec": {**spec, "replicas": 2}})
    path = f"{collection}/w/scale"
    scale = world.get(path)
    assert (scale["kind"], scale["apiVersion"]) == ("Scale", "autoscaling/v1")
    assert scale["metadata"]["uid"] == made["metadata"]["uid"]
    assert scale["spec"] == {"replicas": 2}
    assert scale["status"] == {"replicas": 0, "selector": "a=b"}
    changed = world.done("PUT", path, {**scale, "spec": {"replicas": 5}})
    assert changed["spec"] == {"replicas": 5}
    assert world.ask("PUT", path, scale).code == 409, "it was read before the change"
    assert world.done("PATCH", path, {"spec": {"replicas": 0}}, content_type=MERGE_PATCH)["spec"] == {}
    after = world.get(f"{collection}/w")
    assert (after["spec"]["replicas"], after["metadata"]["generation"]) == (0, 3)
    wrong = world.ask("PATCH", path, {"spec": {"replicas": -1}}, content_type=MERGE_PATCH)
    assert (wrong.code, "spec.replicas: Invalid value: -1" in wrong.message) == (422, True)
    assert world.ask("PATCH", path, b"x", content_type="text/plain").code == 415


# Logs


def test_logs(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with living(tmp_path, default_nodes(1)) as world:
            await asyncio.sleep(1)
            world.create(PODS, pod("p", containers=[{"name": name, "image": "x"} for name in ("a", "b")]))
            reply = world.ask("GET", f"{PODS}/p/log")
            assert "a container name must be specified for pod p, choose one of: [a b]" in reply.message
            assert (
                "container c is not valid for pod p"
                in world.ask("GET", f"{PODS}/p/log", container="c").message
            )
            reply = world.ask("GET", f"{PODS}/p/log", container="a")
            assert (reply.code, reply.document) == (200, ""), "without a node it has written nothing"
            [node] = world.ask("GET", "/api/v1/nodes").names
            bind(world, "p", node)
            await asyncio.sleep(10)
            assert world.ask("GET", f"{PODS}/p/log", container="a").code == 200
            assert world.ask("GET", f"{PODS}/p/log", container="a", tailLines="-1").code == 400

    run(scenario())
