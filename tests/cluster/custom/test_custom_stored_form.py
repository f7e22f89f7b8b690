"""Objects that were written under another version, or before their definition was changed."""

from __future__ import annotations

import asyncio
from pathlib import Path

from moorage.cluster.base.data_file import DataFile
from tests.cluster.api_worlds import World
from tests.cluster.custom.boats import (
    CRDS,
    GROUP,
    MERGE,
    NEW,
    OLD,
    TWO,
    Document,
    boat,
    crd,
    object_of,
    on_a_cluster,
    version,
)


def change(world: World, *versions: Document) -> None:
    patch = {"spec": {"versions": list(versions)}}
    world.done("PATCH", f"{CRDS}/boats.{GROUP}", patch, content_type=MERGE)


@on_a_cluster
def test_what_another_version_writes_gets_the_form_of_the_stored_one(world: World) -> None:
    created = world.create(OLD, boat("v1beta1", crew=4, colour="red"))

    assert (created["apiVersion"], created["spec"]) == (f"{GROUP}/v1beta1", {"crew": 4, "name": "joe"})
    assert world.get(f"{NEW}/a")["spec"] == {"crew": 4, "name": "joe"}
    changed = world.done("PATCH", f"{OLD}/a", {"spec": {"colour": "blue", "crew": 5}}, content_type=MERGE)
    assert changed["spec"] == {"crew": 5, "name": "joe"}


@on_a_cluster
def test_the_rules_are_those_of_the_version_in_which_it_is_written(world: World) -> None:
    assert world.create(OLD, boat("v1beta1", name=3))["spec"] == {"name": 3}
    assert world.ask("POST", NEW, boat("v1", "b", name=3)).code == 422


@on_a_cluster
def test_the_same_under_another_version_is_no_change(world: World) -> None:
    created = world.create(NEW, boat("v1", crew=1))

    same = world.done("PATCH", f"{OLD}/a", {"spec": {"crew": 1}}, content_type=MERGE)
    assert same == {**created, "apiVersion": f"{GROUP}/v1beta1"}
    labelled = world.done("PATCH", f"{OLD}/a", {"metadata": {"labels": {"x": "y"}}}, content_type=MERGE)
    assert labelled["metadata"]["generation"] == 1
    scaled = world.done("PATCH", f"{OLD}/a/scale", {"spec": {"replicas": 1}}, content_type=MERGE)
    assert scaled["spec"] == {"replicas": 1}
    status = world.done("PATCH", f"{OLD}/a/status", {"status": {"crew": 1}}, content_type=MERGE)
    assert (status["apiVersion"], status["metadata"]["generation"]) == (f"{GROUP}/v1beta1", 1)


@on_a_cluster
def test_a_changed_schema_counts_for_objects_that_are_there(world: World) -> None:
    before = world.create(NEW, boat("v1", crew=1))
    change(world, version("v1", object_of(sails={"type": "integer", "default": 2}), storage=True))

    assert world.get(f"{NEW}/a") == {**before, "spec": {"sails": 2}}, "at the revision it has"
    assert world.get(NEW)["items"][0]["spec"] == {"sails": 2}


@on_a_cluster
def test_a_version_that_is_no_longer_stored_goes_on_telling_what_it_knew(world: World) -> None:
    world.create(NEW, boat("v1", crew=1))
    change(world, {**TWO[0], "storage": False}, {**TWO[1], "storage": True})
    world.create(OLD, boat("v1beta1", "b", colour="red"))

    assert world.get(f"{OLD}/a")["spec"] == {"crew": 1, "name": "joe"}
    assert world.get(f"{NEW}/b")["spec"] == {"colour": "red"}


async def restarted(tmp_path: Path) -> World:
    path = tmp_path / "cluster.db"
    data = DataFile(path)
    first = World(data=data, folder=tmp_path).prepared()
    first.create(CRDS, crd(*TWO))
    first.create(NEW, boat("v1", crew=1))
    change(first, version("v1", object_of(sails={"type": "integer", "default": 2}), storage=True))
    data.close()

    again = World(data=DataFile(path), folder=tmp_path)
    again.cluster.prepare()
    return again


def test_a_restart_reads_them_by_the_present_schema_too(tmp_path: Path) -> None:
    assert asyncio.run(restarted(tmp_path)).get(f"{NEW}/a")["spec"] == {"sails": 2}
