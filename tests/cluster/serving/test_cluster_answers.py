"""The forms of answers: discovery, tables, metadata only, YAML, and events under both of their groups."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml

from moorage.cluster.access.requests import Answer, Request
from moorage.cluster.embedded import ADMIN
from tests.cluster.api_worlds import CONFIG_MAPS, PODS, World, config_map, pod

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
PARTIAL = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
PARTIAL_LIST = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


@pytest.fixture
def world() -> World:
    return World().prepared()


# Discovery


def test_both_forms_of_discovery_say_the_same(world: World) -> None:
    old: dict[str, set[str]] = {"v1": _names(world.get("/api/v1"))}
    for group in world.get("/apis")["groups"]:
        assert world.get(f"/apis/{group['name']}")["preferredVersion"] == group["preferredVersion"]
        for version in group["versions"]:
            name = version["groupVersion"]
            old[name] = _names(world.get(f"/apis/{name}"))
    new: dict[str, set[str]] = {}
    for root in ("/api", "/apis"):
        for group in world.done("GET", root, accept=AGGREGATED)["items"]:
            for version in group["versions"]:
                name = "/".join(filter(None, (group["metadata"].get("name", ""), version["version"])))
                new[name] = {
                    each["resource"] + part
                    for each in version["resources"]
                    for part in ("", *(f"/{sub['subresource']}" for sub in each.get("subresources", ())))
                }
    assert new == old
    assert {"pods", "pods/binding", "pods/eviction", "pods/log", "pods/status"} <= old["v1"]
    assert {"deployments", "deployments/scale"} <= old["apps/v1"]


def _names(resources: dict[str, Any]) -> set[str]:
    return {each["name"] for each in resources["resources"]}


@pytest.mark.parametrize(
    "path", ["/api/v2", "/apis/none", "/apis/apps/v2", "/none", "/openapi/v3/apis/none/v1"]
)
def test_what_is_not_there(world: World, path: str) -> None:
    assert world.ask("GET", path).code == 404


def test_health_and_version(world: World) -> None:
    for path in ("/healthz", "/livez", "/readyz"):
        answer = world.cluster.handle(Request("GET", path))
        assert isinstance(answer, Answer)
        assert (answer.status, answer.body) == (200, b"ok"), "for everybody"
    assert world.get("/version")["gitVersion"] == "v1.36.4"
    assert world.ask("GET", "/version", user=None).code == 200
    assert world.ask("GET", CONFIG_MAPS, user=None).code == 403
    assert world.ask("GET", CONFIG_MAPS, user=None, headers={"authorization": "Bearer x"}).code == 401


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", f"{CONFIG_MAPS}/a"),
        ("PUT", CONFIG_MAPS),
        ("PATCH", CONFIG_MAPS),
        ("OPTIONS", CONFIG_MAPS),
        ("GET", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"),
        ("DELETE", f"{PODS}/p/status"),
        ("POST", "/version"),
    ],
)
def test_methods_that_make_no_sense(world: World, method: str, path: str) -> None:
    assert world.ask(method, path, {}).code == 405


# Forms


def test_tables(world: World) -> None:
    world.create(PODS, pod("p", labels={"a": "b"}))
    table = world.done("GET", PODS, accept=f"{TABLE},application/json")
    assert (table["kind"], table["apiVersion"]) == ("Table", "meta.k8s.io/v1")
    names = [column["name"] for column in table["columnDefinitions"]]
    assert names[:5] == ["Name", "Ready", "Status", "Restarts", "Age"]
    [row] = table["rows"]
    assert row["cells"][:3] == ["p", "0/1", "Pending"]
    assert row["object"]["kind"] == "PartialObjectMetadata"
    assert row["object"]["metadata"]["labels"] == {"a": "b"}
    whole = world.done("GET", f"{PODS}/p", accept=TABLE, includeObject="Object")
    assert whole["rows"][0]["object"]["spec"]["containers"]
    assert world.done("GET", PODS, accept=TABLE, includeObject="None")["rows"][0]["object"] is None


def test_metadata_only(world: World) -> None:
    created = world.create(CONFIG_MAPS, config_map("a", x="y"))
    assert world.done("GET", f"{CONFIG_MAPS}/a", accept=PARTIAL) == {
        "kind": "PartialObjectMetadata",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": created["metadata"],
    }
    listed = world.done("GET", CONFIG_MAPS, accept=PARTIAL_LIST)
    assert listed["kind"] == "PartialObjectMetadataList"
    assert [set(each) for each in listed["items"]] == [{"kind", "apiVersion", "metadata"}]


def test_yaml(world: World) -> None:
    sent = yaml.safe_dump(config_map("a", text="line\nline", number="1", yes="é")).encode()
    world.done("POST", CONFIG_MAPS, sent, content_type="application/yaml")
    answer = world.cluster.handle(
        Request(
            "GET",
            f"{CONFIG_MAPS}/a",
            {"accept": ["application/yaml"], "authorization": ["Bearer the-admin-token"]},
        )
    )
    assert isinstance(answer, Answer)
    assert answer.content_type == "application/yaml"
    assert yaml.safe_load(answer.body) == world.get(f"{CONFIG_MAPS}/a")


def test_accept(world: World) -> None:
    for accept in ("", "*/*", "text/html, application/json", "application/xml;q=0.9,*/*;q=0.8"):
        assert world.ask("GET", CONFIG_MAPS, accept=accept).code == 200
    reply = world.ask("GET", CONFIG_MAPS, accept="text/html")
    assert (reply.code, reply.document["reason"]) == (406, "NotAcceptable")


# Events


def test_events_are_the_same_under_both_groups(world: World) -> None:
    old, new = "/api/v1/namespaces/default/events", "/apis/events.k8s.io/v1/namespaces/default/events"
    world.create(
        new,
        {
            "metadata": {"name": "e"},
            "eventTime": "2026-01-01T00:00:00.000000Z",
            "regarding": {"kind": "Pod", "name": "p", "namespace": "default"},
            "reason": "Scheduled",
            "note": "to a node",
            "action": "Binding",
            "type": "Normal",
            "reportingController": "s",
            "reportingInstance": "s-1",
        },
    )
    core = world.get(f"{old}/e")
    assert (core["apiVersion"], core["message"], core["involvedObject"]["name"]) == ("v1", "to a node", "p")
    assert core["reportingComponent"] == "s"
    listed = world.get(new)
    assert (listed["kind"], listed["apiVersion"]) == ("EventList", "events.k8s.io/v1")
    assert listed["items"][0]["note"] == "to a node"
    found = world.ask("GET", old, fieldSelector="involvedObject.name=p,reason=Scheduled").names
    assert found == ["e"]
    world.done("PATCH", f"{old}/e", {"count": 2}, content_type="application/merge-patch+json")
    assert world.get(f"{new}/e")["deprecatedCount"] == 2
    world.done("DELETE", f"{new}/e")
    assert world.ask("GET", f"{old}/e").code == 404


def test_answers_are_compact_json(world: World) -> None:
    world.create(CONFIG_MAPS, config_map("a"))
    answer = world.cluster.handle(Request("GET", CONFIG_MAPS, {"authorization": ["Bearer the-admin-token"]}))
    assert isinstance(answer, Answer)
    assert answer.body == json.dumps(json.loads(answer.body), separators=(",", ":")).encode()


@pytest.mark.parametrize(
    ("agent", "query", "indented"),
    [
        ("curl/8.5.0", "", True),
        ("curl/8.5.0", "?limit=1&pretty=false", False),
        ("kubectl/v1.36", "?pretty=true", True),
        ("kubectl/v1.36", "?pretty=", False),
        ("kubectl/v1.36", "?pretty=nonsense", False),
    ],
)
def test_answers_that_people_look_at_are_indented(
    world: World, agent: str, query: str, indented: bool
) -> None:
    world.create(CONFIG_MAPS, config_map("a"))
    for path in (CONFIG_MAPS, f"{CONFIG_MAPS}/a", f"{CONFIG_MAPS}/nothing"):
        headers = {"authorization": ["Bearer the-admin-token"], "user-agent": [agent]}
        answer = world.cluster.handle(Request("GET", path + query, headers))
        assert isinstance(answer, Answer)
        assert answer.body.startswith(b'{\n  "') is indented
        assert answer.body.endswith(b"}"), "the line end comes with the transport"


@pytest.mark.parametrize(
    ("accept", "content_type"),
    [
        ("application/json;q=0.5, application/yaml;q=0.9", "application/yaml"),
        ("application/json;q=0.5, application/yaml", "application/yaml"),
        ("application/json, application/yaml", "application/json"),
        ("application/yaml;q=nonsense, application/json;q=0.9", "application/yaml"),
    ],
)
def test_the_form_that_is_wanted_most(world: World, accept: str, content_type: str) -> None:
    request = Request("GET", CONFIG_MAPS, {"accept": [accept]}, user=ADMIN)
    answer = world.cluster.handle(request)
    assert isinstance(answer, Answer)
    assert answer.content_type == content_type


def test_a_table_in_the_version_that_is_asked_for(world: World) -> None:
    table = world.done("GET", PODS, accept=TABLE.replace("v=v1", "v=v1beta1"))
    assert (table["kind"], table["apiVersion"]) == ("Table", "meta.k8s.io/v1beta1")
