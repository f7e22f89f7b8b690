"""The client that plugins have in tests: what it answers, and what is seen of what they write."""

from __future__ import annotations

import asyncio
from typing import Any, ClassVar

import msgspec
import pytest

from moorage import Node, Object, ObjectMeta, Pod
from moorage.api.pods import Condition
from moorage.client.errors import (
    AlreadyExists,
    ApiError,
    BadRequest,
    Conflict,
    Invalid,
    NotFound,
    ServerTimeout,
    Unreachable,
)
from moorage.testing import FakeHandle, Write, make_node, make_pod


class Seats(msgspec.Struct, kw_only=True):
    total: int = 0
    names: list[str] = []


class Use(msgspec.Struct, kw_only=True):
    taken: int = 0


class License(Object, kw_only=True):
    group: ClassVar[str] = "example.com"
    resource: ClassVar[str] = "licenses"
    kind: ClassVar[str] = "License"

    spec: Seats = msgspec.field(default_factory=Seats)
    status: Use = msgspec.field(default_factory=Use)


def license_of(name: str, total: int = 0, **labels: str) -> License:
    return License(
        metadata=ObjectMeta(name=name, namespace="default", labels=labels), spec=Seats(total=total)
    )


def test_what_is_there_is_read() -> None:
    handle = FakeHandle([license_of("gold", 3), license_of("tin", 1, metal="soft"), make_node("a")])
    licenses = handle.resource_client(License)

    async def main() -> None:
        assert (await licenses.get("gold", namespace="default")).spec.total == 3
        assert [found.name for found in await licenses.list()] == ["gold", "tin"]
        assert [found.name for found in await licenses.list(label_selector="metal=soft")] == ["tin"]
        assert [found.name for found in await licenses.list(field_selector="metadata.name!=tin")] == ["gold"]
        assert await licenses.list(namespace="other") == []
        assert (await handle.resource_client(Node).get("a")).name == "a"
        with pytest.raises(NotFound, match=r'^licenses.example.com "lead" not found$'):
            await licenses.get("lead", namespace="default")

    asyncio.run(main())
    assert handle.writes == []


@pytest.mark.parametrize(
    ("selector", "names"),
    [
        ("a=1", ["one"]),
        ("a==1,b", []),
        ("a!=1", ["none", "two"]),
        ("a in (1, 2)", ["one", "two"]),
        ("a notin (1)", ["none", "two"]),
        ("!a", ["none"]),
        ("a,b=x", ["two"]),
    ],
)
def test_label_selectors(selector: str, names: list[str]) -> None:
    handle = FakeHandle([license_of("none"), license_of("one", a="1"), license_of("two", a="2", b="x")])
    found = asyncio.run(handle.resource_client(License).list(label_selector=selector))
    assert sorted(each.name for each in found) == names
    with pytest.raises(BadRequest, match="unable to parse the label selector"):
        asyncio.run(handle.resource_client(License).list(label_selector="a=1 b=2"))


def test_what_is_created_is_listed_and_recorded() -> None:
    handle = FakeHandle()
    told: list[str] = []
    lister = handle.lister_of(License)
    lister.on_change(added=lambda new: told.append(f"added {new.name}"))

    async def main() -> License:
        made = await handle.resource_client(License).create(license_of("gold", 3))
        with pytest.raises(AlreadyExists, match=r'^licenses.example.com "gold" already exists$'):
            await handle.resource_client(License).create(license_of("gold"))
        return made

    made = asyncio.run(main())
    assert made.uid
    assert made.metadata.resource_version
    assert made.metadata.creation_timestamp == "2023-11-14T22:13:20Z"
    found = lister.get("gold", namespace="default")
    assert found is not None
    assert (found.spec.total, told) == (3, ["added gold"])
    [write] = handle.writes
    assert write[:3] == ("create", "licenses.example.com", "default/gold")
    assert write.body["spec"] == {"total": 3, "names": []}


def test_whoever_read_an_older_version_may_not_write() -> None:
    handle = FakeHandle([license_of("gold", 3)])
    licenses = handle.resource_client(License)

    async def main() -> None:
        mine, other = [await licenses.get("gold", namespace="default") for _ in range(2)]
        mine.spec.total = 4
        changed = await licenses.update(mine)
        assert changed.metadata.resource_version != mine.metadata.resource_version
        other.spec.total = 5
        with pytest.raises(Conflict, match="the object has been modified") as raised:
            await licenses.update(other)
        assert (raised.value.code, raised.value.reason) == (409, "Conflict")
        listed = handle.lister_of(License).get("gold", namespace="default")
        assert listed is not None
        listed.spec.total = 6
        await licenses.update(listed)

    asyncio.run(main())
    found = handle.lister_of(License).get("gold", namespace="default")
    assert found is not None
    assert found.spec.total == 6
    assert [write.verb for write in handle.writes] == ["update", "update"]


def test_the_status_is_a_part_of_its_own() -> None:
    handle = FakeHandle([license_of("gold", 3)])
    licenses = handle.resource_client(License)

    async def main() -> None:
        found = await licenses.get("gold", namespace="default")
        found.spec.total, found.status.taken = 9, 2
        assert (await licenses.update_status(found)).spec.total == 3
        found = await licenses.get("gold", namespace="default")
        assert (found.spec.total, found.status.taken) == (3, 2)
        found.spec.total, found.status.taken = 9, 7
        changed = await licenses.update(found)
        assert (changed.spec.total, changed.status.taken) == (9, 2)

    asyncio.run(main())
    assert [write.resource for write in handle.writes] == [
        "licenses.example.com/status",
        "licenses.example.com",
    ]


@pytest.mark.parametrize(
    ("patch", "total", "names"),
    [
        ([{"op": "replace", "path": "/spec/total", "value": 5}], 5, ["x", "y"]),
        ([{"op": "add", "path": "/spec/names/-", "value": "z"}], 3, ["x", "y", "z"]),
        ([{"op": "add", "path": "/spec/names/0", "value": "z"}], 3, ["z", "x", "y"]),
        ([{"op": "remove", "path": "/spec/names/0"}], 3, ["y"]),
        ([{"op": "move", "from": "/spec/names/0", "path": "/spec/names/1"}], 3, ["y", "x"]),
        ([{"op": "copy", "from": "/spec/names/0", "path": "/spec/names/-"}], 3, ["x", "y", "x"]),
        (
            [
                {"op": "test", "path": "/spec/total", "value": 3},
                {"op": "replace", "path": "/spec/total", "value": 4},
            ],
            4,
            ["x", "y"],
        ),
    ],
)
def test_json_patches(patch: list[Any], total: int, names: list[str]) -> None:
    given = license_of("gold", 3)
    given.spec.names = ["x", "y"]
    handle = FakeHandle([given])
    licenses = handle.resource_client(License)
    changed = asyncio.run(licenses.patch("gold", patch, namespace="default", kind="json"))
    assert (changed.spec.total, changed.spec.names) == (total, names)
    assert handle.writes == [Write("patch", "licenses.example.com", "default/gold", patch)]


@pytest.mark.parametrize(
    ("operation", "error"),
    [
        ({"op": "test", "path": "/spec/total", "value": 9}, Invalid),
        ({"op": "remove", "path": "/spec/nothing"}, Invalid),
        ({"op": "replace", "path": "/nowhere/at/all", "value": 1}, Invalid),
        ({"op": "jump", "path": "/spec"}, Invalid),
        ({"path": "/spec"}, BadRequest),
    ],
)
def test_a_json_patch_that_does_not_fit_changes_nothing(operation: Any, error: type[ApiError]) -> None:
    handle = FakeHandle([license_of("gold", 3)])
    patch = [{"op": "replace", "path": "/spec/total", "value": 5}, operation]
    with pytest.raises(error):
        asyncio.run(handle.resource_client(License).patch("gold", patch, namespace="default", kind="json"))
    found = handle.lister_of(License).get("gold", namespace="default")
    assert found is not None
    assert (found.spec.total, handle.writes) == (3, [])


def test_merge_patches() -> None:
    handle = FakeHandle([license_of("gold", 3, metal="soft", old="yes")])
    licenses = handle.resource_client(License)
    patch = {"metadata": {"labels": {"old": None, "new": "yes"}}, "spec": {"names": ["z"]}}
    changed = asyncio.run(licenses.patch("gold", patch, namespace="default"))
    assert changed.labels == {"metal": "soft", "new": "yes"}
    assert (changed.spec.total, changed.spec.names) == (3, ["z"])
    stale = {"metadata": {"resourceVersion": "1"}, "spec": {"total": 1}}
    with pytest.raises(Conflict):
        asyncio.run(licenses.patch("gold", stale, namespace="default"))


def test_strategic_merge_patches() -> None:
    handle = FakeHandle([make_pod("p", labels={"a": "1"}), license_of("gold")])
    pods = handle.resource_client(Pod)

    async def change(patch: dict[str, Any], subresource: str = "") -> Pod:
        return await pods.patch("p", patch, namespace="default", kind="strategic", subresource=subresource)

    asyncio.run(change({"metadata": {"labels": {"b": "2"}}}))
    container = {"name": "main", "image": "new"}
    changed = asyncio.run(change({"spec": {"containers": [container, {"name": "second"}]}}))
    assert changed.labels == {"a": "1", "b": "2"}
    assert [(each.name, each.image) for each in changed.spec.containers] == [("main", "new"), ("second", "")]
    with pytest.raises(BadRequest, match=r"the directive \$patch"):
        asyncio.run(change({"spec": {"$patch": "replace"}}))
    with pytest.raises(ApiError, match="custom resources have no strategic merge") as raised:
        asyncio.run(handle.resource_client(License).patch("gold", {}, namespace="default", kind="strategic"))
    assert raised.value.code == 415


def test_apply_makes_or_merges() -> None:
    handle = FakeHandle()
    licenses = handle.resource_client(License)
    document = {"metadata": {"name": "gold", "namespace": "default"}, "spec": {"total": 3}}

    async def main() -> None:
        await licenses.patch("gold", document, namespace="default", kind="apply")
        changed = await licenses.patch("gold", {"spec": {"names": ["x"]}}, namespace="default", kind="apply")
        assert (changed.spec.total, changed.spec.names) == (3, ["x"])

    asyncio.run(main())
    assert [write.verb for write in handle.writes] == ["create", "patch"]


def test_what_is_deleted_is_gone() -> None:
    kept = license_of("kept")
    handle = FakeHandle([license_of("gold"), kept])
    licenses, lister = handle.resource_client(License), handle.lister_of(License)

    async def main() -> None:
        await licenses.delete("gold", namespace="default")
        with pytest.raises(NotFound):
            await licenses.delete("gold", namespace="default")
        await licenses.patch("kept", {"metadata": {"finalizers": ["example.com/wait"]}}, namespace="default")
        await licenses.delete("kept", namespace="default")
        found = lister.get("kept", namespace="default")
        assert found is not None
        assert found.deleting
        await licenses.patch("kept", {"metadata": {"finalizers": None}}, namespace="default")

    asyncio.run(main())
    assert list(lister.list()) == []
    assert [write.verb for write in handle.writes] == ["delete", "patch", "delete", "patch"]


def test_pods_are_bound_once() -> None:
    pod = make_pod("p", status={"nominatedNodeName": "b"})
    handle = FakeHandle([make_node("a"), make_node("b"), pod])

    async def main() -> None:
        await handle.client.bind(pod, "a")
        with pytest.raises(Conflict, match='pod p is already assigned to node "a"'):
            await handle.client.bind(pod, "b")
        with pytest.raises(NotFound):
            await handle.client.bind(make_pod("other"), "a")

    asyncio.run(main())
    assert handle.writes == [("bind", "pods", "default/p", {"spec": {"nodeName": "a"}})]
    [placed] = handle.pods
    assert (placed.name, placed.spec.node_name, placed.status.nominated_node_name) == ("p", "a", "")
    condition = placed.condition("PodScheduled")
    assert condition is not None
    assert condition.status == "True"
    node = handle.node("a")
    assert node is not None
    assert [each.name for each in node.pods] == ["p"]
    assert not handle.nominator.on("b")


def test_a_pods_status_is_written_and_the_pod_deleted() -> None:
    pod = make_pod("p", node="a", status={"conditions": [{"type": "Ready", "status": "True"}]})
    handle = FakeHandle([make_node("a"), pod])

    async def main() -> None:
        mark = Condition(type="DisruptionTarget", status="True", reason="Mine")
        await handle.client.write_pod_status(pod, condition=mark, nominated_node="a")
        found = await handle.resource_client(Pod).get("p", namespace="default")
        assert [each.type for each in found.status.conditions] == ["Ready", "DisruptionTarget"]
        assert found.status.nominated_node_name == "a"
        await handle.client.delete_pod(pod)

    asyncio.run(main())
    assert [write[:3] for write in handle.writes] == [
        ("patch", "pods/status", "default/p"),
        ("delete", "pods", "default/p"),
    ]
    assert list(handle.pods) == []


def test_errors_can_be_planned() -> None:
    handle = FakeHandle([license_of("gold", 3), make_pod("p")])
    licenses = handle.resource_client(License)
    handle.client.fail_next(Conflict, verb="update", kind=License)
    handle.client.fail_next(Unreachable(0, "", "the line is cut"), kind=License, times=2)
    pod = make_pod("p")

    async def main() -> None:
        for _ in range(2):
            with pytest.raises(Unreachable, match="the line is cut"):
                await licenses.get("gold", namespace="default")
        found = await licenses.get("gold", namespace="default")
        with pytest.raises(Conflict) as raised:
            await licenses.update(found)
        assert (raised.value.code, raised.value.reason) == (409, "Conflict")
        await licenses.update(found)
        handle.client.fail_next(NotFound, verb="bind")
        with pytest.raises(NotFound):
            await handle.client.bind(pod, "a")

    asyncio.run(main())
    assert [write.verb for write in handle.writes] == ["update"]
    with pytest.raises(ValueError, match="fail_next: unknown verb put; known are get, list, create"):
        handle.client.fail_next(Conflict, verb="put")


def test_the_client_tries_again_as_on_a_cluster_in_time_that_is_injected() -> None:
    pod = make_pod("p")
    handle = FakeHandle([pod, make_node("a")])
    handle.client.fail_next(ServerTimeout, verb="bind")
    handle.client.fail_next(ServerTimeout, verb="patch", times=3)
    before = handle.now

    async def main() -> None:
        await handle.client.bind(pod, "a")
        await handle.client.write_pod_status(pod, nominated_node="a")

    asyncio.run(main())
    assert [write.verb for write in handle.writes] == ["bind", "patch"]
    assert handle.now > before


def test_an_untyped_lister_shows_what_is_written() -> None:
    handle = FakeHandle()
    untyped = handle.lister("example.com", "v1", "licenses")
    path, document = "/apis/example.com/v1/namespaces/default/licenses", {"metadata": {"name": "gold"}}

    async def main() -> None:
        await handle.client.http.request_json("POST", path, document)
        assert [found.raw["metadata"]["name"] for found in untyped.list()] == ["gold"]
        await handle.client.http.request_json("DELETE", f"{path}/gold")

    asyncio.run(main())
    assert list(untyped.list()) == []


def test_nothing_is_watched() -> None:
    handle = FakeHandle()
    licenses = handle.resource_client(License)
    with pytest.raises(NotImplementedError, match="a lister shows what is written"):
        handle.client.http.watch(licenses.resource, resource_version="1")
