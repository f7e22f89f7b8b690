"""The client and the informer against a real API server."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import aclosing
from dataclasses import replace
from typing import Any, ClassVar

import pytest

from moorage.api.meta import Object
from moorage.api.nodes import Node
from moorage.api.pods import Condition, Pod
from moorage.client.connection import ConnectionConfig, Impersonation, find
from moorage.client.errors import (
    AlreadyExists,
    ApiError,
    Conflict,
    Forbidden,
    Gone,
    Invalid,
    NotFound,
    Unauthorized,
    Unreachable,
)
from moorage.client.http import HttpClient
from moorage.client.informer import Informer
from moorage.client.pod_writer import PodWriter
from moorage.client.resources import Resource
from moorage.client.watching import Change
from tests.controlplane.servers import ControlPlane

SECONDS = 60.0


class ConfigMap(Object, kw_only=True):
    kind: ClassVar[str] = "ConfigMap"
    resource: ClassVar[str] = "configmaps"

    data: dict[str, str] = {}


CONFIG_MAPS, NODES, PODS = Resource.of(ConfigMap), Resource.of(Node), Resource.of(Pod)
ACCOUNTS = Resource("", "v1", "serviceaccounts", "ServiceAccount", True, Object)
CRDS = Resource(
    "apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", False, Object
)
WIDGETS = Resource("shop.example.com", "v1", "widgets", "Widget", True, Object)


def config_map(name: str, **data: str) -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": "default"}, "data": data}


def pod(name: str) -> dict[str, Any]:
    return {
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"containers": [{"name": "main", "image": "none"}]},
    }


def talk(
    plane: ControlPlane,
    conversation: Callable[[HttpClient], Coroutine[Any, Any, None]],
    change: Callable[[ConnectionConfig], ConnectionConfig] = lambda config: config,
    *,
    seconds: float = SECONDS,
) -> None:
    async def main() -> None:
        async with asyncio.timeout(seconds):
            async with HttpClient(change(find(str(plane.kubeconfig))), qps=-1) as client:
                await conversation(client)

    asyncio.run(main())


def test_create_get_update_delete(control_plane: ControlPlane) -> None:
    async def conversation(client: HttpClient) -> None:
        made = await client.create(CONFIG_MAPS, config_map("crud", a="1"))
        assert made["metadata"]["uid"]
        with pytest.raises(AlreadyExists, match='configmaps "crud" already exists'):
            await client.create(CONFIG_MAPS, config_map("crud"))

        found = await client.get(CONFIG_MAPS, "crud", namespace="default")
        assert (found.uid, found.data) == (made["metadata"]["uid"], {"a": "1"})

        newer = await client.update(CONFIG_MAPS, {**made, "data": {"a": "2"}})
        assert newer["data"] == {"a": "2"}
        with pytest.raises(Conflict, match="the object has been modified"):
            await client.update(CONFIG_MAPS, {**made, "data": {"a": "3"}})
        with pytest.raises(Invalid):
            await client.create(CONFIG_MAPS, config_map("Not A Name"))

        with pytest.raises(Conflict):
            await client.delete(CONFIG_MAPS, "crud", namespace="default", uid="another")
        uid, version = newer["metadata"]["uid"], newer["metadata"]["resourceVersion"]
        await client.delete(CONFIG_MAPS, "crud", namespace="default", uid=uid, resource_version=version)
        with pytest.raises(NotFound, match='configmaps "crud" not found') as caught:
            await client.get(CONFIG_MAPS, "crud", namespace="default")
        assert (caught.value.code, caught.value.reason) == (404, "NotFound")
        assert (await client.request_json("GET", "/version"))["major"] == "1"

    talk(control_plane, conversation)


def test_all_kinds_of_patches(control_plane: ControlPlane) -> None:
    async def conversation(client: HttpClient) -> None:
        await client.create(PODS, pod("patched"))
        where: dict[str, Any] = {"namespace": "default"}
        patched = await client.patch(PODS, "patched", {"metadata": {"labels": {"a": "1"}}}, **where)
        assert patched["metadata"]["labels"] == {"a": "1"}
        remove = [{"op": "remove", "path": "/metadata/labels/a"}]
        patched = await client.patch(PODS, "patched", remove, kind="json", **where)
        assert "labels" not in patched["metadata"]
        image = {"spec": {"containers": [{"name": "main", "image": "other"}]}}
        patched = await client.patch(PODS, "patched", image, kind="strategic", **where)
        assert [each["image"] for each in patched["spec"]["containers"]] == ["other"]

        applied = {"apiVersion": "v1", "kind": "ConfigMap", **config_map("applied", a="1")}
        apply: dict[str, Any] = {"kind": "apply", **where}
        assert (await client.patch(CONFIG_MAPS, "applied", applied, **apply))["data"] == {"a": "1"}
        applied["data"] = {"a": "2"}
        with pytest.raises(Conflict, match="conflict"):
            await client.patch(CONFIG_MAPS, "applied", applied, field_manager="other", **apply)
        forced = await client.patch(
            CONFIG_MAPS, "applied", applied, field_manager="other", force=True, **apply
        )
        assert forced["data"] == {"a": "2"}

    talk(control_plane, conversation)


def test_paged_list(control_plane: ControlPlane) -> None:
    async def conversation(client: HttpClient) -> None:
        names = {f"page-{number}" for number in range(1200)}
        for batch in range(0, 1200, 100):
            await asyncio.gather(
                *(
                    client.create(NODES, {"metadata": {"name": name}})
                    for name in sorted(names)[batch : batch + 100]
                )
            )
        for limit in (500, 7000, 0):
            listing = await client.list(NODES, limit=limit)
            assert {item.name for item in listing.items} >= names
            assert len({item.uid for item in listing.items}) == len(listing.items)
        one = await client.list(NODES, field_selector="metadata.name=page-7", resource_version="0")
        assert [item.name for item in one.items] == ["page-7"]

    talk(control_plane, conversation)


def test_watch(control_plane: ControlPlane) -> None:
    async def conversation(client: HttpClient) -> None:
        start = (await client.list(CONFIG_MAPS)).resource_version
        await client.create(CONFIG_MAPS, config_map("watched", a="x" * 700_000))
        await client.patch(CONFIG_MAPS, "watched", {"data": {"b": "1"}}, namespace="default")
        await client.delete(CONFIG_MAPS, "watched", namespace="default")
        watch = client.watch(
            CONFIG_MAPS, resource_version=start, field_selector="metadata.name=watched", timeout_seconds=4
        )
        changes: list[Change[ConfigMap]] = [change async for change in watch]
        assert [change.type for change in changes[:3]] == ["ADDED", "MODIFIED", "DELETED"]
        assert changes[1].object is not None and changes[1].object.data["b"] == "1"
        # A bookmark comes shortly before the server ends a watch, unless it misses that moment.
        assert {change.type for change in changes[3:]} <= {"BOOKMARK"}
        versions = [int(change.resource_version) for change in changes]
        assert versions == sorted(versions)

    talk(control_plane, conversation)


def test_a_quiet_watch_is_ended_by_the_server_in_time(control_plane: ControlPlane) -> None:
    """By this, and not by bookmarks, which come once a minute, a server is known to be alive."""
    heard: list[str] = []

    async def conversation(client: HttpClient) -> None:
        start = (await client.list(CONFIG_MAPS)).resource_version
        watch = client.watch(
            CONFIG_MAPS,
            resource_version=start,
            field_selector="metadata.name=none",
            timeout_seconds=1,
            heard=lambda: heard.append("something"),
        )
        async with aclosing(watch) as changes:
            assert [change.type async for change in changes if change.type != "BOOKMARK"] == []

    talk(control_plane, conversation)
    assert heard


def test_ancient_resource_version_is_gone(control_plane: ControlPlane) -> None:
    async def conversation(client: HttpClient) -> None:
        async with aclosing(client.watch(PODS, resource_version="1", timeout_seconds=5)) as changes:
            with pytest.raises(Gone, match="too old resource version"):
                await anext(changes)

    # A server that has just started has forgotten all that was before.
    control_plane.restart_apiserver()
    talk(control_plane, conversation)


def test_bind(control_plane: ControlPlane) -> None:
    async def conversation(client: HttpClient) -> None:
        await client.create(NODES, {"metadata": {"name": "target"}})
        names = [f"bound-{number}" for number in range(200)]
        await asyncio.gather(*(client.create(PODS, pod(name)) for name in names))
        pods = [each for each in (await client.list(PODS)).items if each.name in names]
        await asyncio.gather(*(PodWriter(client).bind(each, "target") for each in pods))
        bound = await client.list(PODS, field_selector="spec.nodeName=target")
        assert {each.name for each in bound.items} == set(names)
        with pytest.raises(Conflict, match="already assigned to node"):
            await PodWriter(client).bind(pods[0], "target")

        await client.delete(PODS, names[0], namespace="default", grace_period_seconds=0)
        deleted = next(each for each in pods if each.name == names[0])
        with pytest.raises(NotFound):
            await PodWriter(client).bind(deleted, "target")
        await client.create(PODS, pod(names[0]))
        with pytest.raises(Conflict, match="UID"):  # another pod of the same name
            await PodWriter(client).bind(deleted, "target")

    talk(control_plane, conversation)


def test_pod_status(control_plane: ControlPlane) -> None:
    async def conversation(client: HttpClient) -> None:
        await client.create(PODS, pod("status"))
        made = await client.get(PODS, "status", namespace="default")
        now = "2026-01-01T00:00:00Z"
        waiting = Condition("PodScheduled", "False", "Unschedulable", "no room", now, 1)
        await PodWriter(client).write_pod_status(
            made, condition=Condition("Other", "True", "Why", "because", now)
        )
        await PodWriter(client).write_pod_status(made, condition=waiting, nominated_node="n")
        found = await client.get(PODS, "status", namespace="default")
        assert found.condition("PodScheduled") == waiting and found.condition("Other") is not None
        assert found.status.nominated_node_name == "n"

        await PodWriter(client).write_pod_status(
            made, condition=Condition("PodScheduled", "True"), nominated_node=""
        )
        found = await client.get(PODS, "status", namespace="default")
        condition = found.condition("PodScheduled")
        assert condition is not None
        assert (condition.status, condition.reason, condition.message) == ("True", "", "")
        assert found.status.nominated_node_name == ""

        await client.delete(PODS, "status", namespace="default", grace_period_seconds=0)
        with pytest.raises(NotFound):
            await PodWriter(client).write_pod_status(made, nominated_node="n")

    talk(control_plane, conversation)


def test_rights(control_plane: ControlPlane) -> None:
    tokens: list[str] = []

    async def account(client: HttpClient) -> None:
        await client.create(ACCOUNTS, {"metadata": {"name": "nobody", "namespace": "default"}})
        answer = await client.create(
            ACCOUNTS, {"spec": {}}, namespace="default", name="nobody", subresource="token"
        )
        tokens.append(answer["status"]["token"])

    def refused(kind: type[ApiError], text: str) -> Callable[[HttpClient], Coroutine[Any, Any, None]]:
        async def conversation(client: HttpClient) -> None:
            with pytest.raises(kind, match=text):
                await client.list(NODES)
            with pytest.raises(kind):
                await anext(client.watch(NODES, resource_version="1"))

        return conversation

    talk(control_plane, account)
    text = "system:serviceaccount:default:nobody.*cannot list resource"
    talk(control_plane, refused(Forbidden, text), lambda config: replace(config, token=tokens[0]))
    talk(
        control_plane, refused(Unauthorized, "^Unauthorized$"), lambda config: replace(config, token="wrong")
    )
    text = 'User "jane" cannot list resource'
    as_jane = Impersonation("jane", groups=("system:authenticated",))
    talk(control_plane, refused(Forbidden, text), lambda config: replace(config, impersonate=as_jane))


def test_certificates_are_verified(control_plane: ControlPlane) -> None:
    async def conversation(client: HttpClient) -> None:
        with pytest.raises(Unreachable, match="certificate verify failed"):
            await client.list(NODES)

    talk(control_plane, conversation, lambda config: replace(config, ca_file=""))


def test_custom_resources(control_plane: ControlPlane) -> None:
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    definition = {
        "metadata": {"name": "widgets.shop.example.com"},
        "spec": {
            "group": "shop.example.com",
            "scope": "Namespaced",
            "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": schema}],
        },
    }
    widget = {
        "apiVersion": "shop.example.com/v1",
        "kind": "Widget",
        "metadata": {"name": "one", "namespace": "default"},
        "color": "red",
    }

    async def conversation(client: HttpClient) -> None:
        await client.create(CRDS, definition)
        while True:
            try:
                await client.create(WIDGETS, widget)
                break
            except NotFound:  # until the server serves it
                await asyncio.sleep(0.05)
        [found] = (await client.list(WIDGETS)).items
        assert (found.key, found.raw["color"]) == ("default/one", "red")

    talk(control_plane, conversation)


def test_informer_lives_through_a_restart(control_plane: ControlPlane) -> None:
    told: list[str] = []

    async def short_sleep(seconds: float) -> None:
        await asyncio.sleep(0.05)

    async def until(text: str) -> None:
        while text not in told:
            await asyncio.sleep(0.02)

    async def conversation(client: HttpClient) -> None:
        await client.create(CONFIG_MAPS, config_map("before"))
        informer = Informer(
            client,
            CONFIG_MAPS,
            added=lambda new: told.append(f"+{new.name}"),
            updated=lambda old, new: told.append(f"{new.name} {old.data} {new.data}"),
            deleted=lambda old: told.append(f"-{old.name}"),
            sleep=short_sleep,
        )
        running = asyncio.create_task(informer.run())
        await informer.wait_synced()
        assert "+before" in told and informer.by_key.get("default/before") is not None

        await client.create(CONFIG_MAPS, config_map("first"))
        await until("+first")
        await asyncio.to_thread(control_plane.restart_apiserver)
        await client.create(CONFIG_MAPS, config_map("second"))
        await client.patch(CONFIG_MAPS, "first", {"data": {"a": "1"}}, namespace="default")
        await client.delete(CONFIG_MAPS, "before", namespace="default")
        await asyncio.gather(until("+second"), until("first {} {'a': '1'}"), until("-before"))
        assert [told.count(each) for each in ("+before", "+first", "+second")] == [1, 1, 1]
        assert informer.last_error is None

        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

    talk(control_plane, conversation)
