"""Strategic merge patches: merge patches in which lists can be merged and that carry directives.

`$patch` in an object says to replace or delete it, or, in an item, to delete that item or replace the whole
list; `$retainKeys` names the fields that stay; `$deleteFromPrimitiveList/<field>` takes values out of a list;
`$setElementOrder/<field>` orders a list.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterable
from operator import itemgetter
from typing import Any

from moorage.cluster.base.errors import Refusal, bad_request, rejected, unreasoned
from moorage.cluster.base.go_text import mismatch, shown, type_name
from moorage.cluster.base.store import Document
from moorage.cluster.schema.model import ARRAY, Field, Schema

PATCH = "$patch"
RETAIN_KEYS = "$retainKeys"
DELETE_VALUES = "$deleteFromPrimitiveList"
SET_ORDER = "$setElementOrder"

MERGE = "merge"
REPLACE = "replace"
DELETE = "delete"


def strategic_merge(schema: Schema, document: Document, patch: Any) -> Document:
    """The document with a patch applied; what does not change is shared with it."""
    if patch is None:
        return document
    if not isinstance(patch, dict):
        raise bad_request(mismatch(patch, "value of type map[string]interface {}"))
    return _merged_map(schema, document, patch)


def remainder(original: Document, patch: Document) -> Document:
    """What messages show of a patch that was merged: not the lists it orders, nor what it says about them."""
    ordered = {name.partition("/")[2] for name in patch if name.startswith(SET_ORDER)}
    rest = {}
    for name, value in patch.items():
        if name in ordered or name == RETAIN_KEYS or name.startswith(SET_ORDER):
            continue
        known = original.get(name)
        if isinstance(known, dict) and isinstance(value, dict):
            value = remainder(known, value)
        rest[name] = value
    return rest


def _merged_map(schema: Schema, original: Document, patch: Document) -> Document:
    if PATCH in patch:
        return _directed(patch)
    result = _retained(original, patch)
    ordered: Document = {}
    for name, order in patch.items():
        if name.startswith(SET_ORDER):
            ordered |= _ordered_list(schema, result, patch, name, order)
    result |= ordered
    for name, value in patch.items():
        if name.startswith(SET_ORDER) or name == RETAIN_KEYS or name in ordered:
            continue
        if name.startswith(DELETE_VALUES):
            field = _field_name(name, DELETE_VALUES, "invalid patch format of primitive list")
            _delete_values(schema, result, field, value)
        elif value is None:
            result.pop(name, None)
        else:
            _set(schema, result, name, value)
    return result


def _set(schema: Schema, result: Document, name: str, value: Any) -> None:
    """Merges a value of the patch into a field."""
    original = result.get(name)
    field = _field(schema, name)
    strategy = field.patch_strategy.split(",")
    if isinstance(original, dict) and isinstance(value, dict):
        result[name] = value if REPLACE in strategy else _merged_map(field.schema, original, value)
    elif isinstance(original, list) and isinstance(value, list):
        result[name] = _merged_list(field, original, value) if MERGE in strategy else value
    elif _is_directed(value):
        result.pop(name, None)
    else:
        result[name] = _plain(value)


def _field(schema: Schema, name: str) -> Field:
    return schema.fields.get(name) or Field(schema.values or Schema())


def _directed(patch: Document) -> Document:
    """The value of an object whose patch has a `$patch`."""
    if patch[PATCH] == REPLACE:
        return {name: value for name, value in patch.items() if name != PATCH}
    if patch[PATCH] == DELETE:
        return {}
    raise _unknown_directive(patch)


def _unknown_directive(patch: Document) -> Refusal:
    directive = patch[PATCH]
    text = directive if isinstance(directive, str) else f"%!s({type_name(directive)}={shown(directive)})"
    return unreasoned(f"unknown patch type: {text} in map: {shown(patch)}")


def _retained(original: Document, patch: Document) -> Document:
    """A copy of the original, without what a `$retainKeys` does not name."""
    if RETAIN_KEYS not in patch:
        return dict(original)
    keys = patch[RETAIN_KEYS]
    if not isinstance(keys, list):
        raise bad_request("invalid patch format of retainKeys")
    kept = {key for key in keys if isinstance(key, str)}
    for name, value in patch.items():
        directive = name == RETAIN_KEYS or name.startswith((DELETE_VALUES, SET_ORDER))
        if value is not None and not directive and name not in kept:
            raise bad_request("invalid patch format of retainKeys")
    return {name: value for name, value in original.items() if name in kept}


def _plain(value: Any) -> Any:
    """A value of the patch for which there is no original: without nulls and directives."""
    if isinstance(value, dict):
        return {
            name: _plain(inner)
            for name, inner in value.items()
            if inner is not None
            and not _is_directed(inner)
            and not name.startswith((RETAIN_KEYS, DELETE_VALUES, SET_ORDER))
        }
    if isinstance(value, list):
        return [_plain(item) for item in value if not _is_directed(item)]
    return value


def _is_directed(value: Any) -> bool:
    return isinstance(value, dict) and PATCH in value


def _field_name(directive: str, prefix: str, problem: str) -> str:
    start, slash, name = directive.partition("/")
    if start != prefix or not slash:
        raise bad_request(problem)
    return name


# Lists


def _delete_values(schema: Schema, result: Document, name: str, values: Any) -> None:
    original = result.get(name)
    if values is None:
        result.pop(name, None)
    elif isinstance(original, list) and isinstance(values, list) and (original or values):
        if _are_maps(original, values):
            result[name] = _merged_list(_field(schema, name), original, values)
        else:
            gone = _positions("", values)
            result[name] = [item for item in original if _identity("", item) not in gone]


def _merged_list(field: Field, original: list[Any], patch: list[Any]) -> list[Any]:
    if not original and not patch:
        return original
    key = field.patch_key
    if not _are_maps(original, patch):
        both = [*original, *patch]
        return _in_patch_order("", [both[index] for index in _positions("", both).values()], patch, original)
    if not key:
        raise unreasoned("cannot merge lists without merge key for struct")
    original, patch = _after_directives(key, original, patch)
    items = field.schema.items or Schema()
    result = list(original)
    places = {_identity(key, item): index for index, item in reversed([*enumerate(result)]) if key in item}
    for item in patch:
        place = places.setdefault(_identity(key, item), len(result))
        if place < len(result):
            result[place] = _merged_map(items, result[place], item)
        else:
            result.append(_plain(item))
    return _in_patch_order(key, result, patch, original)


def _after_directives(key: str, original: list[Any], patch: list[Any]) -> tuple[list[Any], list[Any]]:
    """The original after the deletions and replacements of a patch, and what is left of the patch."""
    rest = []
    gone: set[Hashable] = set()
    replaces = False
    for item in patch:
        directive = item.get(PATCH)
        if PATCH not in item:
            rest.append(item)
        elif directive == DELETE:
            gone.add(_identity(key, item))
        elif directive == REPLACE:
            replaces = True
        elif directive == MERGE:
            raise unreasoned("merging lists cannot yet be specified in the patch")
        else:
            raise _unknown_directive(item)
    if replaces:
        return rest, []
    if gone:
        original = [item for item in original if key not in item or _identity(key, item) not in gone]
    return original, rest


def _are_maps(*lists: list[Any]) -> bool:
    """Whether the items of all lists are objects. Refuses items of different types, and lists of lists."""
    types = {type(item) for items in lists for item in items}
    if len(types) > 1 or type(None) in types:
        raise unreasoned(f"list element types are not identical: {shown(list(lists))}")
    if not types:
        raise unreasoned("no elements in any of the given slices")
    found = types.pop()
    if found is list:
        raise rejected()
    return found is dict


def _ordered_list(
    schema: Schema, result: Document, patch: Document, directive: str, order: Any
) -> dict[str, list[Any]]:
    """The field that a `$setElementOrder` is about with its list, merged and ordered, if there is one."""
    if not isinstance(order, list):
        raise unreasoned(f"expected a []interface {{}}, but received a {type_name(order)}")
    name = _field_name(directive, SET_ORDER, "invalid patch format of setElementOrder list")
    for values in (result, patch):
        if name in values and not isinstance(values[name], list):
            raise unreasoned(f"expected a []interface {{}}, but received a {type_name(values[name])}")
    field = schema.fields.get(name)
    if field is None:
        raise unreasoned(f'unable to find api field in struct {schema.name} for the json field "{name}"')
    if field.schema.type != ARRAY:
        raise unreasoned("expected slice or array type, but got: struct")
    key = field.patch_key
    original: list[Any] = result.get(name, [])
    changes: list[Any] = patch.get(name, [])
    _check_order(key, changes, order)
    if name not in result and name not in patch:
        return {}
    for index, item in enumerate(order):
        if key and not isinstance(item, dict):
            raise unreasoned(f"value for key {index} is not a map")
    if name not in patch:
        merged = original
    elif name not in result:
        merged = [_plain(item) for item in changes if not _is_directed(item)]
    elif MERGE in field.patch_strategy.split(","):
        merged = _merged_list(field, original, changes)
    else:
        merged = changes
    live = _live_order(key, original, changes, merged) if _are_maps(original, changes) else original
    return {name: _in_patch_order(key, merged, order, live)}


def _live_order(key: str, original: list[Any], changes: list[Any], merged: list[Any]) -> list[Any]:
    """The live list for the purpose of order: new items count as having the places of deleted ones."""
    left, added = _after_directives(key, original, changes) if key else (original, [])
    old = _positions(key, original)
    present = _positions(key, merged)
    new = [item for item in added if _identity(key, item) in present and _identity(key, item) not in old]
    return left + new[: len(original) - len(left)] if len(left) < len(original) else original


def _check_order(key: str, changes: list[Any], order: list[Any]) -> None:
    """Refuses a patch whose items are not all in the order, or are in another one."""
    if not order or not changes:
        return
    waiting = [item for item in changes if not (_is_directed(item) and item[PATCH] == DELETE)]
    at = 0
    for item in order:
        while at < len(waiting) and _is_directed(waiting[at]):
            at += 1
        if at < len(waiting) and _identity(key, waiting[at]) == _identity(key, item):
            at += 1
    if at < len(waiting):
        raise unreasoned(
            f"The order in patch list:\n{shown(changes)}\n doesn't match {SET_ORDER} list:\n{shown(order)}\n"
        )


# The order of lists


def _identity(key: str, item: Any) -> Hashable:
    """What tells an item from the others: the value of the field `key`, or itself if there is no such field.

    1 and true, which are equal in Python, have different identities.
    """
    value = item
    if key:
        if not isinstance(item, dict):
            raise unreasoned(f"expected a map[string]interface {{}}, but received a {type_name(item)}")
        if key not in item:
            raise unreasoned(f"map: {shown(item)} does not contain declared merge key: {key}")
        value = item[key]
    if isinstance(value, (dict, list)):
        return type(value), shown(value)
    return type(value), value


def _positions(key: str, items: Iterable[Any]) -> dict[Hashable, int]:
    """Where the first item of each identity is."""
    found: dict[Hashable, int] = {}
    for index, item in enumerate(items):
        found.setdefault(_identity(key, item), index)
    return found


def _in_patch_order(key: str, merged: list[Any], order: list[Any], live: list[Any]) -> list[Any]:
    """The merged items: those in `order` as they are there, with the others among them.

    The others keep the order they have in the live list; each comes before the first of the ordered ones
    that is behind it in the live list.
    """
    places, live_places = _positions(key, order), _positions(key, live)
    items = [(_identity(key, item), item) for item in merged]
    known = [(places.get(who), live_places.get(who, -1), item) for who, item in items]
    ordered = sorted((each for each in known if each[0] is not None), key=itemgetter(0))
    others = deque(sorted((each for each in known if each[0] is None), key=itemgetter(1)))
    result: list[Any] = []
    for _, place, item in ordered:
        while others and 0 <= others[0][1] < place:
            result.append(others.popleft()[2])
        result.append(item)
    return [*result, *(item for _, _, item in others)]
