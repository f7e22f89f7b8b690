"""What differs between two documents, so that only that has to be written down.

The difference of two maps is a map of what differs: `None` for what is gone. That of two lists is a map, too,
with numbers for keys: the places of items that differ, or under -1 where a stretch begins and ends and what
takes its place. Of everything else the difference is the new value. Documents hold no `None` in maps.
"""

from __future__ import annotations

from typing import Any

_STRETCH = -1


def difference(old: Any, new: Any) -> Any:
    """What `applied` makes the new of the old with; the two must not be equal."""
    if isinstance(old, dict) and isinstance(new, dict):
        return _of_maps(old, new)
    if isinstance(old, list) and isinstance(new, list):
        return _of_lists(old, new)
    return new


def applied(old: Any, changes: Any) -> Any:
    """The new value; the old one stays as it is, and shares with the new what is the same."""
    if not isinstance(changes, dict):
        return changes
    if isinstance(old, list) and any(isinstance(place, int) for place in changes):
        return _applied_to_list(old, changes)
    made = dict(old) if isinstance(old, dict) else {}
    for key, value in changes.items():
        if value is None:
            made.pop(key, None)
        else:
            made[key] = applied(made.get(key), value)
    return made


def _of_maps(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {key: None for key in old if key not in new}
    for key, value in new.items():
        if key not in old:
            found[key] = value
        elif old[key] != value:
            found[key] = difference(old[key], value)
    return found


def _of_lists(old: list[Any], new: list[Any]) -> Any:
    shorter = min(len(old), len(new))
    begin = 0
    while begin < shorter and old[begin] == new[begin]:
        begin += 1
    behind = 0
    while behind < shorter - begin and old[-1 - behind] == new[-1 - behind]:
        behind += 1
    end, new_end = len(old) - behind, len(new) - behind
    if end == new_end and None not in new:
        places = range(begin, end)
        return {i: difference(old[i], new[i]) for i in places if old[i] != new[i]}
    if begin == behind == 0:
        return new
    return {_STRETCH: [begin, end, new[begin:new_end]]}


def _applied_to_list(old: list[Any], changes: dict[int, Any]) -> list[Any]:
    if _STRETCH in changes:
        begin, end, items = changes[_STRETCH]
        return [*old[:begin], *items, *old[end:]]
    made = list(old)
    for place, value in changes.items():
        made[place] = applied(made[place], value)
    return made
