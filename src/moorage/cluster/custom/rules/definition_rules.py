"""What is wrong with the rules in a definition: whether they can be compiled, and what they can cost."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from moorage.cel.values import MAX_UINT
from moorage.cluster.base.errors import Cause, forbidden_value, invalid_value
from moorage.cluster.base.store import Document
from moorage.cluster.custom.internal_form import internal_rule
from moorage.cluster.custom.rules.compiling import RULES, CompiledRule, compile_rules
from moorage.cluster.custom.rules.declared_types import DeclaredType, declared_type
from moorage.cluster.custom.rules.names import escaped
from moorage.cluster.custom.structural import declared_schema, inner_schemas
from moorage.cluster.schema.model import MAP, Schema

_MOST_PER_RULE = 10_000_000
_MOST_IN_ALL = 100_000_000
_SHOWN = 4
"""Of the most expensive rules, so many are named."""
_UNTYPED = (
    f"Internal error: internal error: failed to construct type information for {RULES} rules: "
    "unable to convert structural schema to CEL declarations"
)
_INNER = ("additionalProperties", "properties", "items")


@dataclass(frozen=True, slots=True)
class _Node:
    """A schema in its place, with what holds there."""

    open_api: Document
    schema: Schema
    path: str
    whole: bool
    in_scope: bool
    """Whether it has rules, or something around it."""
    declared: DeclaredType | None
    """Known only where it is in scope."""
    most: int | None = 1
    """How many such values an object can have; None: the schemas around it do not say."""
    uncorrelatable: str = ""
    """The list around it whose elements cannot be found again after an update."""

    def inside(self, step: str, open_api: Document) -> _Node:
        name = step[len(".properties[") : -1] if step.startswith(".properties[") else ""
        shape = self.schema.fields[name].schema if name else self.schema.items or self.schema.values
        assert shape is not None
        in_scope = self.in_scope or bool(open_api.get(RULES))
        declared = self._declared_inside(name) if self.in_scope else None
        if in_scope and declared is None:
            declared = declared_type(shape, whole=shape.embedded)
        uncorrelatable = self.uncorrelatable
        if step == ".items" and self.schema.list_type != MAP:
            uncorrelatable = uncorrelatable or self.path
        most, factor = self.most, _growth(self.open_api)
        return _Node(
            open_api,
            shape,
            self.path + step,
            shape.embedded,
            in_scope,
            declared,
            None if most is None or factor is None else min(most * factor, MAX_UINT),
            uncorrelatable,
        )

    def _declared_inside(self, name: str) -> DeclaredType | None:
        if self.declared is None or not name:
            return None if self.declared is None else self.declared.element
        return (self.declared.fields or {}).get(escaped(name) or "")

    def cost(self, of_one: int) -> int:
        """Of a rule for all values of the schema together."""
        most = self.declared.max_count() if self.most is None and self.declared else self.most or 0
        return min(of_one * most, MAX_UINT)


def _growth(open_api: Document) -> int | None:
    """How many parts of one kind a value has at most; None: nobody says."""
    kind = open_api.get("type")
    if kind == "array" or (kind == "object" and open_api.get("additionalProperties") is not None):
        most = open_api.get("maxItems" if kind == "array" else "maxProperties")
        return None if most is None else max(most, 0)
    return 1


class _Checking:
    def __init__(self, mistakes: list[Cause], *, is_stored: bool) -> None:
        self._mistakes = mistakes
        self._is_stored = is_stored
        self._total = 0
        self._expensive: list[tuple[int, str]] = []

    def problems(self, node: _Node) -> Iterator[Cause]:
        """Those of rules further inside come first."""
        for step, inner in inner_schemas(node.open_api, _INNER):
            yield from self.problems(node.inside(step, inner))
        rules, field = node.open_api.get(RULES), f"{node.path}.{RULES}"
        if not rules or any(cause.field.startswith(f"{node.path}.") for cause in self._mistakes):
            return
        if node.declared is None:
            yield Cause("InternalError", field, _UNTYPED)
            return
        for place, rule in enumerate(compile_rules(rules, node.schema, node.declared)):
            yield from self._rule_problems(node, rule, f"{field}[{place}]")

    def _rule_problems(self, node: _Node, rule: CompiledRule, path: str) -> Iterator[Cause]:
        cost = 0 if rule.program is None else node.cost(rule.program.max_cost)
        yield from self._cost_problems(f"{path}.rule", "rule", cost)
        if rule.error:
            yield invalid_value(f"{path}.rule", internal_rule(rule.rule), rule.error)
        if rule.message_error:
            yield invalid_value(f"{path}.messageExpression", internal_rule(rule.rule), rule.message_error)
        elif rule.message_program is not None:
            cost = rule.message_program.max_cost
            yield from self._cost_problems(f"{path}.messageExpression", "messageExpression", cost)
        if rule.uses_old_self and node.uncorrelatable:
            where = f"on the uncorrelatable portion of the schema within {node.uncorrelatable}"
            yield invalid_value(f"{path}.rule", rule.rule["rule"], f"oldSelf cannot be used {where}")
        elif not rule.uses_old_self and (given := rule.rule.get("optionalOldSelf")) is not None:
            detail = "may not be set if oldSelf is not used in rule"
            yield invalid_value(f"{path}.optionalOldSelf", given, detail)

    def _cost_problems(self, field: str, what: str, cost: int) -> Iterator[Cause]:
        if cost > _MOST_PER_RULE and not self._is_stored:
            yield forbidden_value(field, _too_expensive(f"estimated {what} cost", cost, _MOST_PER_RULE))
        self._total = min(self._total + cost, MAX_UINT)
        if cost >= _MOST_IN_ALL // 100:
            self._expensive.append((cost, field))
            self._expensive.sort(key=lambda each: -each[0])
            del self._expensive[_SHOWN:]

    def total_problems(self, path: str) -> Iterator[Cause]:
        if self._total > _MOST_IN_ALL:
            for _, field in self._expensive:
                exceeding = "exceeding cost limit for entire OpenAPIv3 schema"
                yield forbidden_value(field, f"contributed to estimated rule cost total {exceeding}")
            what = f"{RULES} estimated rule cost total for entire OpenAPIv3 schema"
            yield forbidden_value(path, _too_expensive(what, self._total, _MOST_IN_ALL))


def _too_expensive(what: str, cost: int, limit: int) -> str:
    factor = cost / limit
    if factor > 100:
        times = "more than 100x"
    else:
        times = f"{factor:.6f}x" if factor < 1.5 else f"{factor:.1f}x"
    advice = (
        "try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and "
        "strings are declared"
    )
    return f"{what} exceeds budget by factor of {times} ({advice})"


def rule_problems(
    open_api: Document, path: str, mistakes: list[Cause], *, is_stored: bool
) -> Iterator[Cause]:
    """What is wrong with the rules of a schema. `mistakes` is what else is wrong with it.

    Of parts with mistakes in them the rules are not looked at. Rules of a schema that `is_stored` just so may
    each cost what they cost.
    """
    schema = declared_schema(open_api)
    in_scope = bool(open_api.get(RULES))
    declared = declared_type(schema, whole=True) if in_scope else None
    checking = _Checking(mistakes, is_stored=is_stored)
    yield from checking.problems(_Node(open_api, schema, path, True, in_scope, declared))
    yield from checking.total_problems(path)
