"""What a real API server (v1.36.4) made of rules in CEL, by `tools.record_custom_rules`."""

from __future__ import annotations

import asyncio
import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from moorage.cluster.custom.definitions import CrdStrategy
from tests.cluster.api_worlds import Reply, World

Document = dict[str, Any]
RECORDED = Path(__file__).with_name("recorded")
GROUP = "rules.example.com"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
RULES = "x-kubernetes-validations"


@cache
def recorded(name: str) -> Document:
    loaded: Document = json.loads((RECORDED / f"{name}.json").read_text())
    return loaded


def definition(plural: str, schema: Document, subresources: Document | None = None) -> Document:
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    if subresources is not None:
        version["subresources"] = subresources
    names = {"plural": plural, "kind": plural[:-1].capitalize()}
    spec = {"group": GROUP, "scope": "Namespaced", "names": names, "versions": [version]}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{GROUP}"},
        "spec": spec,
    }


def without_rules(schema: Any) -> Any:
    if isinstance(schema, dict):
        return {name: without_rules(inner) for name, inner in schema.items() if name != RULES}
    return [without_rules(each) for each in schema] if isinstance(schema, list) else schema


def causes_of(causes: list[Document]) -> list[tuple[str, str, str]]:
    """The original looks at fields in an order that is another each time."""
    return sorted((each.get("field", ""), each["reason"], each["message"]) for each in causes)


def check(reply: Reply, case: Document) -> None:
    causes = [] if reply.code < 300 else reply.document.get("details", {}).get("causes", [])
    assert causes_of(causes) == causes_of(case.get("causes", []))
    assert reply.code == case["code"]
    if "message" in case:
        assert reply.message == case["message"]


# Definitions


@cache
def world_for_definitions() -> World:
    return World().prepared()


def created(schema: Document) -> Reply:
    return world_for_definitions().ask("POST", CRDS, definition("things", schema), dryRun="All")


@pytest.mark.parametrize("case", recorded("rule_definitions")["expressions"], ids=lambda case: case["rule"])
def test_an_expression_in_a_definition(case: Document) -> None:
    spec = {**recorded("rule_definitions")["spec"], RULES: [{"rule": case["rule"]}]}
    check(created({"type": "object", "properties": {"spec": spec}}), case)


@pytest.mark.parametrize("case", recorded("rule_definitions")["definitions"], ids=lambda case: case["name"])
def test_a_definition(case: Document) -> None:
    check(created(case["schema"]), case)


@pytest.mark.parametrize("case", recorded("rule_definitions")["changes"], ids=lambda case: case["name"])
def test_a_change_of_a_definition(case: Document) -> None:
    async def changed() -> Reply:
        world = World().prepared()
        stored = world.create(CRDS, definition(case["plural"], case["before"]))
        address = f"{CRDS}/{stored['metadata']['name']}"
        crd = world.get(address)
        crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = case["schema"]
        return world.ask("PUT", address, crd, dryRun="All")

    check(asyncio.run(changed()), case)


def test_a_schema_that_is_stored_may_cost_what_it_costs() -> None:
    dear = {
        "type": "array",
        "items": {"type": "string"},
        RULES: [{"rule": "self.all(x, x.contains(self[0]))"}],
    }
    spec = {"type": "object", "properties": {"l": dear}}
    crd = definition("things", {"type": "object", "properties": {"spec": spec}})
    crd["metadata"]["resourceVersion"] = "1"
    crd["status"] = {"storedVersions": ["v1"]}
    strategy = CrdStrategy()

    fresh = [cause.message for cause in strategy.validate(crd)]
    relabeled = {**crd, "metadata": {**crd["metadata"], "labels": {"a": "b"}}}
    again = [cause.message for cause in strategy.validate_change(relabeled, crd, "", [])]

    assert any("estimated rule cost exceeds budget" in message for message in fresh)
    assert not any("Forbidden: estimated rule cost exceeds budget" in message for message in again)


# Objects

GROUPS = sorted(file.stem for file in RECORDED.glob("rules_*.json"))
WRITES = [(name, number) for name in GROUPS for number in range(len(recorded(name)["writes"]))]


@cache
def replies(group: str) -> list[Reply]:
    """The answers to all writes of a group. None of them stores anything."""

    async def answers() -> list[Reply]:
        found = recorded(group)
        plural, subresources = found["plural"], found.get("subresources")
        world = World().prepared()
        path = f"/apis/{GROUP}/v1/namespaces/default/{plural}"
        earlier = without_rules(found.get("earlier") or found["schema"])
        world.create(CRDS, definition(plural, earlier, subresources))
        for number, write in enumerate(found["writes"]):
            if "before" in write:
                world.create(path, an_object(plural, f"o{number}", write["before"]), fieldManager="recorder")
        address = f"{CRDS}/{plural}.{GROUP}"
        crd = world.get(address)
        crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = found["schema"]
        world.done("PUT", address, crd)
        return [written(world, path, plural, number, write) for number, write in enumerate(found["writes"])]

    return asyncio.run(answers())


def an_object(plural: str, name: str, body: Document) -> Document:
    metadata = {"name": name, **body.get("metadata", {})}
    kind = plural[:-1].capitalize()
    return {"apiVersion": f"{GROUP}/v1", "kind": kind, **body, "metadata": metadata}


def written(world: World, path: str, plural: str, number: int, write: Document) -> Reply:
    name, part = f"o{number}", write.get("part", "")
    dry: Document = {"dryRun": "All", "fieldManager": "recorder"}
    if "before" not in write:
        return world.ask("POST", path, an_object(plural, name, write["body"]), **dry)
    address = f"{path}/{name}"
    place = f"{address}/{part}" if part else address
    if patch := write.get("patch"):
        if "apply" not in patch:
            return world.ask("PATCH", place, write["body"], content_type=patch, **dry)
        body = an_object(plural, name, write["body"])
        return world.ask("PATCH", place, body, content_type=patch, force="true", **dry)
    stored = world.get(address)
    body = an_object(plural, name, write["body"])
    body["metadata"] = {**stored["metadata"], **write["body"].get("metadata", {})}
    body["metadata"].pop("managedFields", None)
    return world.ask("PUT", place, body, **dry)


@pytest.mark.parametrize(("group", "number"), WRITES)
def test_a_write_of_an_object(group: str, number: int) -> None:
    case = recorded(group)["writes"][number]
    reply = replies(group)[number]

    check(reply, case)
    told = [f'299 - "{warning}"' for warning in case.get("warnings", [])]
    assert sorted(reply.warnings) == sorted(told)
