"""Carries out what advice says, on documents and without any of its code, and checks what was promised."""

from __future__ import annotations

import copy
from typing import Any

from moorage.config import KubeSchedulerConfiguration
from moorage.framework.loading.registry import Registry
from moorage.what_if.scenario import evaluate

Document = dict[str, Any]


def carried_out(scenario: Document, change: list[Document]) -> Document:
    """The scenario after a change."""
    after = copy.deepcopy(scenario)
    for step in change:
        if "create" in step:
            assert not matching(after, place_of(step["create"])), "it exists already"
            after["objects"].append(copy.deepcopy(step["create"]))
        elif "delete" in step:
            (gone,) = matching(after, step["delete"])
            after["objects"] = [item for item in after["objects"] if item is not gone]
        else:
            (changed,) = matching(after, step["patch"])
            for operation in step["operations"]:
                apply(changed, operation)
    return after


def place_of(item: Document) -> Document:
    metadata = item["metadata"]
    return {"kind": item["kind"], **{key: metadata[key] for key in ("namespace", "name") if key in metadata}}


def matching(scenario: Document, place: Document) -> list[Document]:
    objects = [*scenario["objects"], {"kind": "Pod", **scenario["pod"]}]
    found = [
        item
        for item in objects
        if item["kind"] == place["kind"]
        and item["metadata"]["name"] == place["name"]
        and item["metadata"].get("namespace", "") == place.get("namespace", "")
    ]
    # The pod was given a kind in a copy of its outermost fields; changes go to the pod itself.
    is_pod = [item for item in found if item["metadata"] is scenario["pod"]["metadata"]]
    return [scenario["pod"]] if is_pod else found


def apply(document: Any, operation: Document) -> None:
    assert operation["op"] in ("add", "replace", "remove", "test")
    assert operation["path"].startswith("/")
    parts = [part.replace("~1", "/").replace("~0", "~") for part in operation["path"].split("/")[1:]]
    for part in parts[:-1]:
        document = document[int(part)] if isinstance(document, list) else document[part]
    last = parts[-1]
    if isinstance(document, list):
        if operation["op"] == "add":
            place = len(document) if last == "-" else int(last)
            assert 0 <= place <= len(document)
            document.insert(place, copy.deepcopy(operation["value"]))
            return
        assert 0 <= int(last) < len(document)
        key: Any = int(last)
    else:
        key = last
        if operation["op"] == "add":
            document[key] = copy.deepcopy(operation["value"])
            return
        assert key in document, operation
    if operation["op"] == "remove":
        del document[key]
    elif operation["op"] == "replace":
        document[key] = copy.deepcopy(operation["value"])
    else:
        assert document[key] == operation["value"]


def broken_promises(
    scenario: Document,
    advice: list[Document],
    registry: Registry,
    default: KubeSchedulerConfiguration | None = None,
) -> list[str]:
    """What does not hold of the advice for a scenario, in words."""
    problems = []
    for suggestion in advice:
        result = evaluate(carried_out(scenario, suggestion["change"]), registry, default)
        if suggestion["then"] == "fits":
            held = bool(suggestion["nodes"]) and set(suggestion["nodes"]) <= set(result["feasible"])
            held = held and "message" not in result
        else:
            nominated = (result.get("postFilter") or {}).get("nominatedNodes") or []
            held = bool(set(nominated) & set(suggestion["nodes"]))
        if not held:
            got = {key: result.get(key) for key in ("feasible", "message", "postFilter")}
            problems.append(f"{scenario.get('id')}: {suggestion}\n  gives {got}")
    return problems
