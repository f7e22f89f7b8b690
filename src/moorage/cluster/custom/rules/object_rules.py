"""Which rules of its definition an object breaks, in the words of the original and within its limits."""

from __future__ import annotations

from typing import Any, NamedTuple

from moorage.cel.environment import Evaluation, Program
from moorage.cel.evaluation.tracking import LIMIT_EXCEEDED
from moorage.cel.values import MAX_INT, NO_VALUE, Failure, Optional
from moorage.cluster.base.errors import Cause, duplicate_value, forbidden_value, invalid_value, required
from moorage.cluster.base.go_text import quoted
from moorage.cluster.base.store import Document
from moorage.cluster.custom.rules.compiling import OLD_SELF, CompiledRule
from moorage.cluster.custom.rules.correlation import Correlation, old_elements
from moorage.cluster.custom.rules.tree import RuleNode
from moorage.cluster.custom.rules.values import value_of
from moorage.cluster.schema.model import ARRAY, OBJECT

BUDGET = 10_000_000
"""What all rules together may cost for one object."""
_MOST_BYTES = 5 * 1024
"""Of a message that is computed."""
_NO_MORE = "no further validation rules will be run"
_OUT_OF_BUDGET = f"validation failed due to running out of cost budget, {_NO_MORE}"
_NO_OLD_SELF = Failure(f"no such attribute(s): {OLD_SELF}")
_TYPE_FIELDS = ("apiVersion", "kind")


class _Place(NamedTuple):
    """Where in an object the checking is, and what is known there of the time before an update."""

    path: str
    """Empty for the whole object."""
    own: Correlation | None = None
    nearest: Correlation | None = None
    """Of the innermost part around it that could be found before."""

    @property
    def field(self) -> str:
        return self.path or "<nil>"

    def named(self, name: str, path: str) -> _Place:
        if self.own is None:
            return self._replace(path=path)
        if self.nearest is None and name in _TYPE_FIELDS:
            return _Place(path)  # old and new objects come in the same version, whatever was said
        return _Place(path, self.own.of_name(name), self.own)

    def at(self, place: int) -> _Place:
        path = f"{self.path}[{place}]"
        return (
            self._replace(path=path) if self.own is None else _Place(path, self.own.of_place(place), self.own)
        )

    def is_unchanged(self) -> bool:
        known = self.own if self.own is not None else self.nearest
        return known is not None and known.is_unchanged()


class _Stop(Exception):
    """Nothing more is evaluated: it has cost enough."""


class ObjectRules:
    """One round of checking: collects what is broken, and what may go on being broken."""

    def __init__(self, budget: int = BUDGET) -> None:
        self.causes: list[Cause] = []
        self.tolerated: list[Cause] = []
        """What an update breaks in parts that it does not change."""
        self.budget = budget
        """What is left; less than nothing once it was not enough."""

    def check(
        self, node: RuleNode, new: Any, old: Any = None, *, path: str = "", tolerates: bool = False
    ) -> None:
        """Without an old value it is a new one. `tolerates`: what is broken already may remain so."""
        own = Correlation(node.schema, new, old) if tolerates else None
        try:
            self._check(node, new, old, _Place(path, own))
        except _Stop:
            self.budget = -1

    def _check(self, node: RuleNode, new: Any, old: Any, place: _Place) -> None:
        if new is None:
            return
        if node.rules:
            self._check_rules(node, new, old, place)
        if type(new) is list and node.items is not None:
            find_old = old_elements(node.schema, old)
            for index, each in enumerate(new):
                self._check(node.items, each, find_old(each), place.at(index))
        elif type(new) is dict:
            before: Document = old if type(old) is dict else {}
            if node.values is not None:
                for name, each in new.items():
                    inside = place.named(name, f"{place.path}[{name}]")
                    self._check(node.values, each, before.get(name), inside)
            for name, inner in node.fields.items():
                if name in new:
                    inside = place.named(name, f"{place.path}.{name}" if place.path else name)
                    self._check(inner, new[name], before.get(name), inside)

    def _check_rules(self, node: RuleNode, new: Any, old: Any, place: _Place) -> None:
        if self.budget <= 0:
            self._fail(node, place, _OUT_OF_BUDGET)
            raise _Stop
        value = value_of(new, node.schema)
        old_value = None if old is None or not node.uses_old_self else value_of(old, node.schema)
        for rule in node.rules:
            if rule.error:
                self._fail(node, place, f"rule compile error: {rule.error}")
            if rule.program is None or (rule.uses_old_self and old is None and not rule.may_lack_old_self):
                continue
            seen: Any = old_value
            if rule.may_lack_old_self:
                seen = NO_VALUE if old is None else Optional(old_value)
            result, cost = _outcome(rule.program, value, seen)
            if cost > MAX_INT or cost > self.budget:
                self._fail(node, place, _OUT_OF_BUDGET)
                raise _Stop
            self.budget -= cost
            if isinstance(result, Failure):
                self._report_failure(node, place, rule.rule, result.message)
            elif result is not True:
                before = old_value if old is not None and node.uses_old_self else _NO_OLD_SELF
                self._report(node, place, rule, new, self._message(node, place, rule, value, before))

    def _fail(self, node: RuleNode, place: _Place, detail: str) -> None:
        self.causes.append(invalid_value(place.field, node.schema.type, detail))

    def _report_failure(self, node: RuleNode, place: _Place, rule: Document, problem: str) -> None:
        said = _name_of(rule)
        if problem.startswith("no such overload"):
            why = "call arguments did not match a supported operator, function or macro signature for rule"
            self._fail(node, place, f"'{problem}': {why}: {said}")
        elif problem.startswith(LIMIT_EXCEEDED):
            self._fail(
                node, place, f"'{problem}': {_NO_MORE} due to call cost exceeds limit for rule: {said}"
            )
            raise _Stop
        else:
            self._fail(node, place, f"{problem} evaluating rule: {said}")

    def _report(self, node: RuleNode, place: _Place, rule: CompiledRule, new: Any, detail: str) -> None:
        self._add(_cause(_field(place, rule), node, new, detail, rule.rule.get("reason")), place, rule)

    def _add(self, cause: Cause, place: _Place, rule: CompiledRule) -> None:
        tolerated = not rule.uses_old_self and place.is_unchanged()
        (self.tolerated if tolerated else self.causes).append(cause)

    def _message(self, node: RuleNode, place: _Place, rule: CompiledRule, value: Any, old_value: Any) -> str:
        """What is said of a rule that is broken. A message that cannot be computed is not used."""
        usual = (rule.rule.get("message") or "").strip() or f"failed rule: {_name_of(rule.rule)}"
        if rule.message_program is None:
            return usual
        result, cost = _outcome(rule.message_program, value, old_value)
        expression = rule.rule["messageExpression"]
        problem = ""
        if cost > MAX_INT or cost > self.budget:
            problem = f"messageExpression evaluation failed due to running out of cost budget, {_NO_MORE}"
        elif isinstance(result, Failure) and result.message.startswith(LIMIT_EXCEEDED):
            limit = "due to call cost exceeds limit for messageExpression"
            problem = f"{_NO_MORE} {limit}: {quoted(expression)}"
        if problem:
            self._add(invalid_value(_field(place, rule), node.schema.type, problem), place, rule)
            raise _Stop
        self.budget -= cost
        text = result.strip() if isinstance(result, str) else ""
        usable = text and "\n" not in text and len(text.encode(errors="replace")) <= _MOST_BYTES
        return text if usable else usual


def _outcome(program: Program, value: Any, old_value: Any) -> Evaluation:
    if isinstance(value, Failure) or isinstance(old_value, Failure):
        return program.exact_outcome(value, old_value)
    return program.outcome(value, old_value)


def _name_of(rule: Document) -> str:
    text: str = rule.get("message") or rule["rule"]
    return text.strip()


def _field(place: _Place, rule: CompiledRule) -> str:
    if not rule.field:
        return place.field
    return f"{place.path}.{rule.field}" if place.path else rule.field


def _cause(field: str, node: RuleNode, value: Any, detail: str, reason: str | None) -> Cause:
    """Objects and lists are not shown."""
    shows = node.schema.type not in (OBJECT, ARRAY)
    if reason == "FieldValueForbidden":
        return forbidden_value(field, detail)
    if reason == "FieldValueRequired":
        return required(field, detail)
    if reason == "FieldValueDuplicate":
        return duplicate_value(field, value) if shows else Cause(reason, field, "Duplicate value")
    if shows:
        return invalid_value(field, value, detail)
    return Cause("FieldValueInvalid", field, f"Invalid value: {detail}")
