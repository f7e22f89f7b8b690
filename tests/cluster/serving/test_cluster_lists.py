from __future__ import annotations

from typing import Any

import pytest

from moorage.cluster.base import store as store_module
from moorage.cluster.base.store import Document
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


def test_a_forgotten_list_can_be_ended_as_things_are_now(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_module, "HISTORY", 2)
    world = World().prepared()
    fill(world, 3)
    token = world.get(CONFIG_MAPS, limit="1")["metadata"]["continue"]
    for name in ("m0005", "x", "y"):
        world.create(CONFIG_MAPS, config_map(name))
    reply = world.ask("GET", CONFIG_MAPS, **{"continue": token})
    assert (reply.code, reply.document["reason"]) == (410, "Expired")
    assert reply.message.endswith(
        "between the time the first chunk was returned and now may show up in the list."
    )
    rest = world.get(CONFIG_MAPS, **{"continue": reply.document["metadata"]["continue"]})
    assert [each["metadata"]["name"] for each in rest["items"]] == ["m0005", "m001", "m002", "x", "y"]
    assert rest["metadata"]["resourceVersion"] == str(world.store.revision)


def test_the_selectors_of_a_later_page_count(world: World) -> None:
    for number in range(6):
        world.create(CONFIG_MAPS, config_map(f"m{number}", labels={"odd": str(number % 2)}))
    token = world.get(CONFIG_MAPS, limit="2")["metadata"]["continue"]
    page = world.ask("GET", CONFIG_MAPS, labelSelector="odd=0", **{"continue": token})
    assert page.names == ["m2", "m4"]


def test_a_token_leads_to_nothing_but_the_resource_that_is_asked_for(world: World) -> None:
    for name in "abc":
        world.create("/api/v1/namespaces/default/secrets", {"metadata": {"name": name}})
        world.create(CONFIG_MAPS, config_map(name))
    token = world.get("/api/v1/namespaces/default/secrets", limit="1")["metadata"]["continue"]
    page = world.get(CONFIG_MAPS, **{"continue": token})
    assert page["kind"] == "ConfigMapList"
    assert [each["metadata"]["name"] for each in page["items"]] == ["b", "c"]
    assert all("type" not in each for each in page["items"])


def test_many_lists_can_be_read_at_the_same_time(world: World) -> None:
    names = fill(world, 3)
    firsts = [world.get(CONFIG_MAPS, limit="1") for _ in range(100)]
    assert all(pages(world, first) == [names[:1], names[1:]] for first in firsts)


def test_all_namespaces_come_in_the_order_of_their_keys_page_by_page(world: World) -> None:
    for namespace in ("a", "a-b", "a0"):
        world.create("/api/v1/namespaces", {"metadata": {"name": namespace}})
        for name in ("x", "y"):
            world.create(f"/api/v1/namespaces/{namespace}/secrets", {"metadata": {"name": name}})
    found: list[tuple[str, str]] = []
    token = ""
    while not found or token:
        page = world.get("/api/v1/secrets", limit="1", **({"continue": token} if token else {}))
        found += [(each["metadata"]["namespace"], each["metadata"]["name"]) for each in page["items"]]
        token = page["metadata"].get("continue", "")
    assert found == [(space, name) for space in ("a-b", "a", "a0") for name in ("x", "y")]


@pytest.mark.parametrize(
    "params",
    [{"resourceVersionMatch": "Exact"}, {"limit": "9"}, {"resourceVersionMatch": "Exact", "limit": "9"}],
)
def test_a_list_as_it_was(world: World, params: dict[str, Any]) -> None:
    fill(world, 3)
    before = world.get(CONFIG_MAPS)
    version = before["metadata"]["resourceVersion"]
    world.done("DELETE", f"{CONFIG_MAPS}/m000")
    world.done("PUT", f"{CONFIG_MAPS}/m001", config_map("m001", changed="yes"))
    world.create(CONFIG_MAPS, config_map("m000"))
    world.create(CONFIG_MAPS, config_map("new"))
    assert world.get(CONFIG_MAPS, resourceVersion=version, **params) == before
    [one] = world.get(CONFIG_MAPS, resourceVersion=version, fieldSelector="metadata.name=m001", **params)[
        "items"
    ]
    assert one == before["items"][1]


def test_a_list_that_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_module, "HISTORY", 2)
    world = World().prepared()
    fill(world, 4)
    reply = world.ask("GET", CONFIG_MAPS, resourceVersion="2", resourceVersionMatch="Exact")
    assert (reply.code, reply.message) == (410, "The resourceVersion for the provided list is too old.")


def test_whoever_takes_any_version_gets_the_whole_list(world: World) -> None:
    fill(world, 3)
    page = world.get(CONFIG_MAPS, limit="1", resourceVersion="0")
    assert len(page["items"]) == 3
    assert "continue" not in page["metadata"]


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
        ({"timeoutSeconds": "x"}, 400, "strconv.ParseInt"),
        ({"continue": "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MCwic3RhcnQiOiJhIn0"}, 400, "is not valid"),
        ({"continue": "eyJsaXN0IjoxLCJzdGFydCI6MX0"}, 400, "is not valid"),
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
