"""Types of all parts of an expression, and which overloads its calls can mean."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from moorage.cel import types
from moorage.cel.checking.unification import (
    Substitutions,
    is_dynamic,
    is_dynamic_or_error,
    most_general,
    parameters_in,
    parameters_not_seen,
    type_text,
)
from moorage.cel.declarations import Function
from moorage.cel.evaluation.operators import type_of_value
from moorage.cel.syntax.source import Issue, Source
from moorage.cel.syntax.tree import (
    Call,
    Comprehension,
    Expression,
    Identifier,
    ListLiteral,
    Literal,
    MapLiteral,
    Message,
    Select,
    qualified_name,
    walk,
)
from moorage.cel.types import Type, TypeParameter


@dataclass(frozen=True)
class Names:
    """What an expression may refer to."""

    functions: Mapping[str, Function]
    variables: Mapping[str, Type]
    objects: Mapping[str, Mapping[str, Type]] = field(default_factory=dict)
    """Types with fields, by name."""
    types: Mapping[str, Type] = field(default_factory=dict)
    """Types that can be named, as values."""
    constants: Mapping[str, tuple[Type, Any]] = field(default_factory=dict)


def check(root: Expression, source: Source, names: Names) -> bool:
    """Fills in what the checker has to say; raises CompileError with everything that is wrong.

    Tells whether all values will really have the types that parts of the expression now have. Of a function
    of something dynamic the type of the result may come from elsewhere, from its other arguments or from what
    is done with it, and the value may have another.
    """
    checker = _Checker(source, names)
    checker.check(root)
    if checker.issues:
        raise source.error(checker.issues)
    for node in walk(root):
        node.type = checker.substitutions.resolve(node.type, free_to_dynamic=True)
    return all(
        isinstance(type_, TypeParameter) or is_dynamic(type_)
        for type_ in map(checker.substitutions.resolve, checker.unfounded)
    )


class _Checker:
    def __init__(self, source: Source, names: Names) -> None:
        self._source = source
        self._names = names
        self._scopes: list[dict[str, Type]] = []
        self.substitutions = Substitutions()
        self.issues: list[Issue] = []
        self.unfounded: set[Type] = set()  # type parameters of results of functions of something dynamic
        self._checks: dict[type[Expression], Callable[[Any], None]] = {
            Literal: self._check_literal,
            Identifier: self._check_identifier,
            Select: self._check_select,
            Call: self._check_call,
            ListLiteral: self._check_list,
            MapLiteral: self._check_map,
            Message: self._check_message,
            Comprehension: self._check_comprehension,
        }

    def check(self, node: Expression) -> None:
        self._checks[node.__class__](node)

    def _issue(self, node: Expression, message: str) -> None:
        self.issues.append(self._source.issue(node.offset, message))

    def _mismatch(self, node: Expression, expected: Type, found: Type) -> None:
        self._issue(node, f"expected type '{type_text(expected)}' but found '{type_text(found)}'")

    def _undeclared(self, node: Expression, name: str) -> None:
        node.type = types.ERROR
        self._issue(node, f"undeclared reference to '{name}' (in container '')")

    def _type_of_name(self, name: str) -> Type | None:
        name = name.removeprefix(".")
        for scope in reversed(self._scopes):
            if name in scope:
                return scope[name]
        if name in self._names.variables:
            return self._names.variables[name]
        if name in self._names.constants:
            return self._names.constants[name][0]
        if name in self._names.types:
            return types.type_of(self._names.types[name])
        return None

    def _is_constant(self, name: str) -> bool:
        return not any(name in scope for scope in self._scopes) and name in self._names.constants

    def _check_literal(self, node: Literal) -> None:
        node.type = type_of_value(node.value)

    def _check_identifier(self, node: Identifier) -> None:
        type_ = self._type_of_name(node.name)
        if type_ is None:
            self._undeclared(node, node.name)
            return
        node.name = node.name.removeprefix(".")
        node.type = type_
        node.constant = self._is_constant(node.name)

    def _check_select(self, node: Select) -> None:
        name = qualified_name(node)
        if name and (type_ := self._type_of_name(name)) is not None:
            node.type = type_
            node.constant = name.removeprefix(".")
            return
        type_ = self._field_type(node, node.operand, node.field, optional=False)
        node.type = types.BOOL if node.test_only else type_

    def _field_type(self, node: Expression, operand: Expression, name: str, *, optional: bool) -> Type:
        self.check(operand)
        target = self.substitutions.resolve(operand.type)
        wrapped = target.name == "optional_type"
        if wrapped:
            target = target.parameters[0]
        result = types.DYN
        if target.name == "map":
            result = target.parameters[1]
        elif isinstance(target, TypeParameter):
            self.substitutions.assign([types.DYN], [target])
        elif target.name in _WITHOUT_FIELDS:
            self._issue(node, f"type '{type_text(target)}' does not support field selection")
        elif not is_dynamic_or_error(target):
            result = self._object_field(node, target, name)
        result = types.optional_of(result) if wrapped or optional else result
        return self.substitutions.resolve(result)

    def _object_field(self, node: Expression, target: Type, name: str) -> Type:
        fields = self._names.objects.get(target.name)
        if fields is None:
            self._issue(node, f"unexpected failed resolution of '{target.name}'")
            return types.ERROR
        if name not in fields:
            self._issue(node, f"undefined field '{name}'")
            return types.ERROR
        return fields[name]

    def _check_call(self, node: Call) -> None:
        if node.function == "_?._":
            field_name = node.arguments[1]
            assert isinstance(field_name, Literal)
            node.type = self._field_type(node, node.arguments[0], field_name.value, optional=True)
            field_name.type = types.STRING
            node.overloads = ("select_optional_field",)
            return
        for argument in node.arguments:
            self.check(argument)
        if node.target is not None:
            prefix = qualified_name(node.target)
            qualified = f"{prefix}.{node.function}".removeprefix(".")
            if prefix and qualified in self._names.functions:
                node.target, node.function = None, qualified
            else:
                self.check(node.target)
        name = node.function if node.target is not None else node.function.removeprefix(".")
        function = self._names.functions.get(name)
        if function is None:
            self._undeclared(node, node.function)
            return
        node.function = name
        if name in ("_&&_", "_||_"):
            self._check_logic(node)
        else:
            self._resolve_overloads(node, function)

    def _check_logic(self, node: Call) -> None:
        node.type = types.BOOL
        for argument in node.arguments:
            if not self.substitutions.assign([argument.type], [types.BOOL]):
                self._mismatch(argument, types.BOOL, argument.type)
                node.type = types.ERROR
        node.overloads = ("logical_and" if node.function == "_&&_" else "logical_or",)

    def _resolve_overloads(self, node: Call, function: Function) -> None:
        arguments = [child.type for child in node.children()]
        open_overloads = []
        unfounded: set[Type] = set()
        result: Type | None = None
        for overload in function.overloads:
            if overload.is_member == (node.target is None):
                continue
            candidate, *parameters = self.substitutions.instantiate([overload.result, *overload.parameters])
            if not self.substitutions.assign(arguments, parameters):
                continue
            open_overloads.append(overload.id)
            for parameter, argument in zip(parameters, arguments, strict=True):
                unseen = parameters_not_seen(parameter, self.substitutions.resolve(argument))
                unfounded |= unseen & parameters_in(candidate)
            candidate = self.substitutions.resolve(candidate)
            if result is None:
                result = candidate
            elif not is_dynamic(result) and candidate != result:
                result = types.DYN
        if result is None:
            node.type = types.ERROR
            self._issue(node, self._no_overload(node, arguments))
            return
        node.type = result
        node.overloads = tuple(open_overloads)
        if not is_dynamic(result):
            self.unfounded |= unfounded

    def _no_overload(self, node: Call, arguments: Sequence[Type]) -> str:
        shown = [
            type_text(self.substitutions.resolve(argument, free_to_dynamic=True)) for argument in arguments
        ]
        receiver = f"{shown.pop(0)}." if node.target is not None else ""
        return f"found no matching overload for '{node.function}' applied to '{receiver}({', '.join(shown)})'"

    def _unwrapped(self, node: Expression, *, optional: bool) -> Type:
        """Of a part of a literal; one that is written with `?` has to be optional."""
        self.check(node)
        if not optional:
            return node.type
        if node.type.name == "optional_type":
            return node.type.parameters[0]
        if not is_dynamic(node.type):
            self._mismatch(node, types.optional_of(node.type), node.type)
        return node.type

    def _joined(self, node: Expression, before: Type | None, type_: Type) -> Type:
        if before is None:
            return type_
        if self.substitutions.assign([before], [type_]):
            return most_general(before, type_)
        return types.DYN

    def _check_list(self, node: ListLiteral) -> None:
        joined: Type | None = None
        for index, element in enumerate(node.elements):
            joined = self._joined(element, joined, self._unwrapped(element, optional=index in node.optional))
        node.type = types.list_of(joined or self.substitutions.fresh())

    def _check_map(self, node: MapLiteral) -> None:
        keys: Type | None = None
        values: Type | None = None
        for entry in node.entries:
            keys = self._joined(entry.key, keys, self._unwrapped(entry.key, optional=False))
            values = self._joined(entry.value, values, self._unwrapped(entry.value, optional=entry.optional))
        node.type = types.map_of(keys or self.substitutions.fresh(), values or self.substitutions.fresh())

    def _check_message(self, node: Message) -> None:
        for value in node.values:
            self.check(value)
        self._undeclared(node, node.name)

    def _check_comprehension(self, node: Comprehension) -> None:
        self.check(node.range)
        self.check(node.initial)
        accumulated = node.initial.type
        first, second = self._iteration_types(node)
        self._scopes.append({node.accumulator: accumulated})
        self._scopes.append({node.variable: first})
        if node.second_variable:
            self._scopes[-1][node.second_variable] = second
        self.check(node.condition)
        self._assert_type(node.condition, types.BOOL)
        self.check(node.step)
        self._assert_type(node.step, accumulated)
        self._scopes.pop()
        self.check(node.result)
        self._scopes.pop()
        node.type = self.substitutions.resolve(node.result.type)

    def _iteration_types(self, node: Comprehension) -> tuple[Type, Type]:
        """Of the variables: of lists the element, or index and element; of maps the key and the value."""
        over = self.substitutions.resolve(node.range.type)
        if over.name == "list":
            element = over.parameters[0]
            return (types.INT, element) if node.second_variable else (element, element)
        if over.name == "map":
            return over.parameters[0], over.parameters[1]
        if over == types.DYN or over == types.ERROR or isinstance(over, TypeParameter):
            self.substitutions.assign([types.DYN], [over])
            return types.DYN, types.DYN
        self._issue(
            node.range,
            f"expression of type '{type_text(over)}' cannot be range of a comprehension "
            "(must be list, map, or dynamic)",
        )
        return types.ERROR, types.ERROR

    def _assert_type(self, node: Expression, type_: Type) -> None:
        if not self.substitutions.assign([type_], [node.type]):
            self._mismatch(node, type_, node.type)


_WITHOUT_FIELDS = frozenset(
    {"bool", "int", "uint", "double", "string", "bytes", "null_type", "list", "type", "optional_type"}
    | {types.TIMESTAMP.name, types.DURATION.name}
)
