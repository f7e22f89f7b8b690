"""Simple paths such as `.spec.replicas`, followed along a schema."""

from __future__ import annotations

import re
from typing import NamedTuple

from moorage.cluster.schema.model import Schema

_TOKENS = re.compile(r"'(?:[^'\\]|\\.)*'|[.\[\]]|[^.\[\]']+|'")


class PathProblem(Exception):
    """The path leads nowhere; the text says why."""


class Followed(NamedTuple):
    names: tuple[str, ...]
    schema: Schema | None


def follow(schema: Schema, path: str, *, brackets: bool = True) -> Followed:
    """Where a path leads. `['name']` may stand for `.name` where brackets are allowed."""
    names: list[str] = []
    tokens = iter(_TOKENS.findall(path))
    here: Schema | None = schema
    for token in tokens:
        if token == ".":
            name = next(tokens, None)
            if name is None:
                raise PathProblem("unexpected end of JSON path")
        elif token == "[":
            if not brackets:
                raise PathProblem("array notation is not allowed")
            quoted = next(tokens, "")
            if len(quoted) < 2 or not (quoted[0] == quoted[-1] == "'"):
                raise PathProblem(f"expected single quoted string but got {quoted}")
            if next(tokens, "") != "]":
                raise PathProblem("unexpected end of JSON path")
            name = quoted[1:-1].replace("\\'", "'")
        else:
            raise PathProblem(f"expected [ or . but got: {token}")
        here = _child(here, name)
        names.append(name)
    return Followed(tuple(names), here)


def _child(schema: Schema | None, name: str) -> Schema | None:
    if schema is not None and schema.fields:
        if name in schema.fields:
            return schema.fields[name].schema
    elif schema is not None and schema.values is not None:
        return schema.values
    raise PathProblem("does not refer to a valid field")
