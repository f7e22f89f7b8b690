"""What a real API server (v1.36.4) answered to definitions and objects: a line for each in `recorded`."""

from __future__ import annotations

import json
from collections.abc import Iterable
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from moorage.cluster.base.errors import Cause, Refusal
from moorage.cluster.custom.definitions import CrdStrategy
from moorage.cluster.custom.strategy import CustomStrategy
from moorage.cluster.kinds.metadata import name_rule_of, validate_metadata
from moorage.cluster.schema.builtin import schema_of
from moorage.cluster.schema.conform import conform

RECORDED = Path(__file__).with_name("recorded")
GROUP = "shop.example.com"
Case = dict[str, Any]


def recorded(name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((RECORDED / f"{name}.json").read_text())
    return loaded


RULES = recorded("rules")
METADATA = recorded("metadata")
DEFINITIONS = recorded("definitions")


def strategy_for(kind: str, schema: dict[str, Any]) -> CustomStrategy:
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"plural": f"{kind.lower()}s", "kind": kind}
    spec = {"group": GROUP, "scope": "Cluster", "names": names, "versions": [version]}
    return CustomStrategy({"metadata": {"name": f"{names['plural']}.{GROUP}"}, "spec": spec}, version)


def in_any_order(causes: Iterable[Cause | dict[str, str]] | None) -> list[tuple[str, str, str]]:
    """The original looks at fields in an order that is another each time."""
    found = [cause._asdict() if isinstance(cause, Cause) else cause for cause in causes or ()]
    return sorted((each["field"], each["reason"], each["message"]) for each in found)


def written(strategy: CustomStrategy, given: dict[str, Any]) -> tuple[dict[str, Any], list[Cause], list[str]]:
    document, unknown = strategy.conform(given)
    strategy.default(document)
    strategy.prepare_create(document)
    warnings = [f'unknown field "{path}"' for path in unknown]
    return document, list(strategy.validate(document)), warnings + strategy.warnings(document)


RULE = strategy_for("Rule", RULES["schema"])


@pytest.mark.parametrize("case", RULES["cases"], ids=lambda case: f"{case['field']}={case['value']!r:.40}")
def test_each_rule_of_a_schema(case: Case) -> None:
    given = {
        "apiVersion": f"{GROUP}/v1",
        "kind": "Rule",
        "metadata": {"name": "x"},
        "spec": {case["field"]: case["value"]},
    }
    before = deepcopy(given)

    if case["code"] == 400:
        with pytest.raises(Refusal) as refused:
            written(RULE, given)
        assert (refused.value.code, refused.value.message) == (400, case["message"])
        return
    document, causes, warnings = written(RULE, given)

    assert in_any_order(causes) == in_any_order(case.get("causes"))
    if case["code"] == 201:
        assert document["spec"] == case["spec"]
    assert sorted(warnings) == sorted(case.get("warnings", []))
    assert given == before


META = strategy_for("Meta", METADATA["schema"])


@pytest.mark.parametrize("case", METADATA["cases"], ids=lambda case: f"{case['object']!r:.110}")
def test_metadata_pruning_and_defaults(case: Case) -> None:
    if case["code"] == 400:
        with pytest.raises(Refusal) as refused:
            written(META, case["object"])
        assert (refused.value.code, refused.value.message) == (400, case["message"])
        return
    document, causes, warnings = written(META, case["object"])

    if case["code"] == 201:
        assert causes == []
        result = {name: part for name, part in document.items() if name not in ("apiVersion", "kind")}
        result["metadata"].pop("generation", None)
        assert result == case["result"]
    elif case["causes"][0]["message"] != "Required value: name or generateName is required":
        assert in_any_order(causes) == in_any_order(case["causes"])
    assert sorted(warnings) == sorted(case.get("warnings", []))


OURS = "spec.conversion: "


@pytest.mark.parametrize("case", DEFINITIONS["cases"], ids=lambda case: case["name"])
def test_definitions(case: Case) -> None:
    strategy = CrdStrategy()
    schema = schema_of("apiextensions.k8s.io", "v1", "CustomResourceDefinition")
    kind, version = "CustomResourceDefinition", "apiextensions.k8s.io/v1"
    document, unknown = conform(schema, case["object"], kind=kind, api_version=version)
    strategy.default(document)
    strategy.prepare_create(document)
    rule = name_rule_of("customresourcedefinitions.apiextensions.k8s.io")
    causes = [
        *validate_metadata(document, namespaced=False, name_rule=rule),
        *strategy.validate(document),
    ]

    assert unknown == []
    assert in_any_order(causes) == in_any_order(case.get("causes"))
    if case["code"] == 201:
        assert {name: document[name] for name in ("spec", "status")} == case["result"]
        warnings = [each for each in strategy.warnings(document) if not each.startswith(OURS)]
        assert sorted(warnings) == sorted(case.get("warnings", []))
