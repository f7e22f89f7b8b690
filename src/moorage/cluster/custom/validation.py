"""Which rules of its schema a value breaks, in the words of the original and with its limits for numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

from moorage.cluster.base import errors
from moorage.cluster.base.go_text import as_float, as_json, by_name, is_integer, number, quoted
from moorage.cluster.custom.formats import has_format
from moorage.cluster.custom.structural import INT_OR_STRING, Rules, rules_of
from moorage.cluster.custom.values import parts
from moorage.cluster.schema.model import ABSENT, INTEGER, MAP, NUMBER, SET, Schema

_JSON_NAMES: dict[type, str] = {
    str: "string", bool: "boolean", dict: "object", list: "array", int: "integer", float: "number",
}  # fmt: skip
_PLAIN_TYPES: dict[str, type] = {"string": str, "boolean": bool, "object": dict, "array": list}
_GO_NUMBERS = {"integer": "int64", "number": "float64"}
NUMBERS = (INTEGER, NUMBER)
_LARGEST_FLOAT32 = 3.4028235677973366e38
_LIMIT = 2.0**63  # of integers
_LIMITS = (("multipleOf", "MultipleOf"), ("minimum", "Minimum boundary"), ("maximum", "Maximum boundary"))


class Problems(list[tuple[str, errors.Cause]]):
    """Broken rules, each with the path that leads there from the whole value, which is "" for the whole."""

    def causes(self, field: str) -> list[errors.Cause]:
        """Each once, as rules of the field that the whole value is in."""
        latest = reversed(dict.fromkeys(reversed(self)))
        places = ((".".join(filter(None, (field, path.removeprefix(".")))), cause) for path, cause in latest)
        return [cause._replace(field=place or "<nil>") for place, cause in places]

    def add(self, path: str, cause: errors.Cause) -> None:
        self.append((path, cause))

    def invalid(self, path: str, value: Any, what: str) -> None:
        self.add(path, errors.invalid_value("", by_name(value), f"{path} in body {what}"))

    def general(self, text: str) -> None:
        """A problem that the original does not say the field of."""
        self.add("", errors.invalid_value("", "", text))

    def wrong_type(self, path: str, wanted: str, found: str) -> None:
        shown = quoted(found)
        text = f"Invalid value: {shown}: {path} in body must be of type {wanted}: {shown}"
        self.add(path, errors.Cause("FieldValueTypeInvalid", "", text))


def shown(value: Any) -> str:
    return errors.shown(by_name(value))


def validate(schema: Schema, value: Any, *, field: str = "", old: Any = ABSENT) -> list[errors.Cause]:
    """The broken rules, in the words of the original.

    `field` is where the whole value is. With `old`, what has not changed may go on breaking rules.
    """
    problems = Problems()
    _check_unless_same(schema, value, old, "", problems)
    return problems.causes(field)


def _check_unless_same(schema: Schema, value: Any, old: Any, path: str, problems: Problems) -> int:
    before = len(problems)
    matches = _check(schema, value, old, path, problems)
    if len(problems) > before and type(value) is type(old) and value == old:
        del problems[before:]
    return matches


def _check(schema: Schema, value: Any, old: Any, path: str, problems: Problems) -> int:
    """Collects problems; returns how many checks went well, which tells near misses from far ones."""
    rules = rules_of(schema)
    matches = 0
    if type(value) is _PLAIN_TYPES.get(schema.type):
        matches = 2
    elif schema.type or schema.format:
        matches = _check_type(schema, value, path, problems) + (value is not None)
    if value is None:
        _check_enum(rules, value, path, problems)
        return matches
    matches += 4  # the alternatives twice, the enum and the schema itself
    if rules.has_alternatives:
        matches += _check_alternatives(rules, value, old, path, problems)
    kind = type(value)
    if kind is str:
        matches += 1
        _check_text(rules, value, path, problems)
        if schema.format and schema.format != INT_OR_STRING and schema.type not in NUMBERS:
            matches += 1
            if not has_format(value, schema.format):
                problems.wrong_type(path, schema.format, value)
    elif kind is int or kind is float:
        matches += 2
        check_number(schema, value, path, problems)
    elif kind is list:
        matches += 2 + _check_items(schema, value, old, path, problems)
    _check_enum(rules, value, path, problems)
    if kind is dict:
        matches += 1 + _check_fields(schema, value, old, path, problems)
    return matches


def _check_type(schema: Schema, value: Any, path: str, problems: Problems) -> int:
    wanted, form = schema.type, schema.format
    if form == INT_OR_STRING:
        wanted, form = "integer,string", ""
    if value is None:
        if wanted and not schema.nullable:
            problems.wrong_type(path, wanted, "null")
            return 0
        return 1
    found = _JSON_NAMES.get(type(value), "object")
    if found == "integer" and not is_integer(value):
        found = "number"
    if (
        found in wanted.split(",")
        or (found == "number" and "integer" in wanted and is_whole(as_float(value)))
        or (found == "integer" and wanted == "number")
    ):
        return 1
    if form and found not in ("string", "array"):
        problems.wrong_type(path, form, _GO_NUMBERS.get(found, ""))
        return 0
    if not wanted or (form and wanted not in NUMBERS):
        return 1  # the format itself is looked at later
    problems.wrong_type(path, wanted, found)
    return 0


def _check_text(rules: Rules, value: str, path: str, problems: Problems) -> None:
    """Only the first of these is reported."""
    most, least = rules.get("maxLength"), rules.get("minLength")
    if most is not None and len(value) > most:
        problems.add(path, errors.too_long("", most))
    elif least is not None and len(value) < least:
        problems.invalid(path, value, f"should be at least {least} chars long")
    elif rules.pattern is not None and not rules.pattern.search(value):
        problems.invalid(path, value, f"should match '{rules['pattern']}'")


def _check_enum(rules: Rules, value: Any, path: str, problems: Problems) -> None:
    allowed = rules.get("enum")
    if not allowed or (value is not None and any(_is_allowed(value, each) for each in allowed)):
        return
    names = [each if isinstance(each, str) else as_json(by_name(each)) for each in allowed]
    problems.add(path, errors.unsupported_value("", by_name(value), names))


def _is_allowed(value: Any, allowed: Any) -> bool:
    if type(value) is float and type(allowed) is int:
        value = int(value)  # the original, too, takes what is behind the point for nothing
    return isinstance(value, bool) == isinstance(allowed, bool) and bool(value == allowed)


def _check_size(rules: Rules, size: int, what: str, path: str, problems: Problems) -> None:
    least, most = rules.get(f"min{what.capitalize()}"), rules.get(f"max{what.capitalize()}")
    if least is not None and size < least:
        problems.invalid(path, size, f"should have at least {least} {what}")
    if most is not None and size > most:
        problems.add(path, errors.too_many("", size, most))


def _check_items(schema: Schema, value: list[Any], old: Any, path: str, problems: Problems) -> int:
    matches = 0
    if schema.items is not None:
        before = _old_items(schema, old)
        for place, each in enumerate(value):
            matches += _check_unless_same(schema.items, each, before(each), f"{path}[{place}]", problems)
    _check_size(rules_of(schema), len(value), "items", path, problems)
    return matches


def _old_items(schema: Schema, old: Any) -> Callable[[Any], Any]:
    """How to find the item that an item was before: only those of list-type map have a name."""
    if type(old) is not list or schema.list_type != MAP or not schema.list_keys:
        return lambda item: ABSENT

    def key(item: Any) -> str:
        return shown([item.get(name) for name in schema.list_keys])

    by_key = {key(item): item for item in reversed(old) if type(item) is dict}
    return lambda item: by_key.get(key(item), ABSENT) if type(item) is dict else ABSENT


def _check_fields(schema: Schema, value: dict[str, Any], old: Any, path: str, problems: Problems) -> int:
    matches = 0
    rules = rules_of(schema)
    before = old if type(old) is dict else {}
    _check_size(rules, len(value), "properties", path, problems)
    for name, each in value.items():
        field = schema.fields.get(name)
        shape = field.schema if field is not None else schema.values
        if shape is not None:
            place = name if field is not None and not path else f"{path}.{name}"
            matches += _check_unless_same(shape, each, before.get(name, ABSENT), place, problems)
    for name in rules.needs:
        if name not in value:
            problems.add(f"{path}.{name}", errors.required(""))
    return matches


def _check_alternatives(rules: Rules, value: Any, old: Any, path: str, problems: Problems) -> int:
    """allOf, anyOf, oneOf and not. Of alternatives that all fail, the nearest miss is reported."""
    matches = 0
    named = quoted(path)
    if rules.any_of:
        tries, good = _tries(rules.any_of, value, old, path)
        if not good:
            problems.general(f"{named} must validate at least one schema (anyOf)")
        matches += good[0] if good else _report_nearest(tries, problems)
    if rules.one_of:
        tries, good = _tries(rules.one_of, value, old, path)
        if len(good) != 1:
            how = f"Found {len(good)} valid alternatives" if good else "Found none valid"
            problems.general(f"{named} must validate one and only one schema (oneOf). {how}")
        if len(good) < 2:
            matches += good[0] if good else _report_nearest(tries, problems)
    if rules.all_of:
        tries, good = _tries(rules.all_of, value, old, path)
        for count, found in tries:
            matches += count
            problems += found
        if len(good) < len(tries):
            none = "" if good else ". None validated"
            problems.general(f"{named} must validate all the schemas (allOf){none}")
    if rules.not_ is not None and _tries([rules.not_], value, old, path)[1]:
        problems.general(f"{named} must not validate the schema (not)")
    return matches


def _tries(
    schemas: list[Schema], value: Any, old: Any, path: str
) -> tuple[list[tuple[int, Problems]], list[int]]:
    """How many checks of each schema went well and what its problems are; and of those without, how many."""
    tries = []
    for schema in schemas:
        found = Problems()
        tries.append((_check(schema, value, old, path, found), found))
    return tries, [count for count, found in tries if not found]


def _report_nearest(tries: list[tuple[int, Problems]], problems: Problems) -> int:
    count, found = max(tries, key=lambda each: each[0])
    problems += found
    return count


def duplicates(schema: Schema, value: Any, field: str = "") -> Iterator[errors.Cause]:
    """What lists of type `set` and `map` have more than once."""
    if type(value) is list and schema.list_type == SET:
        yield from _repeated(value, field)
    elif type(value) is list and schema.list_type == MAP:
        yield from _duplicate_keys(schema, value, field)
    for shape, inner, place in parts(schema, value, field):
        yield from duplicates(shape, inner, place)


def _duplicate_keys(schema: Schema, value: list[Any], field: str) -> Iterator[errors.Cause]:
    for place, each in enumerate(value):
        if each is not None and type(each) is not dict:
            detail = "must be an object for an array of list-type map"
            yield errors.invalid_value(f"{field}[{place}]", by_name(each), detail)
            return
    keys = [{name: each[name] for name in schema.list_keys if name in each} if each else {} for each in value]
    yield from _repeated(keys, field)


def _repeated(items: list[Any], field: str) -> Iterator[errors.Cause]:
    """Each item that is there more than once, where it is there the second time."""
    times: dict[str, int] = {}
    for place, item in enumerate(items):
        key = shown(item)
        times[key] = times.get(key, 0) + 1
        if times[key] == 2:
            yield errors.duplicate_value(f"{field}[{place}]", by_name(item))


def is_whole(value: float) -> bool:
    """Whether a number counts as an integer, give or take the last digit."""
    if not abs(value) < 2**53:
        return False
    truncated = float(int(value))
    if value == truncated:
        return True
    return bool(truncated) and abs(value - truncated) / (abs(value) + abs(truncated)) < 1e-9


def check_number(schema: Schema, value: int | float, path: str, problems: Problems) -> None:
    kind = schema.type if schema.type in NUMBERS else ""
    form = schema.format if kind else ""

    def in_range(given: int | float, what: str) -> bool:
        if _fits(given, kind, form):
            return True
        how = f"with format {form}" if form else "(default format)"
        problems.general(f"{what} value must be of type {kind} {how} in {path}")
        return False

    in_range(value, "Checked")
    for name, what in _LIMITS if schema.rules else ():
        limit = schema.rules.get(name)
        if limit is None:
            continue
        whole = in_range(limit, what) and is_integer(value)
        left, right = (value, _truncated(limit)) if whole else (as_float(value), as_float(limit))
        if name == "multipleOf":
            _check_multiple(left, right, path, problems)
        else:
            exclusive = schema.rules.get(f"exclusive{name.capitalize()}") is True
            if problem := _bound_problem(name, left, right, exclusive):
                problems.invalid(path, left, problem)


def _fits(value: int | float, kind: str, form: str) -> bool:
    if kind == INTEGER:
        if not is_integer(value):
            floating = as_float(value)
            if not floating.is_integer() or not -_LIMIT <= floating < _LIMIT:
                return False
        return form != "int32" or -(2**31) <= value < 2**31
    return form != "float" or abs(as_float(value)) < _LARGEST_FLOAT32


def _truncated(limit: int | float) -> int:
    """A limit as an integer of 64 bits; those that are too large all become the least one, as in Go."""
    return int(limit) if -_LIMIT <= as_float(limit) < _LIMIT else -(2**63)


def _check_multiple(value: int | float, factor: int | float, path: str, problems: Problems) -> None:
    if factor <= 0:
        text = f"factor MultipleOf declared for {path} must be positive: {number(factor)}"
        problems.add(path, errors.invalid_value("", factor, text))
        return
    if isinstance(value, int):
        fits = value % int(factor) == 0
    else:
        quotient = 1 / factor * value if factor < 1 else value / factor
        fits = math.isfinite(quotient) and is_whole(quotient)
    if not fits:
        problems.invalid(path, value, f"should be a multiple of {number(factor)}")


def _bound_problem(name: str, value: int | float, bound: int | float, exclusive: bool) -> str:
    than, beyond = ("greater", value < bound) if name == "minimum" else ("less", value > bound)
    if not beyond and not (exclusive and value == bound):
        return ""
    return f"should be {than} than{'' if exclusive else ' or equal to'} {number(bound)}"
