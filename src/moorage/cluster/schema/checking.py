"""Holds documents against the rules of their types.

Each type is compiled into one function on its first use: it goes through the lines of the type, asks what
relates its fields, and goes on below where anything is to be checked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from itertools import chain
from typing import Any

from moorage.cluster.base import errors
from moorage.cluster.base.certificates import request_problem
from moorage.cluster.base.errors import Cause
from moorage.cluster.base.store import Document
from moorage.cluster.schema import forms
from moorage.cluster.schema.builtin import short_name, type_named
from moorage.cluster.schema.model import ABSENT, ARRAY, INTEGER, NUMBER, STRING, Field, Schema
from moorage.cluster.schema.rules import BELOW, DEFAULTS, RELATED, UNCHECKED, Line, Rule, Step, rules_of
from moorage.cluster.schema.signer_names import check_signer_name

Found = list[Cause]
Around = dict[str, Document]
"""The objects around a value, by the names of their types, and what relations leave for those after them."""
Relation = Callable[[Document, str, Around], Iterable[Cause]]
"""Tells which rules that relate fields an object breaks: the object, its path, what is around it."""
Check = Callable[[Any, str], Iterable[Cause]]
"""Tells which rules a value at a path breaks."""
Ask = Callable[[Document, str, Around, Found], None]
"""A check that may need to know what is around the object."""

IMMUTABLE = "field is immutable"
NOT_POSITIVE = "must be greater than zero"

_relations: dict[str, list[tuple[Relation, str]]] = {}
_checkers: dict[Schema, _Checker] = {}
_fixed: dict[Schema, _Fixed] = {}


def relates(*type_names: str, where: str = "") -> Callable[[Relation], Relation]:
    """Has a function asked about every object of these types, or those where a field is there."""

    def add(relation: Relation) -> Relation:
        for name in type_names:
            _relations.setdefault(name, []).append((relation, where))
        return relation

    return add


def check(type_name: str, value: Document | None, path: str = "", around: Around | None = None) -> Found:
    """The rules that an object of a built-in type breaks, and all below it; an absent one breaks none."""
    found: Found = []
    if value is not None:
        _checker_named(type_name).check(value, path, dict(around or {}), found)
    return found


def check_change(type_name: str, new: Document, old: Document, path: str = "") -> Found:
    """The fields that have another value and may not."""
    found: Found = []
    _fixed_of(type_named(type_name)).check(new, old, path, found)
    return found


def check_form(form: str, value: Any, path: str) -> Found:
    """What is wrong with a single value that is to have a form, such as dns-label."""
    return [errors.invalid_value(path, value, problem) for problem in forms.FORMS[form](value)]


def check_labels(labels: Mapping[str, str], path: str) -> Found:
    found: Found = []
    for key, text in labels.items():
        found += check_form("qualified-name", key, path)
        found += check_form("label-value", text, path)
    return found


def below(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def zero_of(field: Field | None) -> Any:
    """What stands in messages for a value that is absent."""
    if field is None or (not field.omits_zero and field.default is ABSENT):
        return None
    if field.default is not ABSENT and field.default is not None:
        return field.default
    if field.schema.type == STRING:
        return None if field.schema.format == "date-time" else ""
    return 0 if field.schema.type in (INTEGER, NUMBER) else None


# Single rules


def _one_of(rule: Rule) -> Check:
    choices = rule.words
    return lambda value, path: () if value in choices else [errors.unsupported_value(path, value, choices)]


def _number(rule: Rule) -> Check:
    """`min 1`, `max 9`, `range 1 9`, `is 1`; a message of its own may follow."""
    count = 2 if rule.name == "range" else 1
    bounds, text = [int(word) for word in rule.words[:count]], " ".join(rule.words[count:])
    low = bounds[0] if rule.name != "max" else float("-inf")
    high = bounds[-1] if rule.name != "min" else float("inf")
    if not text and rule.name == "min":
        text = NOT_POSITIVE if low == 1 else f"must be greater than or equal to {low}"
    elif not text:
        between = f"must be between {low} and {high}, inclusive"
        text = between if rule.name == "range" else f"must be less than or equal to {high}"
    return lambda value, path: () if low <= value <= high else [errors.invalid_value(path, value, text)]


def _limit(rule: Rule) -> Check:
    """`bytes 63`, also of all keys and values, `items 20`, or `count 20` where messages speak of bytes.

    With a message of its own, the value is shown.
    """
    most, text = int(rule.words[0]), " ".join(rule.words[1:])

    def limit(value: Any, path: str) -> Iterable[Cause]:
        size = _bytes(value) if rule.name == "bytes" else len(value)
        if size <= most:
            return ()
        if text:
            return [errors.invalid_value(path, value, text)]
        too_many = rule.name == "items"
        return [errors.too_many(path, size, most) if too_many else errors.too_long(path, most)]

    return limit


def _bytes(value: Any) -> int:
    if isinstance(value, dict):
        return sum(forms.size(key) + forms.size(text) for key, text in value.items())
    return forms.size(value)


def _unique(rule: Rule) -> Check:
    """`unique` items of a list; `unique name`: told apart by a field; `unique @name`: which is not blamed."""
    key = rule.words[0].removeprefix("@") if rule.words else ""
    blamed = f".{key}" if key and not rule.words[0].startswith("@") else ""

    def unique(value: Any, path: str) -> Iterator[Cause]:
        seen = []
        for index, item in enumerate(value):
            told = item.get(key, "") if key else item
            if told in seen:
                yield errors.duplicate_value(f"{path}[{index}]{blamed}", told)
            seen.append(told)

    return unique


def _some_of(rule: Rule) -> Check:
    """`some-of a,b` and a message: an object has a field of these; if it has none, the first is missed."""
    names, text = rule.words[0].split(","), rule.words[1]
    return lambda value, path: (
        [] if any(name in value for name in names) else [errors.required(f"{path}.{names[0]}", text)]
    )


def _not_both(rule: Rule) -> Check:
    """`not-both a,b` and a message: an object with both fields should not have the first."""
    names, text = rule.words[0].split(","), rule.words[1]
    return lambda value, path: (
        [errors.forbidden_value(f"{path}.{names[0]}", text)] if all(name in value for name in names) else []
    )


def _alone(rule: Rule) -> Check:
    """`alone *` and a message: a list with this item has no others."""
    item, text = rule.words
    return lambda value, path: (
        [errors.invalid_value(path, value, text)] if item in value and len(value) > 1 else ()
    )


def _except(rule: Rule) -> Check:
    """`except default` and a message: the one value that is not allowed."""
    refused, text = rule.words
    return lambda value, path: [errors.invalid_value(path, value, text)] if value == refused else ()


def _keys(rule: Rule) -> Check:
    """`keys dns-label`: every key of a map has this form."""
    form = rule.words[0]
    return lambda value, path: chain.from_iterable(check_form(form, key, path) for key in value)


def _forbidden(rule: Rule) -> Check:
    return lambda value, path: [errors.forbidden_value(path, rule.words[0])]


def _certificate_request(value: str, path: str) -> Found:
    problem = request_problem(value)
    return [errors.invalid_value(path, value or None, problem)] if problem else []


def _form(rule: Rule) -> Check:
    form = forms.FORMS[rule.name]
    return lambda value, path: [errors.invalid_value(path, value, problem) for problem in form(value)]


_RULES: Mapping[str, Callable[[Rule], Check]] = {
    "one-of": _one_of,
    **dict.fromkeys(("min", "max", "range", "is"), _number),
    **dict.fromkeys(("bytes", "count", "items"), _limit),
    "unique": _unique,
    "alone": _alone,
    "some-of": _some_of,
    "not-both": _not_both,
    "except": _except,
    "keys": _keys,
    "certificate-request": lambda rule: _certificate_request,
    "signer-name": lambda rule: check_signer_name,
    "labels": lambda rule: check_labels,
    "forbidden": _forbidden,
}
_OF_CHANGES = ("immutable", "frozen")


# Lines


def _line_check(line: Line, schema: Schema) -> Ask | None:
    """What a line asks of an object, apart from changes."""
    *way, last = line.path
    checks = []
    wanted: str | None = None
    for rule in line.rules:
        if rule.name == "required":
            wanted = " ".join(rule.words)
        elif rule.name not in (*DEFAULTS, *_OF_CHANGES, UNCHECKED, BELOW):
            checks.append(_RULES.get(rule.name, _form)(rule))
    if wanted is None and not checks:
        return None
    absent = zero_of(_field_at(schema, line.path)) if line.holds_for == "!" else None
    absent = "" if absent is None else absent

    def check_value(value: Any, path: str, found: Found) -> None:
        if not value and value is not False:
            if wanted is not None and (value is not None or line.holds_for != "?"):
                found.append(errors.required(path, wanted))
            if value is None or wanted is not None:
                if line.holds_for != "!":
                    return
                value = absent if value is None else value
            elif not line.holds_for and value != 0:
                return
        for check in checks:
            found.extend(check(value, path))

    if not way and not last.each:
        name = last.name
        minds_absence = line.holds_for == "!" or (wanted is not None and line.holds_for != "?")

        def check_field(value: Document, path: str, around: Around, found: Found) -> None:
            given = value.get(name)
            if given is not None or minds_absence:
                check_value(given, f"{path}.{name}" if path else name, found)

        return check_field

    def check_line(value: Document, path: str, around: Around, found: Found) -> None:
        for leaf, place in _leaves(value, path, line.path):
            check_value(leaf, place, found)

    return check_line


def _leaves(value: Any, path: str, steps: tuple[Step, ...]) -> Iterator[tuple[Any, str]]:
    """All values a path leads to."""
    step, *rest = steps
    here = value.get(step.name)
    place = below(path, step.name)
    if not step.each:
        reached: Iterable[tuple[Any, str]] = ((here, place),)
    elif step.each == "{}":
        reached = ((item, f"{place}[{key}]") for key, item in (here or {}).items())
    elif step.each == "[]":
        reached = ((item, f"{place}[{index}]") for index, item in enumerate(here or ()))
    else:
        reached = ((item, place) for item in here or ())
    for item, where in reached:
        if not rest:
            yield item, where
        elif item is not None:
            yield from _leaves(item, where, tuple(rest))


def _field_at(schema: Schema, path: tuple[Step, ...]) -> Field | None:
    field: Field | None = None
    for step in path:
        field = schema.fields[step.name]
        schema = (field.schema.items or field.schema.values or field.schema) if step.each else field.schema
    return field


# Types


class _Checker:
    """The rules of one type and of all below it."""

    def __init__(self, schema: Schema) -> None:
        _checkers[schema] = self  # before what is below it, which may lead back here
        self.is_empty = False
        self._schema = schema
        self._name = short_name(schema)
        rules = rules_of(self._name)
        self._called = rules.facts.get("called", "")
        self._alternatives = rules.alternatives
        unchecked = {"metadata", "status", *self._alternatives}
        unchecked |= {line.path[0].name for line in rules.lines if line.is_unchecked}
        relations: dict[str, list[Ask]] = {}
        for relation, where in _relations.get(self._name, ()):
            relations.setdefault(relation.__name__.strip("_"), []).append(_related(relation, where))
        if self._alternatives:
            relations["alternatives"] = [self._ask_first]
        parts = {name: part for name in schema.fields if name not in unchecked and (part := self._part(name))}
        self._asked: list[Ask] = []
        for line in rules.lines:
            self._add(line, relations, parts)
        self._asked += [*chain.from_iterable(relations.values()), *parts.values()]
        self.is_empty = not self._asked

    def _add(self, line: Line, relations: dict[str, list[Ask]], parts: dict[str, Ask]) -> None:
        """Takes what a line says, and what it gives its place to, into the order."""
        name = line.path[0].name
        for rule in line.rules:
            if rule.name == RELATED:
                for word in rule.words:
                    self._asked += relations.pop(word, ())
                return
        before, found, after = _split_at(line, BELOW)
        for part in (before, after):
            check = _line_check(part, self._schema)
            if check is not None:
                self._asked.append(check)
            if part is before and found and name in parts:
                self._asked.append(parts.pop(name))

    def _part(self, name: str) -> Ask | None:
        """Goes on below a field, if anything is to be checked there."""
        part, each = _object_below(self._schema.fields[name].schema)
        if part is None or _checker(part).is_empty:
            return None
        checker = _checker(part)

        def ask(value: Document, path: str, around: Around, found: Found) -> None:
            held = value.get(name)
            if held is None:
                return
            place = below(path, name)
            if not each:
                checker.check(held, place, around, found)
            elif each == "[]":
                for index, item in enumerate(held):
                    checker.check(item, f"{place}[{index}]", around, found)
            else:
                for key, item in held.items():
                    checker.check(item or {}, f"{place}[{key}]", around, found)

        return ask

    def _ask_first(self, value: Document, path: str, around: Around, found: Found) -> None:
        given = self._alternatives.keys() & value.keys()
        if given:
            name = min(given, key=self._alternatives.__getitem__)
            checker = _checker(self._schema.fields[name].schema)
            checker.check(value[name], below(path, checker._called or name), around, found)

    def check(self, value: Document, path: str, around: Around, found: Found) -> None:
        outer = around.get(self._name)
        around[self._name] = value
        for ask in self._asked:
            ask(value, path, around, found)
        if outer is None:
            del around[self._name]
        else:
            around[self._name] = outer


def _split_at(line: Line, name: str) -> tuple[Line, bool, Line]:
    names = [rule.name for rule in line.rules]
    place = names.index(name) if name in names else len(names)
    return (
        line._replace(rules=line.rules[:place]),
        name in names,
        line._replace(rules=line.rules[place + 1 :]),
    )


def _related(relation: Relation, where: str) -> Ask:
    if not where:
        return lambda value, path, around, found: found.extend(relation(value, path, around))

    def ask(value: Document, path: str, around: Around, found: Found) -> None:
        if value.get(where) is not None:
            found.extend(relation(value, path, around))

    return ask


@cache
def _checker_named(type_name: str) -> _Checker:
    return _checker(type_named(type_name))


def _checker(schema: Schema) -> _Checker:
    return _checkers.get(schema) or _Checker(schema)


def _object_below(schema: Schema) -> tuple[Schema | None, str]:
    """The type whose objects a field holds: one, or several of them."""
    if schema.fields:
        return schema, ""
    if schema.type == ARRAY and schema.items is not None and schema.items.fields:
        return schema.items, "[]"
    if schema.values is not None and schema.values.fields and schema.type:
        return schema.values, "{}"
    return None, ""


class _Fixed:
    """The fields of one type, and of the objects in it, that may not change."""

    def __init__(self, schema: Schema) -> None:
        _fixed[schema] = self
        self._fields = [
            (line.path, rule, _field_at(schema, line.path))
            for line in rules_of(short_name(schema)).lines
            for rule in line.rules
            if rule.name in _OF_CHANGES
        ]
        parts = {name: field.schema for name, field in schema.fields.items() if field.schema.fields}
        self._parts = {
            name: _fixed_of(part)
            for name, part in parts.items()
            if name not in ("metadata", "status") and not _fixed_of(part).is_empty
        }

    @property
    def is_empty(self) -> bool:
        return not self._fields and not self._parts

    def check(self, new: Document, old: Document, path: str, found: Found) -> None:
        for steps, rule, field in self._fields:
            value, before, place = _value_at(new, steps), _value_at(old, steps), below(path, _shown(steps))
            if value == before:
                continue
            if rule.name == "frozen":
                found.append(errors.forbidden_value(place, rule.words[0]))
            else:
                shown = zero_of(field) if value is None else value
                found.append(errors.invalid_value(place, shown, " ".join(rule.words) or IMMUTABLE))
        for name, fixed in self._parts.items():
            fixed.check(new.get(name) or {}, old.get(name) or {}, below(path, name), found)


def _value_at(value: Any, steps: tuple[Step, ...]) -> Any:
    for step in steps:
        value = (value or {}).get(step.name)
    return value


def _shown(steps: tuple[Step, ...]) -> str:
    return ".".join(step.name for step in steps)


def _fixed_of(schema: Schema) -> _Fixed:
    return _fixed.get(schema) or _Fixed(schema)
