"""The types of expressions."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Type:
    """A type, by name and parameters: `list(int)` is `Type("list", (INT,))`."""

    name: str
    parameters: tuple[Type, ...] = ()

    def __str__(self) -> str:
        return f"{self.name}({', '.join(map(str, self.parameters))})" if self.parameters else self.name


@dataclass(frozen=True, slots=True)
class TypeParameter(Type):
    """Stands for any type, the same one wherever its name occurs in a declaration."""


BOOL = Type("bool")
INT = Type("int")
UINT = Type("uint")
DOUBLE = Type("double")
STRING = Type("string")
BYTES = Type("bytes")
NULL = Type("null_type")
DYN = Type("dyn")
ANY = Type("any")
"""A value that is converted when it is read; for the checker as `dyn`, but told apart in result types."""
TIMESTAMP = Type("google.protobuf.Timestamp")
DURATION = Type("google.protobuf.Duration")
ERROR = Type("*error*")

A = TypeParameter("A")
B = TypeParameter("B")


def list_of(element: Type) -> Type:
    return Type("list", (element,))


def map_of(key: Type, value: Type) -> Type:
    return Type("map", (key, value))


def optional_of(value: Type) -> Type:
    return Type("optional_type", (value,))


def type_of(value: Type) -> Type:
    return Type("type", (value,))
