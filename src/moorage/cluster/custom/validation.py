"""Which rules of its schema a value breaks."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from moorage.cluster.custom.formats import has_format
from moorage.cluster.custom.structural import INT_OR_STRING, Rules
from moorage.cluster.custom.wording import (
    as_float,
    as_json,
    invalid,
    is_integer,
    number,
    quoted,
    too_many,
    unsupported,
    wrong_type,
)
from moorage.cluster.errors import Cause, required, too_long
from moorage.cluster.schema.model import ABSENT, MAP, Schema

_NOWHERE = "<nil>"
_JSON_NAMES: dict[type, str] = {
    str: "string", bool: "boolean", dict: "object", list: "array", int: "integer", float: "number",
}  # fmt: skip
_NUMBERS = ("integer", "number")
_GO_NUMBERS = {"integer": "int64", "number": "float64"}


class _Problem(NamedTuple):
    text: str
    """What tells problems apart: each is reported once."""
    cause: Callable[[str], Cause]
    """The cause, given the field that the whole value is in."""


def validate(schema: Schema, value: Any, *, field: str = "", old: Any = ABSENT) -> list[Cause]:
    """The broken rules, in the words of the original.

    `field` is where the whole value is. With `old`, what has not changed may go on breaking rules.
    """
    problems: list[_Problem] = []
    _check_unless_same(schema, value, old, "", problems)
    unique = {problem.text: problem for problem in reversed(problems)}
    return [problem.cause(field) for problem in reversed(unique.values())]


def _check_unless_same(schema: Schema, value: Any, old: Any, path: str, problems: list[_Problem]) -> int:
    before = len(problems)
    matches = _check(schema, value, old, path, problems)
    if len(problems) > before and old is not ABSENT and _same(value, old):
        del problems[before:]
    return matches


def _same(value: Any, old: Any) -> bool:
    return type(value) is type(old) and bool(value == old)


def _check(schema: Schema, value: Any, old: Any, path: str, problems: list[_Problem]) -> int:
    """Collects problems; returns how many checks went well, which tells near misses from far ones."""
    rules = schema.rules
    matches = 0
    if schema.type or schema.format:
        matches += _check_type(schema, value, path, problems)
        matches += value is not None
    if value is None:
        if "enum" in rules:
            _check_enum(rules["enum"], value, path, problems)
        return matches
    matches += 4  # the alternatives twice, the enum and the schema itself
    if isinstance(rules, Rules) and (rules.any_of or rules.one_of or rules.all_of or rules.not_):
        matches += _check_alternatives(rules, value, old, path, problems)
    kind = type(value)
    if kind is str:
        matches += 1
        if rules:
            _check_text(rules, value, path, problems)
        if schema.format and schema.format != INT_OR_STRING and schema.type not in _NUMBERS:
            matches += 1
            if not has_format(value, schema.format):
                _add_wrong_type(problems, path, schema.format, value)
    elif kind is int or kind is float:
        matches += 2
        _check_number(schema, value, path, problems)
    elif kind is list:
        matches += 2 + _check_items(schema, value, old, path, problems)
    if "enum" in rules:
        _check_enum(rules["enum"], value, path, problems)
    if kind is dict:
        matches += 1 + _check_fields(schema, value, old, path, problems)
    return matches


def _at(path: str, whole: str) -> str:
    """The field a path from the whole value leads to."""
    path = path.removeprefix(".")
    if not path:
        return whole or _NOWHERE
    return f"{whole}.{path}" if whole else path


def _add(problems: list[_Problem], path: str, value: Any, text: str) -> None:
    problems.append(_Problem(text, lambda whole: invalid(_at(path, whole), value, text)))


def _add_general(problems: list[_Problem], text: str) -> None:
    """A problem that the original does not say the field of."""
    problems.append(_Problem(text, lambda whole: invalid(whole or _NOWHERE, "", text)))


def _add_wrong_type(problems: list[_Problem], path: str, wanted: str, found: str) -> None:
    text = f"{path} in body must be of type {wanted}: {quoted(found)}"
    problems.append(_Problem(text, lambda whole: wrong_type(_at(path, whole), found, text)))


def _check_type(schema: Schema, value: Any, path: str, problems: list[_Problem]) -> int:
    wanted, form = schema.type, schema.format
    if form == INT_OR_STRING:
        wanted, form = "integer,string", ""
    if value is None:
        if wanted and not schema.nullable:
            _add_wrong_type(problems, path, wanted, "null")
            return 0
        return 1
    found = _JSON_NAMES.get(type(value), "object")
    if found == "integer" and not is_integer(value):
        found = "number"
    fits = (
        found in wanted.split(",")
        or (found == "number" and "integer" in wanted and _is_whole(as_float(value)))
        or (found == "integer" and wanted == "number")
    )
    if fits:
        return 1
    if form and found not in ("string", "array"):
        _add_wrong_type(problems, path, form, _GO_NUMBERS.get(found, ""))
        return 0
    if form and wanted not in _NUMBERS:
        return 1  # the format itself is looked at later
    if not wanted:
        return 1
    _add_wrong_type(problems, path, wanted, found)
    return 0


def _is_whole(value: float) -> bool:
    """Whether a number counts as an integer, give or take the last digit."""
    if not abs(value) < 2**53:
        return False
    truncated = float(int(value))
    if value == truncated:
        return True
    if not truncated:
        return False
    return abs(value - truncated) / (abs(value) + abs(truncated)) < 1e-9


def _check_text(rules: Any, value: str, path: str, problems: list[_Problem]) -> None:
    """Only the first of these is reported."""
    most, least = rules.get("maxLength"), rules.get("minLength")
    if most is not None and len(value) > most:
        text = f"{path} in body should be at most {most} chars long"
        problems.append(_Problem(text, lambda whole: too_long(_at(path, whole), int(most))))
    elif least is not None and len(value) < least:
        _add(problems, path, value, f"{path} in body should be at least {least} chars long")
    elif isinstance(rules, Rules) and rules.pattern is not None and not rules.pattern.search(value):
        _add(problems, path, value, f"{path} in body should match '{rules['pattern']}'")


def _check_number(schema: Schema, value: int | float, path: str, problems: list[_Problem]) -> None:
    kind = schema.type if schema.type in _NUMBERS else ""
    form = schema.format if kind else ""

    def in_range(given: int | float, what: str) -> bool:
        if _fits(given, kind, form):
            return True
        how = f"with format {form}" if form else "(default format)"
        _add_general(problems, f"{what} value must be of type {kind} {how} in {path}")
        return False

    in_range(value, "Checked")
    rules = schema.rules
    if not rules:
        return
    for name, check in (("multipleOf", _multiple), ("minimum", _minimum), ("maximum", _maximum)):
        bound = rules.get(name)
        if bound is None:
            continue
        what = "MultipleOf" if name == "multipleOf" else f"{name.capitalize()} boundary"
        exclusive = rules.get(f"exclusive{name.capitalize()}") is True
        if in_range(bound, what) and is_integer(value):
            check(problems, path, value, _truncated(bound), exclusive)
        else:
            check(problems, path, as_float(value), as_float(bound), exclusive)


def _fits(value: int | float, kind: str, form: str) -> bool:
    if kind == "integer":
        if not is_integer(value):
            floating = as_float(value)
            if not floating.is_integer() or not -(2.0**63) <= floating < 2.0**63 or abs(floating) >= 1e21:
                return False
        return form != "int32" or -(2**31) <= value < 2**31
    return form != "float" or abs(as_float(value)) < 3.4028235677973366e38


def _truncated(bound: int | float) -> int:
    """A bound as an integer of 64 bits; those that are too large all become the least one, as in Go."""
    floating = as_float(bound)
    if not -(2.0**63) <= floating < 2.0**63:
        return -(2**63)
    return int(bound)


def _multiple(problems: list[_Problem], path: str, value: int | float, factor: int | float, _: bool) -> None:
    if factor <= 0:
        text = f"factor MultipleOf declared for {path} must be positive: {number(factor)}"
        _add(problems, path, factor, text)
        return
    if isinstance(value, int):
        fits = value % int(factor) == 0
    else:
        quotient = 1 / factor * value if factor < 1 else value / factor
        fits = math.isfinite(quotient) and _is_whole(quotient)
    if not fits:
        _add(problems, path, value, f"{path} in body should be a multiple of {number(factor)}")


def _minimum(
    problems: list[_Problem], path: str, value: int | float, bound: int | float, exclusive: bool
) -> None:
    if value < bound or (exclusive and value == bound):
        how = "" if exclusive else " or equal to"
        _add(problems, path, value, f"{path} in body should be greater than{how} {number(bound)}")


def _maximum(
    problems: list[_Problem], path: str, value: int | float, bound: int | float, exclusive: bool
) -> None:
    if value > bound or (exclusive and value == bound):
        how = "" if exclusive else " or equal to"
        _add(problems, path, value, f"{path} in body should be less than{how} {number(bound)}")


def _check_enum(allowed: list[Any], value: Any, path: str, problems: list[_Problem]) -> None:
    if not allowed:
        return
    if value is not None and any(_equal(value, each) for each in allowed):
        return
    names = [each if isinstance(each, str) else as_json(each) for each in allowed]
    text = f"{path} in body should be one of {allowed}"
    problems.append(_Problem(text, lambda whole: unsupported(_at(path, whole), value, names)))


def _equal(one: Any, other: Any) -> bool:
    return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)


def _check_items(schema: Schema, value: list[Any], old: Any, path: str, problems: list[_Problem]) -> int:
    matches = 0
    items, rules = schema.items, schema.rules
    if items is not None:
        known = _old_items(schema, old)
        for place, each in enumerate(value):
            before = known(each) if known is not None else ABSENT
            matches += _check_unless_same(items, each, before, f"{path}[{place}]", problems)
    if rules:
        size, least, most = len(value), rules.get("minItems"), rules.get("maxItems")
        if least is not None and size < least:
            _add(problems, path, size, f"{path} in body should have at least {least} items")
        if most is not None and size > most:
            text = f"{path} in body should have at most {most} items"
            problems.append(_Problem(text, lambda whole: too_many(_at(path, whole), size, int(most))))
    return matches


def _old_items(schema: Schema, old: Any) -> Callable[[Any], Any] | None:
    """How to find the item that an item was before: only those of list-type map have a name."""
    if type(old) is not list or schema.list_type != MAP or not schema.list_keys:
        return None

    def key(item: Any) -> str:
        return as_json([item.get(name) for name in schema.list_keys])

    by_key = {key(item): item for item in reversed(old) if type(item) is dict}
    return lambda item: by_key.get(key(item), ABSENT) if type(item) is dict else ABSENT


def _check_fields(
    schema: Schema, value: dict[str, Any], old: Any, path: str, problems: list[_Problem]
) -> int:
    matches = 0
    fields, values, rules = schema.fields, schema.values, schema.rules
    known = old if type(old) is dict else {}
    if rules:
        size, least, most = len(value), rules.get("minProperties"), rules.get("maxProperties")
        if least is not None and size < least:
            _add(problems, path, size, f"{path} in body should have at least {least} properties")
        if most is not None and size > most:
            text = f"{path} in body should have at most {most} properties"
            problems.append(_Problem(text, lambda whole: too_many(_at(path, whole), size, int(most))))
    prefix = f"{path}." if path else ""
    for name, each in value.items():
        field = fields.get(name)
        if field is not None:
            before = known.get(name, ABSENT)
            matches += _check_unless_same(field.schema, each, before, prefix + name, problems)
        elif values is not None:
            before = known.get(name, ABSENT)
            matches += _check_unless_same(values, each, before, f"{path}.{name}", problems)
    if isinstance(rules, Rules):
        for name in rules.needs:
            if name not in value:
                _add_required(problems, f"{path}.{name}")
    return matches


def _add_required(problems: list[_Problem], path: str) -> None:
    problems.append(_Problem(f"{path} in body is required", lambda whole: required(_at(path, whole))))


def _check_alternatives(rules: Rules, value: Any, old: Any, path: str, problems: list[_Problem]) -> int:
    """allOf, anyOf, oneOf and not. Of alternatives that all fail, the nearest miss is reported."""
    matches = 0
    named = quoted(path)
    if rules.any_of:
        tries = _tries(rules.any_of, value, old, path)
        fitting = next((count for count, found in tries if not found), None)
        if fitting is None:
            _add_general(problems, f"{named} must validate at least one schema (anyOf)")
            matches += _report_nearest(tries, problems)
        else:
            matches += fitting
    if rules.one_of:
        tries = _tries(rules.one_of, value, old, path)
        good = [count for count, found in tries if not found]
        if len(good) == 1:
            matches += good[0]
        else:
            how = f"Found {len(good)} valid alternatives" if good else "Found none valid"
            _add_general(problems, f"{named} must validate one and only one schema (oneOf). {how}")
            if not good:
                matches += _report_nearest(tries, problems)
    if rules.all_of:
        tries = _tries(rules.all_of, value, old, path)
        for count, found in tries:
            matches += count
            problems += found
        good = [count for count, found in tries if not found]
        if len(good) < len(tries):
            none = "" if good else ". None validated"
            _add_general(problems, f"{named} must validate all the schemas (allOf){none}")
    if rules.not_ is not None and not _tries([rules.not_], value, old, path)[0][1]:
        _add_general(problems, f"{named} must not validate the schema (not)")
    return matches


def _tries(schemas: list[Schema], value: Any, old: Any, path: str) -> list[tuple[int, list[_Problem]]]:
    tries = []
    for schema in schemas:
        found: list[_Problem] = []
        tries.append((_check(schema, value, old, path, found), found))
    return tries


def _report_nearest(tries: list[tuple[int, list[_Problem]]], problems: list[_Problem]) -> int:
    count, found = max(tries, key=lambda each: each[0])
    problems += found
    return count
