"""The fields of documents: how values are taken apart, which fields there are, and which differ."""

from __future__ import annotations

from typing import Any, Final

from moorage.cluster.base.store import Document
from moorage.cluster.objects.merging import field_sets
from moorage.cluster.objects.merging.field_sets import LEAF, FieldSet, Tree
from moorage.cluster.schema.model import ABSENT, ANY, ARRAY, ATOMIC, MAP, OBJECT, SET, Schema

EMPTIED_LIST: Final[list[Any]] = []
"""What stands for a list out of which everything was taken."""

UNKNOWN: Final = Schema(ANY)
"""Of what no schema describes: objects have parts, lists are one whole."""


class Keyless(Exception):
    """An item that cannot be told from the others of its list."""


def is_granular(schema: Schema, value: Any) -> bool:
    """Whether a value is a map or a list that has parts of its own."""
    if isinstance(value, dict):
        return (schema.type == OBJECT or schema.type == ANY) and schema.map_type != ATOMIC
    if isinstance(value, list):
        return schema.type == ARRAY and schema.list_type in (MAP, SET) and schema.items is not None
    return False


def part(schema: Schema, name: str) -> Schema:
    """The schema of a field or of a map's value."""
    field = schema.fields.get(name)
    if field is not None:
        return field.schema
    return schema.values or UNKNOWN


def implied(schema: Schema, name: str) -> Any:
    """What an object of a built-in type has in a field that is absent from its document, or ABSENT."""
    field = schema.fields.get(name)
    if field is None or field.omits_zero or not schema.name:
        return ABSENT
    return field.default


def item_step(schema: Schema, item: Any) -> str:
    """The step from a granular list to one of its items. Raises Keyless."""
    if schema.list_type != MAP:
        if isinstance(item, dict):
            raise Keyless("associative list without keys has an element that's a map type")
        if isinstance(item, list):
            raise Keyless("not supported: associative list with lists as elements")
        if item is None:
            raise Keyless("associative list without keys has an element that's an explicit null")
        return field_sets.value_step(item)
    if item is None:
        raise Keyless("associative list with keys may not have a null element")
    if not isinstance(item, dict):
        raise Keyless("associative list with keys may not have non-map elements")
    keys = {}
    for name in schema.list_keys:
        value = item[name] if name in item else _default_key(schema, name)
        if value is not ABSENT:
            keys[name] = value
    if not keys:
        listed = " ".join(f'"{name}"' for name in schema.list_keys)
        raise Keyless(
            f"associative list with keys has an element that omits all key fields [{listed}]"
            " (and doesn't have default values for any key fields)"
        )
    return field_sets.key_step(keys)


def _default_key(schema: Schema, name: str) -> Any:
    field = schema.items.fields.get(name) if schema.items else None
    return ABSENT if field is None or field.default is None else field.default


def compare(schema: Schema, old: Document | None, new: Document) -> tuple[FieldSet, FieldSet]:
    """The fields that are gone in `new`, and those that are new or have other values there."""
    differences = _Differences()
    differences.of_maps(schema, old or {}, new)
    return FieldSet(differences.removed), FieldSet(field_sets.in_order(differences.changed))


def mentioned_fields(schema: Schema, document: Document) -> FieldSet:
    """The fields an applied configuration says something about: all leaves, items and keys of maps."""
    return FieldSet(_children(schema, document, every=False))


class _Differences:
    """The entries of removed and of changed fields of a map or a list."""

    def __init__(self) -> None:
        self.removed: Tree = {}
        self.changed: Tree = {}

    def of_maps(self, schema: Schema, old: Document, new: Document) -> None:
        for name in new if old.keys() <= new.keys() else old | new:
            before = old[name] if name in old else implied(schema, name)
            after = new[name] if name in new else implied(schema, name)
            if before is not after and before != after:
                self._note(f"f:{name}", part(schema, name), before, after)

    def of_lists(self, schema: Schema, old: list[Any], new: list[Any]) -> None:
        """Raises Keyless. Items that are there several times are one whole."""
        assert schema.items is not None
        befores, afters = _by_step(schema, old), _by_step(schema, new)
        for step in befores | afters:
            before, after = befores.get(step, []), afters.get(step, [])
            if before == after:
                continue
            if len(before) > 1:
                self.removed[step] = LEAF
            if len(after) > 1:
                self.changed[step] = LEAF
            self._note(step, schema.items, _only(before), _only(after))

    def _note(self, step: str, schema: Schema, old: Any, new: Any) -> None:
        """Notes how two values differ that are not equal. Null is a map or a list without anything in it."""
        if old is ABSENT:
            if new is not ABSENT:
                self.changed[step] = _whole(schema, new)
        elif new is ABSENT:
            self.removed[step] = _whole(schema, old)
        elif not _are_alike(old, new):
            self.changed[step] = _whole(schema, new)
            gone = {below: tree for below, tree in _whole(schema, old).items() if below != "."}
            if gone:
                self.removed[step] = gone
        elif not self._note_parts(step, schema, old, new):
            self.changed[step] = LEAF

    def _note_parts(self, step: str, schema: Schema, old: Any, new: Any) -> bool:
        """Whether the two are made of parts."""
        some = old or new
        if not some or not is_granular(schema, some):
            return False
        inner = _Differences()
        if isinstance(some, dict):
            inner.of_maps(schema, old or {}, new or {})
        else:
            try:
                inner.of_lists(schema, old or [], new or [])
            except Keyless:
                return False
        if inner.removed:
            self.removed[step] = inner.removed
        if inner.changed:
            self.changed[step] = field_sets.in_order(inner.changed)
        return True


def _are_alike(one: Any, other: Any) -> bool:
    """Whether both are maps, both are lists, or neither is any of that."""
    if one is None or other is None:
        return True
    return all(isinstance(one, kind) == isinstance(other, kind) for kind in (dict, list))


def _by_step(schema: Schema, items: list[Any]) -> dict[str, list[Any]]:
    """The items of a list by the step that leads to them; several for one step are duplicates."""
    found: dict[str, list[Any]] = {}
    for item in items:
        found.setdefault(item_step(schema, item), []).append(item)
    return found


def _only(items: list[Any]) -> Any:
    return items[0] if len(items) == 1 else ABSENT


def _whole(schema: Schema, value: Any) -> Tree:
    """The entry of a value that is new with everything in it."""
    return _entry(schema, value, True, True) or LEAF


def _entry(schema: Schema, value: Any, member: bool, every: bool) -> Tree | None:
    if value is EMPTIED_LIST or not is_granular(schema, value):
        return LEAF
    try:
        return field_sets.entry(member, _children(schema, value, every))
    except Keyless:
        return LEAF


def _children(schema: Schema, value: Any, every: bool) -> Tree:
    """The entries of the parts of a value. Named fields with parts of their own count only with `every`."""
    children: Tree = {}
    if isinstance(value, dict):
        for name in sorted(value):
            inner = value[name]
            if isinstance(inner, (dict, list)):
                member = every or name not in schema.fields or inner == {}
                found = _entry(part(schema, name), inner, member, every)
            else:
                found = LEAF
            if found is not None:
                children[f"f:{name}"] = found
        return children
    for item in value:
        step = item_step(schema, item)
        found = None if step in children else _entry(schema.items or UNKNOWN, item, True, every)
        children[step] = found or LEAF
    return field_sets.in_order(children)
