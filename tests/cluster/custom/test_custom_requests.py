"""Answers to requests for custom resources, as a real API server (v1.36.4) gives them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.cluster.api_worlds import World
from tests.cluster.custom.boats import CRDS, GROUP, MERGE, NEW, OLD, TWO, Document, boat, crd, on_a_cluster

UNRECOGNIZED = "the object provided is unrecognized (must be of type Boat): "
WITHOUT_KIND = {"apiVersion": f"{GROUP}/v1", "metadata": {"name": "a"}}
START = '{"apiVersion": "shop.example.c ...'
GO_STRUCT = (
    'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'
)


@pytest.mark.parametrize(
    ("body", "code", "text"),
    [
        (
            WITHOUT_KIND,
            400,
            f"{UNRECOGNIZED}Object 'Kind' is missing in '{json.dumps(WITHOUT_KIND)}' ({START})",
        ),
        ({}, 400, f"{UNRECOGNIZED}Object 'Kind' is missing in '{{}}' ({{}})"),
        (
            {"kind": "Boat", "metadata": {"name": "a"}},
            400,
            f"the API version in the data () does not match the expected API version ({GROUP}/v1)",
        ),
        (
            boat("v1beta1"),
            400,
            f"the API version in the data ({GROUP}/v1beta1) does not match the expected API version"
            f" ({GROUP}/v1)",
        ),
        (
            {**boat("v1"), "kind": "Boot"},
            422,
            f'Boot.{GROUP} "a" is invalid: kind: Invalid value: "Boot": must be Boat',
        ),
        (
            {**boat("v1"), "kind": ["Boat"]},
            400,
            f"{UNRECOGNIZED}couldn't get version/kind; json parse error: json: cannot unmarshal array into"
            f" Go struct field .kind of type string ({START})",
        ),
        (
            {"apiVersion": 3, "kind": "Boat"},
            400,
            f"{UNRECOGNIZED}couldn't get version/kind; json parse error: json: cannot unmarshal number into"
            ' Go struct field .apiVersion of type string ({"apiVersion": 3, "kind": "Boa ...)',
        ),
        (
            [],
            400,
            f"{UNRECOGNIZED}couldn't get version/kind; json parse error: json: cannot unmarshal array into"
            f" Go value of type {GO_STRUCT} (5b5d)",
        ),
    ],
    ids=lambda value: str(value)[:40],
)
def test_a_body_must_say_what_it_is(body: Any, code: int, text: str) -> None:
    def test(world: World) -> None:
        reply = world.ask("POST", NEW, body)
        assert (reply.code, reply.message) == (code, text)

    on_a_cluster(test)()


@on_a_cluster
def test_a_patch_cannot_make_it_another_kind(world: World) -> None:
    world.create(NEW, boat("v1"))
    for part in ("kind", "apiVersion"):
        assert world.ask("PATCH", f"{NEW}/a", {part: ["a"]}, content_type=MERGE).code == 422
    reply = world.ask("PATCH", f"{NEW}/a", {"kind": "Boot"}, content_type=MERGE)
    assert (reply.code, reply.message) == (
        422,
        f'Boot.{GROUP} "a" is invalid: kind: Invalid value: "Boot": must be Boat',
    )


def deprecated(*versions: Document) -> list[str]:
    """The warnings of a read, a refused read, and a part, in the version that is deprecated."""

    async def ask() -> list[str]:
        world = World().prepared()
        world.create(CRDS, crd(*versions))
        world.create(NEW, boat("v1"))
        paths = (OLD, f"{OLD}/a", f"{OLD}/none", f"{OLD}/a/status", f"{OLD}/a/scale")
        return [world.ask("GET", path).headers.get("Warning", "") for path in paths]

    return asyncio.run(ask())


def test_every_answer_about_a_deprecated_version_warns_of_it() -> None:
    old = {**TWO[1], "deprecated": True}
    use = f'299 - "{GROUP}/v1beta1 Boat is deprecated; use {GROUP}/v1 Boat"'
    assert deprecated(TWO[0], old) == [use] * 5
    both = deprecated({**TWO[0], "deprecated": True}, old)
    assert both == [f'299 - "{GROUP}/v1beta1 Boat is deprecated"'] * 5
    assert deprecated(TWO[0], {**old, "deprecationWarning": "buy another"}) == ['299 - "buy another"'] * 5


@on_a_cluster
def test_an_unknown_part_is_missed_as_the_object_is(world: World) -> None:
    world.create(NEW, boat("v1"))
    reply = world.ask("GET", f"{NEW}/a/foo")
    assert (reply.code, reply.message) == (404, f'boats.{GROUP} "a" not found')


@on_a_cluster
def test_the_rules_of_the_schema_are_those_for_scaling(world: World) -> None:
    world.create(NEW, boat("v1"))
    scale = {"kind": "Scale", "apiVersion": "autoscaling/v1", "spec": {"replicas": -9}}
    reply = world.ask("PUT", f"{NEW}/a/scale", scale)
    assert (reply.code, reply.message) == (
        422,
        f'Boat.{GROUP} "a" is invalid: .spec.crew: Invalid value: -9: should be a non-negative integer',
    )


@on_a_cluster
def test_a_change_needs_the_version_it_changes(world: World) -> None:
    world.create(NEW, boat("v1"))
    reply = world.ask("PUT", f"{NEW}/a", boat("v1"))
    assert (reply.code, reply.message) == (
        422,
        f'boats.{GROUP} "a" is invalid: metadata.resourceVersion: Invalid value: 0:'
        " must be specified for an update",
    )


async def watched(world: World, change: Callable[[], object]) -> list[tuple[str, str]]:
    """What a watch tells until it is ended, which the change does."""
    watch = world.watch(NEW)
    world.create(NEW, boat("v1"))
    change()
    await asyncio.sleep(0)
    return [(event["type"], event["object"]["metadata"]["name"]) for event in await watch.rest()]


def test_a_watch_ends_when_its_definition_says_something_else() -> None:
    async def scenario() -> None:
        world = World().prepared()
        world.create(CRDS, crd(*TWO))
        await asyncio.sleep(0)
        definition = f"{CRDS}/boats.{GROUP}"
        category = {"spec": {"names": {"categories": ["all"]}}}

        def change() -> None:
            world.done("PATCH", definition, {"metadata": {"labels": {"a": "b"}}}, content_type=MERGE)
            world.done("DELETE", f"{NEW}/a")
            world.done("PATCH", definition, category, content_type=MERGE)
            world.create(NEW, boat("v1", "b"))

        assert await watched(world, change) == [("ADDED", "a"), ("DELETED", "a")]
        deleted = await watched(world, lambda: world.done("DELETE", definition))
        assert deleted == [("ADDED", "b"), ("ADDED", "a"), ("DELETED", "a"), ("DELETED", "b")]

    asyncio.run(asyncio.wait_for(scenario(), 10))


def test_without_a_namespace_there_is_nothing_but_lists() -> None:
    async def ask() -> list[tuple[int, Any]]:
        world = World().prepared()
        definition = crd(*TWO)
        definition["spec"]["scope"] = "Namespaced"
        world.create(CRDS, definition)
        replies = [world.ask(method, NEW, boat("v1")) for method in ("POST", "PUT", "PATCH", "DELETE")]
        return [(reply.code, reply.document) for reply in replies] + [(world.ask("GET", NEW).code, None)]

    assert asyncio.run(ask()) == [(404, "404 page not found\n")] * 4 + [(200, None)]


@on_a_cluster
def test_a_definition_that_waits_for_its_end_can_be_changed(world: World) -> None:
    world.create(NEW, {**boat("v1"), "metadata": {"name": "a", "finalizers": ["held"]}})
    definition = f"{CRDS}/boats.{GROUP}"
    world.done("DELETE", definition)

    labels = {"metadata": {"labels": {"a": "b"}}}
    assert world.done("PATCH", definition, labels, content_type=MERGE)["metadata"]["labels"] == {"a": "b"}
    again = world.ask("POST", CRDS, crd(*TWO))
    assert (again.code, again.message) == (
        409,
        "object is being deleted: customresourcedefinitions.apiextensions.k8s.io"
        f' "boats.{GROUP}" already exists',
    )


@on_a_cluster
def test_one_version_is_always_known_as_stored(world: World) -> None:
    status: Document = {"status": {"storedVersions": []}}
    changed = world.done("PATCH", f"{CRDS}/boats.{GROUP}/status", status, content_type=MERGE)
    assert changed["status"]["storedVersions"] == ["v1"]


@on_a_cluster
def test_what_is_unknown_in_a_status_is_told_with_refusals_too(world: World) -> None:
    world.create(NEW, boat("v1"))
    reply = world.ask("PUT", f"{NEW}/a/status", boat("v1", sails=1))
    assert (reply.code, reply.headers["Warning"]) == (422, '299 - "unknown field \\"spec.sails\\""')
