"""Sets of fields, kept in the form in which managedFields write them.

The tree of a set has an entry for each step of a path: `f:name` a field, `k:{"name":"x"}` a list item by its
keys, `v:"x"` a list item by its value, `i:0` one by its index. An entry without anything below belongs to the
set; one with something below only if it has `.` in it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Final

from moorage.cluster.base.go_text import as_json, quoted, shown

Tree = dict[str, Any]

LEAF: Final[Tree] = {}
"""The entry of a path below which there is nothing. Trees are never changed once they are made."""

DEEPEST = 200
"""Steps in the longest path that is read; no API type is nearly as deep."""

_text = lru_cache(maxsize=4096)(as_json)


class FieldSet:
    """A set of paths to fields."""

    __slots__ = ("tree",)

    def __init__(self, tree: Tree) -> None:
        self.tree = tree

    @classmethod
    def from_json(cls, fields: Any) -> FieldSet:
        """Reads FieldsV1 from anywhere. Raises ValueError if that is not what it is."""
        try:
            return cls(_read(fields, DEEPEST)) if fields else NOTHING
        except RecursionError as error:
            raise ValueError("nested too deeply") from error

    def to_json(self) -> Tree:
        """FieldsV1, in the order in which they are always written."""
        return self.tree

    def __bool__(self) -> bool:
        return bool(self.tree)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FieldSet) and self.tree == other.tree

    def __repr__(self) -> str:
        return f"FieldSet({', '.join(map(path_text, self.paths()))})"

    def __or__(self, other: FieldSet) -> FieldSet:
        if not other.tree:
            return self
        return FieldSet(_children_united(self.tree, other.tree)) if self.tree else other

    def __and__(self, other: FieldSet) -> FieldSet:
        return FieldSet(_common_children(self.tree, other.tree))

    def __sub__(self, other: FieldSet) -> FieldSet:
        """The paths that are not in the other set, whatever is below or above them."""
        return self._without(other, subtrees=False)

    def without_subtrees(self, other: FieldSet) -> FieldSet:
        """The paths that are neither in the other set nor below one that is."""
        return self._without(other, subtrees=True)

    def _without(self, other: FieldSet, *, subtrees: bool) -> FieldSet:
        rest = _difference(self.tree, other.tree, subtrees=subtrees)
        return self if rest is self.tree else FieldSet(rest)

    def __contains__(self, path: tuple[str, ...]) -> bool:
        tree = self.tree
        for step in path:
            if step not in tree:
                return False
            tree = tree[step]
        return bool(path) and is_member(tree)

    def paths(self) -> tuple[tuple[str, ...], ...]:
        """All paths, each a tuple of steps, in the order in which messages list them."""
        return tuple(_paths(self.tree, ()))


def is_member(tree: Tree) -> bool:
    """Whether the path to this entry is in the set."""
    return not tree or "." in tree


def entry(member: bool, children: Tree) -> Tree | None:
    """The entry of a path with these below it; None if neither it nor anything below is in the set."""
    if not children:
        return LEAF if member else None
    return {".": LEAF, **children} if member else children


def in_order(children: Tree) -> Tree:
    """The same entries, ordered."""
    if len(children) < 2:
        return children
    steps = sorted(children)
    if steps[-1][:2] != "f:":
        steps.sort(key=_order)
    return {step: children[step] for step in steps}


def key_step(keys: dict[str, Any]) -> str:
    """The step to a list item with these keys."""
    return "k:{" + ",".join(f"{_json(name)}:{_json(keys[name])}" for name in sorted(keys)) + "}"


def value_step(value: Any) -> str:
    """The step to an item of a list that is a set."""
    return "v:" + _json(value)


def path_text(path: tuple[str, ...]) -> str:
    """A path as messages write it: .spec.containers[name="c"].image"""
    return "".join(map(_step_text, path))


def _step_text(step: str) -> str:
    kind, rest = step[:2], step[2:]
    if kind == "f:":
        return f".{rest}"
    if kind == "i:":
        return f"[{rest}]"
    value = json.loads(rest)
    if kind == "v:":
        return f"[={_shown_key(value)}]"
    return "[" + ",".join(f"{name}={_shown_key(value[name])}" for name in sorted(value)) + "]"


def _shown_key(value: Any) -> str:
    return "null" if value is None else quoted(value) if isinstance(value, str) else shown(value)


def _json(value: Any) -> str:
    return _text(value) if isinstance(value, str) else as_json(value)


def _order(step: str) -> tuple[Any, ...]:
    """Fields, items by keys, items by value, items by index; numbers by size and before texts."""
    kind, rest = step[:2], step[2:]
    if kind == "k:":
        keys = json.loads(rest)
        return 1, tuple((name, _value_order(keys[name])) for name in sorted(keys))
    if kind == "v:":
        return 2, _value_order(json.loads(rest))
    if kind == "i:":
        return 3, int(rest)
    return 0, step


def _value_order(value: Any) -> tuple[Any, ...]:
    if isinstance(value, bool):
        return 2, value
    if isinstance(value, (int, float)):
        return 0, value
    if isinstance(value, str):
        return 1, value
    return 3, _json(value)


# Reading


def _read(fields: Any, depth: int) -> Tree:
    if not isinstance(fields, dict) or not depth:
        raise ValueError("fields have to be objects")
    tree: Tree = {}
    for step, below in fields.items():
        if step == ".":
            if depth < DEEPEST:
                tree["."] = LEAF
            continue
        read = _read_step(step)
        if read:
            tree[read] = _read(below, depth - 1)
    if tree.keys() == {"."}:
        return LEAF
    return in_order(tree)


def _read_step(step: str) -> str:
    """The step in its one proper form; empty if it is of a kind that nobody knows."""
    kind, rest = step[:2], step[2:]
    if len(kind) < 2 or kind[1] != ":":
        raise ValueError(f"missing colon: {step}")
    if kind == "f:":
        return step
    if kind == "i:":
        return f"i:{int(rest)}"
    if kind == "v:":
        return value_step(json.loads(rest))
    if kind == "k:":
        keys = json.loads(rest)
        if not isinstance(keys, dict):
            raise ValueError(f"not keys: {step}")
        return key_step(keys)
    return ""


# Set operations. Each returns its first argument itself if that is the result.


def _children_united(one: Tree, other: Tree) -> Tree:
    united = dict(one)
    grown = False
    for step, below in other.items():
        mine = united.get(step)
        if mine is None:
            united[step] = below
            grown = True
        elif mine is not below and mine != below:
            whole = _children_united(mine, below)
            if "." not in whole and (is_member(mine) or is_member(below)):
                whole = {".": LEAF, **whole}
            united[step] = whole
    return in_order(united) if grown else united


def _common_children(one: Tree, other: Tree) -> Tree:
    common: Tree = {}
    for step, mine in one.items():
        below = other.get(step)
        if below is None or step == ".":
            continue
        found = entry(is_member(mine) and is_member(below), _common_children(mine, below))
        if found is not None:
            common[step] = found
    return common


def _difference(one: Tree, other: Tree, *, subtrees: bool) -> Tree:
    """Without the paths of the other set and, if so wished, without all that is below them."""
    rest: Tree | None = None
    for step in (one.keys() & other.keys()) - {"."}:
        mine, below = one[step], other[step]
        member = is_member(mine) and not is_member(below)
        if subtrees and is_member(below):
            found = None
        else:
            children = _difference(mine, below, subtrees=subtrees)
            if children is mine and member == is_member(mine):
                continue
            found = entry(member, {key: value for key, value in children.items() if key != "."})
        if rest is None:
            rest = dict(one)
        if found is None:
            del rest[step]
        else:
            rest[step] = found
    return one if rest is None else rest


def _paths(tree: Tree, above: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """At each step first the paths that end there, then those that go on."""
    for step, below in tree.items():
        if step != "." and is_member(below):
            yield (*above, step)
    for step, below in tree.items():
        if step != ".":
            yield from _paths(below, (*above, step))


NOTHING: Final = FieldSet({})
