"""Whatever stands in objects of other kinds, the rules find fault with it; they do not fall over."""

from __future__ import annotations

from copy import deepcopy
from random import Random

import pytest

from moorage.cluster.kinds.catalog import STRATEGIES
from moorage.cluster.kinds.metadata import name_rule_of, validate_metadata, validate_metadata_update
from moorage.cluster.schema.conform import conform
from moorage.cluster.schema.discovery_data import builtin_definitions
from tests.cluster.kinds.test_cluster_kinds_any_values import anything

GROUPS = (
    "apiregistration.k8s.io",
    "autoscaling",
    "certificates.k8s.io",
    "discovery.k8s.io",
    "flowcontrol.apiserver.k8s.io",
    "networking.k8s.io",
)
DEFINITIONS = {
    f"{each.api_version}/{each.kind}": each
    for each in builtin_definitions(STRATEGIES)
    if each.group in GROUPS
}
ROUNDS = 60


@pytest.mark.parametrize("kind", DEFINITIONS)
def test_nothing_is_raised(kind: str) -> None:
    definition = DEFINITIONS[kind]
    strategy, random, broken = definition.strategy, Random(kind), 0
    creator = {"username": "a", "uid": "b", "groups": ["c"], "extra": {"d": ["e"]}}
    for _ in range(ROUNDS):
        old, new = (
            conform(
                definition.schema,
                {
                    **anything(definition.schema, random),
                    "apiVersion": definition.api_version,
                    "metadata": {"name": "x", "annotations": {"a": "b"}},
                },
                kind=definition.kind,
                api_version=definition.api_version,
            ).document
            for _ in range(2)
        )
        for document in (old, new):
            strategy.default(document)
        strategy.prepare_create(old)
        strategy.note_creator(old, creator)
        rule = name_rule_of(definition.storage)
        named = validate_metadata(old, namespaced=definition.namespaced, name_rule=rule)
        broken += bool([*named, *strategy.validate(old)])
        assert all(isinstance(text, str) for text in strategy.warnings(old))
        strategy.selectable_fields(old)
        for subresource in ("", *definition.subresources):
            changed = deepcopy(new)
            strategy.prepare_change(changed, old, subresource)
            list(validate_metadata_update(changed, old))
            list(strategy.validate_change(changed, old, subresource, []))
        kept = strategy.stored(deepcopy(old))
        assert strategy.shown(kept) == strategy.shown(strategy.stored(strategy.shown(deepcopy(kept))))
    assert broken > ROUNDS / 2
