"""What is checked beyond types: literals that cannot be right."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from moorage.cel.checking.unification import is_equivalent, type_text
from moorage.cel.declarations import Argument, Function
from moorage.cel.evaluation import regular_expressions
from moorage.cel.evaluation.conversions import (
    duration_of_int,
    duration_of_string,
    timestamp_of_int,
    timestamp_of_string,
)
from moorage.cel.syntax.source import Issue, Source
from moorage.cel.syntax.tree import Call, Expression, ListLiteral, Literal, MapLiteral, walk
from moorage.cel.types import Type
from moorage.cel.values import EvaluationError


def validate(root: Expression, source: Source, functions: Mapping[str, Function]) -> None:
    """Raises CompileError."""
    issues: list[Issue] = []
    for node in walk(root):
        if isinstance(node, Call):
            issues += _call_issues(node, source, functions)
    for node in _homogeneous(root, functions):
        issues += [
            source.issue(part.offset, f"expected type '{type_text(expected)}' but found '{type_text(found)}'")
            for part, expected, found in _mixed(node)
        ]
    if issues:
        raise source.error(issues)


def _call_issues(node: Call, source: Source, functions: Mapping[str, Function]) -> Iterator[Issue]:
    first = node.arguments[0] if node.arguments else None
    if isinstance(first, Literal) and not _is_valid(node.function, first.value):
        yield source.issue(first.offset, f"invalid {node.function} argument")
    if len(node.overloads) == 1:
        for overload in functions[node.function].overloads:
            if overload.id == node.overloads[0] and overload.check is not None:
                problem = overload.check([_argument(child) for child in node.children()])
                if problem is not None:
                    yield source.issue(node.offset, problem)


def _is_valid(function: str, value: object) -> bool:
    """Of the first argument, whatever else there is."""
    try:
        if function == "duration":
            if isinstance(value, str):
                duration_of_string(value)
            elif isinstance(value, int):
                duration_of_int(value)
        elif function == "timestamp":
            if isinstance(value, str):
                timestamp_of_string(value)
            elif isinstance(value, int):
                timestamp_of_int(value)
        elif function == "matches" and isinstance(value, str):
            regular_expressions.compile(value)
    except (EvaluationError, ValueError):
        return False
    return True


def _argument(node: Expression) -> Argument:
    entries: tuple[Argument, ...] | None = None
    if isinstance(node, (ListLiteral, MapLiteral)):
        entries = tuple([_argument(child) for child in node.children()])
    return Argument(node.type, value=node.value if isinstance(node, Literal) else None, entries=entries)


def _homogeneous(root: Expression, functions: Mapping[str, Function]) -> Iterator[ListLiteral | MapLiteral]:
    """The literals that must not mix types."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if isinstance(node, (ListLiteral, MapLiteral)):
            yield node
        if not (isinstance(node, Call) and functions[node.function].allows_mixed_literals):
            waiting.extend(node.children())


def _mixed(node: ListLiteral | MapLiteral) -> Iterator[tuple[Expression, Type, Type]]:
    """Parts that differ from the first, with both types."""
    if isinstance(node, ListLiteral):
        elements = [
            (element, _inner(element) if index in node.optional else element.type)
            for index, element in enumerate(node.elements)
        ]
        for element, type_ in elements[1:]:
            if not is_equivalent(elements[0][1], type_):
                yield element, elements[0][1], type_
                return
        return
    keys = [(entry.key, entry.key.type) for entry in node.entries]
    values = [
        (entry.value, _inner(entry.value) if entry.optional else entry.value.type) for entry in node.entries
    ]
    for parts in (keys, values):
        for part, type_ in parts[1:]:
            if not is_equivalent(parts[0][1], type_):
                yield part, parts[0][1], type_


def _inner(node: Expression) -> Type:
    return node.type.parameters[0] if node.type.parameters else node.type
