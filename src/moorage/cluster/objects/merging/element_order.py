"""The order of a list that a strategic merge patch has changed."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

from moorage.cluster.base.errors import unreasoned
from moorage.cluster.base.go_text import shown, type_name


def identity(key: str, item: Any) -> Hashable:
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


def positions(key: str, items: Iterable[Any]) -> dict[Hashable, int]:
    """Where the first item of each identity is."""
    found: dict[Hashable, int] = {}
    for index, item in enumerate(items):
        found.setdefault(identity(key, item), index)
    return found


def in_patch_order(key: str, merged: list[Any], order: list[Any], live: list[Any]) -> list[Any]:
    """The merged items: those in `order` as they are there, with the others among them.

    The others keep the order they have in the live list; each comes before the first of the ordered ones
    that is behind it in the live list.
    """
    places, live_places = positions(key, order), positions(key, live)
    ordered: list[tuple[int, int, Any]] = []
    others: list[tuple[int, Any]] = []
    for item in merged:
        who = identity(key, item)
        live_place = live_places.get(who, -1)
        if who in places:
            ordered.append((places[who], live_place, item))
        else:
            others.append((live_place, item))
    ordered.sort(key=lambda entry: entry[0])
    others.sort(key=lambda entry: entry[0])
    result: list[Any] = []
    next_other = 0
    for _, place, item in ordered:
        while next_other < len(others) and 0 <= others[next_other][0] < place:
            result.append(others[next_other][1])
            next_other += 1
        result.append(item)
    result.extend(item for _, item in others[next_other:])
    return result
