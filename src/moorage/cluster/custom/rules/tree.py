"""The rules of a schema, each where it stands, ready to be evaluated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from moorage.cluster.base.store import Document
from moorage.cluster.custom.rules.compiling import RULES, CompiledRule, compile_rules
from moorage.cluster.custom.rules.declared_types import DeclaredType, declared_type
from moorage.cluster.custom.rules.names import escaped
from moorage.cluster.schema.model import Schema


@dataclass(slots=True)
class RuleNode:
    """The rules for one part of an object, and for the parts inside it."""

    schema: Schema
    rules: Sequence[CompiledRule] = ()
    fields: dict[str, RuleNode] = field(default_factory=dict)
    values: RuleNode | None = None
    items: RuleNode | None = None

    @property
    def uses_old_self(self) -> bool:
        return any(rule.uses_old_self for rule in self.rules)


def rule_tree(open_api: Document, schema: Schema) -> RuleNode | None:
    """The rules in a schema, given as it is written and as a shape; None: there are none."""
    return _node(open_api, schema, declared_type(schema, whole=schema.embedded))


def _node(open_api: Document, schema: Schema, declared: DeclaredType | None) -> RuleNode | None:
    """What expressions do not see has no rules."""
    if declared is None:
        return None
    node = RuleNode(schema)
    if rules := open_api.get(RULES):
        node.rules = compile_rules(rules, schema, declared)
    for name, inner in (open_api.get("properties") or {}).items():
        shape = schema.fields[name].schema
        spelled = escaped(name)
        if spelled is None:
            type_ = declared_type(shape, whole=shape.embedded)
        else:
            type_ = (declared.fields or {}).get(spelled)
        if (found := _node(inner, shape, type_)) is not None:
            node.fields[name] = found
    values, items = open_api.get("additionalProperties"), open_api.get("items")
    if isinstance(values, dict) and schema.values is not None:
        node.values = _node(values, schema.values, declared.element)
    if isinstance(items, dict) and schema.items is not None:
        node.items = _node(items, schema.items, declared.element)
    return node if node.rules or node.fields or node.values or node.items else None
