"""Values at run time, and what goes wrong with them.

| type | Python |
|---|---|
| bool, double, string, bytes, null | bool, float, str, bytes, None |
| int, uint | int, `Uint`; both checked for their 64 bits |
| list | tuple or list; a `DeclaredList` is a tuple |
| map | a `dict` with keys that are all strings, a `StringMap`, a `Map` or a `DeclaredMap`; whoever reads one
  takes any `collections.abc.Mapping` |
| timestamp, duration | `Timestamp`, `Duration`, in nanoseconds |
| optional | `Optional` |
| type | `moorage.cel.types.Type` |
| opaque ones (quantity, semver, ...) | the class of their library; its `CEL_TYPE` is their type |
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from moorage.cel.types import Type

MIN_INT, MAX_INT = -(2**63), 2**63 - 1
MAX_UINT = 2**64 - 1


class EvaluationError(Exception):
    """An expression has no value: the text is what users are told."""


class Fault(EvaluationError):
    """Ends an evaluation whatever is around it: neither `||` nor `&&` absorb it."""


class Uint(int):
    """An unsigned number."""

    __slots__ = ()


@dataclass(frozen=True, slots=True, order=True)
class Timestamp:
    nanos: int
    """Since 1970, UTC."""
    offset: int = field(default=0, compare=False)
    """Of the zone it was written in, in seconds east; shown by `string()`, and nowhere else."""


@dataclass(frozen=True, slots=True, order=True)
class Duration:
    nanos: int


@dataclass(frozen=True, slots=True)
class Optional:
    """A value, or none."""

    value: Any = None
    has_value: bool = True


NO_VALUE = Optional(None, has_value=False)


@dataclass(frozen=True, slots=True)
class Failure:
    """Stands where a value would be had it not gone wrong."""

    message: str


class Missing:
    """The class of `MISSING`, what a lookup gives that finds nothing."""


MISSING: Final = Missing()


class Map(Mapping[Any, Any]):
    """A map with keys of any type: true is not 1, but numbers find equal ones of other types."""

    __slots__ = ("_entries",)

    def __init__(self, pairs: Iterable[tuple[Any, Any]] = ()) -> None:
        self._entries: dict[Any, tuple[Any, Any]] = {identity(key): (key, value) for key, value in pairs}

    def put(self, key: Any, value: Any) -> None:
        self._entries[identity(key)] = key, value

    def discard(self, key: Any) -> None:
        self._entries.pop(identity(key), None)

    def find(self, key: Any) -> Any:
        """The value, or MISSING."""
        entries = self._entries
        if not entries:
            return MISSING
        for candidate in equal_identities(key):
            if (entry := entries.get(candidate)) is not None:
                return entry[1]
        return MISSING

    def __getitem__(self, key: Any) -> Any:
        if (value := self.find(key)) is MISSING:
            raise KeyError(key)
        return value

    def __contains__(self, key: object) -> bool:
        return self.find(key) is not MISSING

    def __iter__(self) -> Iterator[Any]:
        return (key for key, _ in self._entries.values())

    def __len__(self) -> int:
        return len(self._entries)

    def __repr__(self) -> str:
        return "Map(" + ", ".join(f"{key!r}: {value!r}" for key, value in self._entries.values()) + ")"


class DeclaredList(tuple[Any, ...]):
    """A list whose elements have a schema, which says what is equal to it and what adding to it means.

    Elements that are not as the schema wants them are Failures.
    """

    raw: list[Any]
    """As it is without the schema."""
    has_failures: bool

    def equals(self, other: Any) -> bool:
        """Raises EvaluationError, as the other two do."""
        raise NotImplementedError

    def contains(self, element: Any) -> bool:
        raise NotImplementedError

    def plus(self, other: Any) -> DeclaredList:
        raise NotImplementedError


class DeclaredMap:
    """A map or an object whose entries have a schema, which says what is equal to it.

    It is a Mapping, but by registration only: whether something is one of these is asked often.
    """

    __slots__ = ()

    raw: dict[str, Any]
    """As it is without the schema."""

    def find(self, key: Any) -> Any:
        """The value, a Failure, or MISSING."""
        raise NotImplementedError

    def equals(self, other: Any) -> bool:
        """Raises EvaluationError."""
        raise NotImplementedError

    def __getitem__(self, key: str) -> Any:
        found = self.find(key)
        if found is MISSING:
            raise KeyError(key)
        if isinstance(found, Failure):
            raise EvaluationError(found.message)
        return found

    def __iter__(self) -> Iterator[str]:
        raise NotImplementedError

    def __len__(self) -> int:
        return len(self.raw)

    def __contains__(self, key: object) -> bool:
        return self.find(key) is not MISSING

    def items(self) -> Iterator[tuple[str, Any]]:
        return ((key, self[key]) for key in self)


Mapping.register(DeclaredMap)


class AccumulatedList(list[Any]):
    """A list that an expression is building: adding to it changes it."""

    __slots__ = ()


class StringMap(dict[str, Any]):
    """A map that an expression wrote out, with keys that are all strings."""

    __slots__ = ()


def as_map(pairs: list[tuple[Any, Any]]) -> Mapping[Any, Any]:
    """Of what a map literal has."""
    if all(key.__class__ is str for key, _ in pairs):
        return StringMap(pairs)
    return Map(pairs)


_BY_VALUE = frozenset({str, int, Uint, float, bool, type(None), Timestamp, Duration})
_UNHASHABLE = frozenset({Type("kubernetes.Semver"), Type("kubernetes.NamedFormat")})


def identity(key: Any) -> tuple[Any, Any]:
    """What makes two keys the same one; containers and most objects are only the same as themselves."""
    kind = key.__class__
    if kind in _BY_VALUE:
        return kind, key
    if kind is bytes or getattr(kind, "CEL_TYPE", None) in _UNHASHABLE:
        shown = "types.Bytes" if kind is bytes else f"cel.{kind.__name__}"
        raise Fault(f"internal error: runtime error: hash of unhashable type {shown}")
    return kind, id(key)


def equal_identities(key: Any) -> Iterator[tuple[Any, Any]]:
    """The identities that a lookup by this key finds."""
    yield identity(key)
    kind = key.__class__
    if kind is float:
        if key.is_integer() and MIN_INT < key < MAX_INT:
            yield int, int(key)
        if key.is_integer() and 0 <= key < 2.0**64:
            yield Uint, int(key)
    elif kind is int and key >= 0:
        yield Uint, key
    elif kind is Uint and key <= MAX_INT:
        yield int, key
