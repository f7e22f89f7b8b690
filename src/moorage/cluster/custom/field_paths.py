"""Simple paths such as `.spec.replicas`, followed along a schema."""

from __future__ import annotations

import re

from moorage.cluster.schema.model import Schema

_TOKENS = re.compile(r"'(?:[^'\\]|\\.)*'|[.\[\]]|[^.\[\]']+|'")


class PathProblem(Exception):
    """The path leads nowhere; the text says why."""


def follow(schema: Schema, path: str, *, brackets: bool = True) -> tuple[tuple[str, ...], Schema]:
    """The names on a path, and where it leads. `['name']` may stand for `.name` if brackets are allowed."""
    names: list[str] = []
    tokens = iter(_TOKENS.findall(path))
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
        schema = _child(schema, name)
        names.append(name)
    return tuple(names), schema


def _child(schema: Schema, name: str) -> Schema:
    if name in schema.fields:
        return schema.fields[name].schema
    if schema.fields or schema.values is None:
        raise PathProblem("does not refer to a valid field")
    return schema.values
