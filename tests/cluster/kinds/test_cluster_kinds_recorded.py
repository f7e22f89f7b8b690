"""Objects of all kinds, held against what kube-apiserver v1.36.4 answered to the same requests.

created.json: what was stored (addresses, ports and times masked). refused.json: which rules were broken.
changed.json: what became of a stored object after a merge patch, or which rules that broke.
"""

from __future__ import annotations

import json
import re
from copy import deepcopy
from ipaddress import IPv4Network
from pathlib import Path
from typing import Any

import pytest

from moorage.cluster.base.errors import Refusal, invalid
from moorage.cluster.base.store import Document, Store
from moorage.cluster.kinds import service_allocation
from moorage.cluster.kinds.catalog import STRATEGIES
from moorage.cluster.kinds.events import core_to_new, new_to_core
from moorage.cluster.schema.conform import conform
from moorage.cluster.schema.definitions import Definition, Strategy
from moorage.cluster.schema.discovery_data import builtin_definitions
from tests.cluster.kinds.go_dumps import without_go_dumps

HERE = Path(__file__).parent
DEFINITIONS = {
    (definition.api_version, definition.kind): definition for definition in builtin_definitions(STRATEGIES)
}
MASKED = {"lastPhaseTransitionTime", "timeAdded"}


def recorded_in(name: str) -> list[Any]:
    entries: list[Any] = json.loads((HERE / name).read_text())
    return entries


def label(entry: dict[str, Any]) -> str:
    document = entry.get("document") or entry["before"]
    return str(document["kind"])


@pytest.fixture(autouse=True)
def same_range(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service_allocation, "CLUSTER_IPS", IPv4Network("10.0.0.0/24"))


@pytest.mark.parametrize("entry", recorded_in("created.json"), ids=label)
def test_a_new_object_is_stored_as_the_original_stores_it(entry: dict[str, Any]) -> None:
    assert masked(created(entry["document"])) == masked(entry["stored"])


@pytest.mark.parametrize("entry", recorded_in("refused.json"), ids=label)
def test_a_wrong_object_is_refused_in_the_words_of_the_original(entry: dict[str, Any]) -> None:
    with pytest.raises(Refusal) as refusal:
        created(entry["document"])

    if entry["document"]["kind"] == "Role":
        entry["causes"].remove("FieldValueInvalid metadata.name: Invalid value: \"d/1\": may not contain '/'")
    found, recorded = both(causes(refusal.value), entry["causes"])
    assert found == recorded


@pytest.mark.parametrize("entry", recorded_in("changed.json"), ids=label)
def test_a_change_does_what_it_does_in_the_original(entry: dict[str, Any]) -> None:
    try:
        after = changed(entry["before"], entry["patch"], entry["subresource"])
    except Refusal as refusal:
        found, recorded = both(list(set(causes(refusal))), entry.get("causes", ["accepted  "]))
        assert found == recorded
    else:
        assert masked(after) == masked(entry.get("after", {"refused": entry.get("causes")}))


def created(document: Document) -> Document:
    definition, strategy = described(document)
    new = stored_form(definition, conformed(definition, document))
    strategy.default(new)
    strategy.prepare_create(new)
    if strategy.counts_generations:
        new["metadata"]["generation"] = 1
    if definition.plural == "services":
        service_allocation.allocate_service(new, Store())
    if definition.plural in ("persistentvolumes", "persistentvolumeclaims", "volumeattributesclasses"):
        short = {"persistentvolumes": "pv", "persistentvolumeclaims": "pvc"}.get(definition.plural, "vac")
        new["metadata"]["finalizers"] = [f"kubernetes.io/{short}-protection"]
    refuse(definition, new, list(strategy.validate(new)))
    return core_to_new(new) if definition.group == "events.k8s.io" else new


def changed(before: Document, patch: Document, subresource: str) -> Document:
    definition, strategy = described(before)
    old = stored_form(definition, conformed(definition, before))
    new = stored_form(definition, conformed(definition, merged(before, patch)))
    strategy.default(new)
    if subresource:
        strategy.prepare_status_update(new, old)
        found = list(strategy.validate_status_update(new, old))
    else:
        strategy.prepare_update(new, old)
        same = {**new, "metadata": None, "status": None} == {**old, "metadata": None, "status": None}
        if strategy.counts_generations and not same:
            new["metadata"]["generation"] += 1
        if definition.plural == "services":
            service_allocation.allocate_service(new, Store(), old)
        new["metadata"].setdefault("uid", "1")
        new["metadata"]["resourceVersion"] = "1"
        found = [*strategy.validate(new), *strategy.validate_update(new, old)]
        del new["metadata"]["resourceVersion"]
    refuse(definition, new, found)
    return core_to_new(new) if definition.group == "events.k8s.io" else new


def described(document: Document) -> tuple[Definition, Strategy]:
    definition = DEFINITIONS[document["apiVersion"], document["kind"]]
    return definition, STRATEGIES[definition.name]


def conformed(definition: Definition, document: Document) -> Document:
    found = conform(
        definition.schema, deepcopy(document), kind=definition.kind, api_version=definition.api_version
    )
    result: Document = found.document
    return result


def stored_form(definition: Definition, document: Document) -> Document:
    return new_to_core(document) if definition.group == "events.k8s.io" else document


def refuse(definition: Definition, document: Document, found: list[Any]) -> None:
    if found:
        raise invalid(definition.kind, definition.group, document["metadata"]["name"], found)


def causes(refusal: Refusal) -> list[str]:
    assert refusal.details is not None
    return [f"{cause['reason']} {cause['field']}: {cause['message']}" for cause in refusal.details["causes"]]


def both(found: list[str], recorded: list[str]) -> tuple[list[list[str]], list[list[str]]]:
    return without_go_dumps([each.split(" ", 2) for each in found], [each.split(" ", 2) for each in recorded])


def merged(target: Any, patch: Any) -> Any:
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = merged(result.get(name), value)
    return result


def masked(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: "…" if name in MASKED else masked(each) for name, each in value.items()}
    if isinstance(value, list):
        return [masked(each) for each in value]
    if isinstance(value, str) and re.fullmatch(r"IP|10\.0\.0\.\d+", value):
        return "IP"
    if value == "PORT" or (type(value) is int and 30000 <= value <= 32800):
        return "PORT"
    return value
