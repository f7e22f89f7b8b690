"""Webhooks that are really called over TLS, and what waits for them and what does not."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from moorage.cluster.access.requests import Answer, Stream
from moorage.cluster.base.store import Document
from moorage.cluster.embedded import ADMIN
from tests.cluster.api_worlds import CONFIG_MAPS, PODS, Reply, World, config_map, living, pod
from tests.webhook_server import Review, WebhookServer, denying, patching, response

CONFIGURATIONS = "/apis/admissionregistration.k8s.io/v1/{}webhookconfigurations"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
THINGS = "/apis/example.com/{}/namespaces/default/things"


def hook(server: WebhookServer, path: str, *resources: str, **fields: Any) -> Document:
    rule = {"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": list(resources)}
    return {
        "name": f"{path}.hooks.example.com",
        "clientConfig": server.client(path),
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "rules": [rule],
        **fields,
    }


def install(world: World, kind: str, *hooks: Document, name: str = "hooks") -> None:
    configuration = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": f"{kind}WebhookConfiguration",
        "metadata": {"name": name},
        "webhooks": list(hooks),
    }
    world.create(CONFIGURATIONS.format(kind.lower()), configuration)


async def ask(world: World, method: str, path: str, body: Any = b"", **params: str) -> Reply:
    request = World._request(method, path, body, "application/json", "", ADMIN, None, params)
    answer = await world.cluster.respond(request)
    assert isinstance(answer, Answer)
    warnings = tuple(value for name, value in answer.headers if name == "Warning")
    return Reply(answer.status, json.loads(answer.body), dict(answer.headers), warnings)


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not holds():
            await asyncio.sleep(0.01)


def in_world(test: Callable[[World, WebhookServer], Awaitable[None]]) -> None:
    async def run() -> None:
        world = World().prepared()
        with WebhookServer() as server:
            await test(world, server)
        await world.cluster._webhooks.close()

    asyncio.run(run())


def test_nobody_waits_for_a_webhook_that_hangs() -> None:
    async def check(world: World, server: WebhookServer) -> None:
        server.behaviours["hang"] = server.hang
        install(world, "Validating", hook(server, "hang", "configmaps", timeoutSeconds=30))
        waiting = asyncio.create_task(ask(world, "POST", CONFIG_MAPS, config_map("held")))
        await until(lambda: bool(server.seen.get("hang")))

        assert (await ask(world, "GET", CONFIG_MAPS)).names == []
        assert (await ask(world, "POST", PODS, pod("other"))).code == 201
        assert (await ask(world, "DELETE", f"{PODS}/other")).code == 200
        assert not waiting.done()
        server.behaviours["hang"] = response
        server.release.set()
        assert "EOF" in (await waiting).message
        assert (await ask(world, "POST", CONFIG_MAPS, config_map("held"))).code == 201

    in_world(check)


def test_a_request_has_a_time_of_its_own() -> None:
    async def check(world: World, server: WebhookServer) -> None:
        server.behaviours["hang"] = server.hang
        install(world, "Mutating", hook(server, "hang", "configmaps", timeoutSeconds=30))
        reply = await ask(world, "POST", CONFIG_MAPS, config_map("held"), timeout="50ms")
        assert (reply.code, reply.document["reason"]) == (504, "Timeout")
        assert (await ask(world, "GET", CONFIG_MAPS)).names == []

    in_world(check)


def test_an_object_that_changes_meanwhile_is_looked_at_again() -> None:
    async def check(world: World, server: WebhookServer) -> None:
        world.create(CONFIG_MAPS, config_map("shared", a="1"))
        asked, go_on = threading.Event(), threading.Event()

        def slowly(review: Review) -> Review:
            asked.set()
            go_on.wait(10)
            return response(review)

        server.behaviours["slow"] = slowly
        selected = {"matchConditions": [{"name": "b", "expression": "'b' in object.data"}]}
        install(world, "Validating", hook(server, "slow", "configmaps", **selected))
        slow = asyncio.create_task(ask_patch(world, f"{CONFIG_MAPS}/shared", {"data": {"b": "2"}}))
        await until(asked.is_set)
        assert (await ask_patch(world, f"{CONFIG_MAPS}/shared", {"data": {"a": "changed"}})).code == 200
        go_on.set()
        reply = await slow
        assert reply.document["data"] == {"a": "changed", "b": "2"}
        assert [review["request"]["oldObject"]["data"] for review in server.seen["slow"]] == [
            {"a": "1"},
            {"a": "changed"},
        ]

    in_world(check)


async def ask_patch(world: World, path: str, patch: Document) -> Reply:
    content = "application/merge-patch+json"
    request = World._request("PATCH", path, patch, content, "", ADMIN, None, {})
    answer = await world.cluster.respond(request)
    assert isinstance(answer, Answer)
    return Reply(answer.status, json.loads(answer.body), {})


def test_webhooks_are_asked_in_order_and_again_if_needed() -> None:
    async def check(world: World, server: WebhookServer) -> None:
        def note(name: str) -> Callable[[Review], Review]:
            def behave(review: Review) -> Review:
                data = review["request"]["object"].get("data") or {}
                order = data.get("order", "") + name
                return patching({"op": "add", "path": "/data", "value": {"order": order}})(review)  # type: ignore[return-value]

            return behave

        for name in "abc":
            server.behaviours[name] = note(name)
        again = {"reinvocationPolicy": "IfNeeded"}
        install(world, "Mutating", hook(server, "c", "configmaps"), name="z")
        install(
            world,
            "Mutating",
            hook(server, "b", "configmaps", **again),
            hook(server, "a", "configmaps"),
            name="y",
        )
        reply = await ask(world, "POST", CONFIG_MAPS, config_map("x"))
        assert reply.document["data"]["order"] == "bacb"

    in_world(check)


def test_an_object_that_is_changed_is_completed_and_checked_again() -> None:
    async def check(world: World, server: WebhookServer) -> None:
        container = {"name": "more", "image": "x:1"}
        server.behaviours["inject"] = patching(
            {"op": "add", "path": "/spec/containers/-", "value": container}
        )
        install(world, "Mutating", hook(server, "inject", "pods"))
        created = (await ask(world, "POST", PODS, pod("injected"))).document
        injected = created["spec"]["containers"][1]
        assert injected["imagePullPolicy"] == "IfNotPresent"
        assert injected["volumeMounts"][0]["mountPath"].endswith("serviceaccount")
        again = await ask(world, "POST", PODS, pod("twice", containers=[container]))
        assert again.code == 422 and "Duplicate value" in again.message

    in_world(check)


def test_a_collection_is_deleted_object_by_object() -> None:
    async def check(world: World, server: WebhookServer) -> None:
        for name in "abc":
            world.create(CONFIG_MAPS, config_map(name))
        server.behaviours["ok"] = response
        install(world, "Validating", hook(server, "ok", "configmaps"))
        reply = await ask(world, "DELETE", CONFIG_MAPS)
        assert reply.names == ["a", "b", "c"]
        assert [review["request"]["name"] for review in server.seen["ok"]] == ["a", "b", "c"]
        assert world.get(CONFIG_MAPS)["items"] == []

    in_world(check)


def test_a_dry_run_asks_and_writes_nothing() -> None:
    async def check(world: World, server: WebhookServer) -> None:
        server.behaviours["ok"] = response
        install(world, "Validating", hook(server, "ok", "configmaps"))
        assert (await ask(world, "POST", CONFIG_MAPS, config_map("x"), dryRun="All")).code == 201
        request = server.seen["ok"][0]["request"]
        assert request["dryRun"] is True and request["options"]["dryRun"] == ["All"]
        assert world.get(CONFIG_MAPS)["items"] == []

    in_world(check)


def test_configurations_are_nobody_elses_business() -> None:
    async def check(world: World, server: WebhookServer) -> None:
        server.behaviours["deny"] = denying(message="never")
        install(world, "Validating", hook(server, "deny", "*/*"))
        path = CONFIGURATIONS.format("validating")
        assert (await ask(world, "POST", CONFIG_MAPS, config_map("x"))).code == 400
        assert (await ask(world, "DELETE", f"{path}/hooks")).code == 200
        assert (await ask(world, "POST", CONFIG_MAPS, config_map("x"))).code == 201

    in_world(check)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


def test_controllers_ask_too(folder: Path) -> None:
    async def check() -> None:
        with WebhookServer() as server:
            label = {"op": "add", "path": "/metadata/labels/injected", "value": "yes"}
            server.behaviours["label"] = patching(label)
            async with living(folder) as world:
                install(world, "Mutating", hook(server, "label", "pods"))
                labels = {"app": "web"}
                template = {"metadata": {"labels": labels}, "spec": pod()["spec"]}
                spec = {"replicas": 3, "selector": {"matchLabels": labels}, "template": template}
                document = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}}
                world.create(DEPLOYMENTS, {**document, "spec": spec})
                await until(lambda: len(world.store.objects("pods")) == 3)
                pods = world.store.objects("pods")
                assert [each.labels["injected"] for each in pods] == ["yes"] * 3
                assert len(server.seen["label"]) == 3

    asyncio.run(check())


def test_what_a_controller_may_not_do_is_an_event(folder: Path) -> None:
    async def check() -> None:
        with WebhookServer() as server:
            server.behaviours["deny"] = denying(message="no pods today")
            async with living(folder) as world:
                install(world, "Validating", hook(server, "deny", "pods"))
                labels = {"app": "web"}
                template = {"metadata": {"labels": labels}, "spec": pod()["spec"]}
                spec = {"replicas": 1, "selector": {"matchLabels": labels}, "template": template}
                document = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "web"}}
                world.create(DEPLOYMENTS.replace("deployments", "replicasets"), {**document, "spec": spec})

                def told() -> bool:
                    messages = [each.document.get("message", "") for each in world.store.objects("events")]
                    return any("no pods today" in message for message in messages)

                await until(told)

    asyncio.run(check())


# Conversion


def converted(review: Review) -> Review:
    """In v1 a thing has a size, in v2 that is an object."""
    request = review["request"]
    objects = []
    for each in request["objects"]:
        size = each["spec"]["size"]
        size = {"value": size} if request["desiredAPIVersion"].endswith("v2") else size["value"]
        objects.append({**each, "apiVersion": request["desiredAPIVersion"], "spec": {"size": size}})
    answer = {"uid": request["uid"], "convertedObjects": objects, "result": {"status": "Success"}}
    return {"kind": review["kind"], "apiVersion": review["apiVersion"], "response": answer}


def definition(server: WebhookServer) -> Document:
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    versions = [
        {"name": name, "served": True, "storage": name == "v2", "schema": schema} for name in ("v1", "v2")
    ]
    webhook = {"conversionReviewVersions": ["v1"], "clientConfig": server.client("convert")}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "things.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "things", "kind": "Thing"},
            "versions": versions,
            "conversion": {"strategy": "Webhook", "webhook": webhook},
        },
    }


def thing(name: str, version: str, size: Any) -> Document:
    head = {"apiVersion": f"example.com/{version}", "kind": "Thing", "metadata": {"name": name}}
    return {**head, "spec": {"size": size}}


def test_custom_objects_are_converted_by_a_webhook() -> None:
    async def check(world: World, server: WebhookServer) -> None:
        server.behaviours["convert"] = converted
        world.create(DEFINITIONS, definition(server))
        await asyncio.sleep(0)
        v1, v2 = THINGS.format("v1"), THINGS.format("v2")
        created = await ask(world, "POST", v1, thing("a", "v1", 1))
        assert created.document["spec"] == {"size": 1}
        assert (await ask(world, "POST", v2, thing("b", "v2", {"value": 2}))).code == 201
        assert (await ask(world, "GET", f"{v2}/a")).document["spec"] == {"size": {"value": 1}}
        listed = await ask(world, "GET", v1)
        assert [each["spec"]["size"] for each in listed.document["items"]] == [1, 2]
        calls = len(server.seen["convert"])
        assert (await ask(world, "GET", v1)).code == 200
        assert len(server.seen["convert"]) == calls  # what is known is not asked again

        request = World._request("GET", v1, b"", "", "", ADMIN, None, {"watch": "true"})
        stream = await world.cluster.respond(request)
        assert isinstance(stream, Stream)
        assert (await anext(stream.chunks)).count(b"ADDED") == 2
        for size in range(3, 6):
            patch = {"spec": {"size": {"value": size}}}
            assert (await ask_patch(world, f"{v2}/b", patch)).code == 200
        sizes: list[int] = []
        while len(sizes) < 3:
            chunk = await asyncio.wait_for(anext(stream.chunks), 5)
            sizes += [json.loads(line)["object"]["spec"]["size"] for line in chunk.splitlines()]
        assert sizes == [3, 4, 5]
        await stream.close()

    in_world(check)


def wrongly(**changes: Any) -> Callable[[Review], Review]:
    def behave(review: Review) -> Review:
        answer = converted(review)
        for each in answer["response"]["convertedObjects"]:
            each.update({name: change for name, change in changes.items() if name != "metadata"})
            each["metadata"] = {**each["metadata"], **changes.get("metadata", {})}
        return answer

    return behave


def fewer(review: Review) -> Review:
    answer = converted(review)
    answer["response"]["convertedObjects"] = []
    return answer


def failed(review: Review) -> Review:
    answer = converted(review)
    answer["response"]["result"] = {"status": "Failed", "message": "I will not"}
    return answer


@pytest.mark.parametrize(
    ("behaviour", "why"),
    [
        (wrongly(metadata={"name": "x"}), "returned invalid object: must have the same name: a != x"),
        (wrongly(metadata={"uid": "x"}), "returned invalid object: must have the same UID"),
        (wrongly(kind="Other"), "invalid kind (expected Thing, received Other)"),
        (wrongly(apiVersion="example.com/v3"), "invalid groupVersion (expected example.com/v2, received"),
        (wrongly(metadata={"labels": {"a": 1}}), "metadata.labels[a] must be a string"),
        (fewer, "returned 0 objects, expected 1"),
        (failed, "failed: I will not"),
        (response, "failed: expected response.uid="),
        (lambda review: None, "EOF"),
    ],
)
def test_what_is_converted_wrongly_is_not_taken(behaviour: Any, why: str) -> None:
    async def check(world: World, server: WebhookServer) -> None:
        server.behaviours["convert"] = behaviour
        world.create(DEFINITIONS, definition(server))
        await asyncio.sleep(0)
        reply = await ask(world, "POST", THINGS.format("v1"), thing("a", "v1", 1))
        assert reply.code == 500
        assert reply.message.startswith("conversion webhook for example.com/v1, Kind=Thing ")
        assert why in reply.message

    if behaviour is response:
        behaviour = lambda review: {**converted(review), "response": {"uid": "x", "result": {}}}  # noqa: E731
    in_world(check)
