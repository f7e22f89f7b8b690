from __future__ import annotations

from typing import Any

import pytest

from moorage.cluster import reading
from moorage.cluster.store import Document
from tests.cluster.api_worlds import CONFIG_MAPS, PODS, World, config_map, pod


@pytest.fixture
def world() -> World:
    return World().prepared()


def fill(world: World, count: int) -> list[str]:
    names = [f"m{number:03d}" for number in range(count)]
    for name in names:
        world.create(CONFIG_MAPS, config_map(name))
    return names


def pages(world: World, first: Document, **params: str) -> list[list[str]]:
    found = [[each["metadata"]["name"] for each in first["items"]]]
    page = first
    while token := page["metadata"].get("continue"):
        page = world.get(CONFIG_MAPS, **{"continue": token, **params})
        assert page["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]
        found.append([each["metadata"]["name"] for each in page["items"]])
    return found


def test_a_list_comes_in_pages_that_show_one_moment(world: World) -> None:
    names = fill(world, 10)
    first = world.get(CONFIG_MAPS, limit="4")
    assert first["metadata"]["remainingItemCount"] == 6
    world.done("DELETE", f"{CONFIG_MAPS}/m005")
    world.create(CONFIG_MAPS, config_map("m0055"))
    world.done("PUT", f"{CONFIG_MAPS}/m009", config_map("m009", changed="yes"))
    assert pages(world, first, limit="4") == [names[:4], names[4:8], names[8:]]
    assert pages(world, world.get(CONFIG_MAPS, limit="4")) == [names[:4], ["m004", "m0055", *names[6:]]]


def test_a_page_can_be_asked_for_again(world: World) -> None:
    fill(world, 5)
    token = world.get(CONFIG_MAPS, limit="2")["metadata"]["continue"]
    again = [world.get(CONFIG_MAPS, **{"continue": token, "limit": "2"}) for _ in range(2)]
    assert again[0] == again[1]


def test_narrow_lists_do_not_say_how_many_remain(world: World) -> None:
    for name in "abc":
        world.create(CONFIG_MAPS, config_map(name, labels={"x": "y"}))
    metadata = world.get(CONFIG_MAPS, limit="1", labelSelector="x=y")["metadata"]
    assert metadata["continue"]
    assert "remainingItemCount" not in metadata


def test_a_forgotten_list_is_gone(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "_KEPT_LISTS", 2)
    fill(world, 3)
    token = world.get(CONFIG_MAPS, limit="1")["metadata"]["continue"]
    for _ in range(2):
        world.get(CONFIG_MAPS, limit="1")
    reply = world.ask("GET", CONFIG_MAPS, **{"continue": token})
    assert (reply.code, reply.document["reason"]) == (410, "Expired")


@pytest.mark.parametrize("limit", ["0", "-1", "3", "500"])
def test_a_limit_that_limits_nothing(world: World, limit: str) -> None:
    fill(world, 3)
    metadata = world.get(CONFIG_MAPS, limit=limit)["metadata"]
    assert metadata == {"resourceVersion": str(world.store.revision)}


@pytest.mark.parametrize(
    ("params", "code", "text"),
    [
        ({"continue": "x"}, 400, "continue key is not valid"),
        ({"limit": "x"}, 400, "strconv.ParseInt"),
        ({"resourceVersion": "x"}, 400, 'resourceVersion: Invalid value: "x"'),
        ({"resourceVersion": "99999"}, 504, "Too large resource version: 99999, current: "),
        ({"resourceVersion": "2", "resourceVersionMatch": "Exact"}, 410, "is too old"),
        (
            {"resourceVersionMatch": "Exact"},
            422,
            'ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: Forbidden:'
            " resourceVersionMatch is forbidden unless resourceVersion is provided",
        ),
        (
            {"resourceVersionMatch": "x", "resourceVersion": "1"},
            422,
            'Unsupported value: "x": supported values: "Exact", "NotOlderThan", ""',
        ),
        (
            {"resourceVersionMatch": "Exact", "resourceVersion": "0"},
            422,
            'resourceVersionMatch "exact" is forbidden for resourceVersion "0"',
        ),
        ({"sendInitialEvents": "true"}, 422, "sendInitialEvents is forbidden for list"),
        ({"labelSelector": "a in ("}, 400, "unable to parse requirement"),
        ({"fieldSelector": "x=y"}, 400, '"x" is not a known field selector'),
    ],
)
def test_parameters_that_cannot_be_used(world: World, params: dict[str, Any], code: int, text: str) -> None:
    reply = world.ask("GET", CONFIG_MAPS, **params)
    assert reply.code == code
    assert text in reply.message


@pytest.mark.parametrize("params", [{}, {"resourceVersionMatch": "NotOlderThan"}])
def test_the_present_state_is_not_older_than_any_version(world: World, params: dict[str, Any]) -> None:
    fill(world, 2)
    for version in ("0", "1", str(world.store.revision)):
        assert len(world.get(CONFIG_MAPS, resourceVersion=version, **params)["items"]) == 2


def test_selectors(world: World) -> None:
    for name, color in (("a", "red"), ("b", "blue"), ("c", "")):
        world.create(PODS, pod(name, labels={"color": color} if color else None))
    world.create(f"{PODS}/b/binding", {"metadata": {"name": "b"}, "target": {"name": "n"}})

    def names(**params: Any) -> list[str]:
        return world.ask("GET", PODS, **params).names

    assert names(labelSelector="color") == ["a", "b"]
    assert names(labelSelector="color notin (red)") == ["b", "c"]
    assert names(fieldSelector="spec.nodeName=n") == ["b"]
    assert names(fieldSelector="spec.nodeName!=n,metadata.name!=a") == ["c"]
    assert names(fieldSelector="metadata.name=a", labelSelector="color=red") == ["a"]
    assert names(fieldSelector="metadata.namespace=other") == []
    assert world.ask("GET", "/api/v1/pods").names == ["a", "b", "c"]


def test_lists_say_what_they_are_lists_of(world: World) -> None:
    document = world.get("/apis/apps/v1/deployments")
    assert (document["kind"], document["apiVersion"], document["items"]) == ("DeploymentList", "apps/v1", [])
