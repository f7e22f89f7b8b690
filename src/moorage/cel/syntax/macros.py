"""Calls that are rewritten before anything is checked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from moorage.cel.syntax.tree import (
    Call,
    Comprehension,
    Entry,
    Expression,
    Identifier,
    ListLiteral,
    Literal,
    MapLiteral,
    Message,
    Select,
)

ACCUMULATOR = "@result"
_OLD_ACCUMULATOR = "__result__"
_UNUSED = "#unused"


class MacroError(Exception):
    def __init__(self, offset: int, message: str) -> None:
        super().__init__(message)
        self.offset = offset


class Maker:
    """Makes nodes with ids of their own, all of them at one place in the text."""

    def __init__(self) -> None:
        self._last = 0
        self._offset = 0

    def at(self, offset: int) -> Maker:
        self._offset = offset
        return self

    def id(self) -> int:
        self._last += 1
        return self._last

    def literal(self, value: Any) -> Expression:
        return Literal(self.id(), self._offset, value)

    def name(self, name: str) -> Expression:
        return Identifier(self.id(), self._offset, name)

    def accumulator(self) -> Expression:
        return self.name(ACCUMULATOR)

    def presence(self, operand: Expression, field: str) -> Expression:
        return Select(self.id(), self._offset, operand, field, test_only=True)

    def call(self, function: str, *arguments: Expression) -> Expression:
        return Call(self.id(), self._offset, function, None, list(arguments))

    def member_call(self, function: str, target: Expression, *arguments: Expression) -> Expression:
        return Call(self.id(), self._offset, function, target, list(arguments))

    def list_of(self, *elements: Expression) -> Expression:
        return ListLiteral(self.id(), self._offset, [*elements])

    def empty_map(self) -> Expression:
        return MapLiteral(self.id(), self._offset, [])

    def loop(
        self,
        over: Expression,
        variables: tuple[str, str],
        *,
        initial: Expression,
        condition: Expression,
        step: Expression,
        result: Expression,
        accumulator: str = ACCUMULATOR,
    ) -> Expression:
        return Comprehension(
            self.id(), self._offset, over, *variables, accumulator, initial, condition, step, result
        )

    def binding(self, name: str, value: Expression, result: Expression) -> Expression:
        """A loop over nothing: only its accumulator is wanted, which has a value when it is asked for."""
        return self.loop(
            self.list_of(),
            (_UNUSED, ""),
            initial=value,
            condition=self.literal(False),
            step=self.name(name),
            result=result,
            accumulator=name,
        )

    def copy(self, node: Expression) -> Expression:
        """The same below new ids."""
        copied: Expression
        if isinstance(node, Literal):
            copied = Literal(self.id(), node.offset, node.value)
        elif isinstance(node, Identifier):
            copied = Identifier(self.id(), node.offset, node.name)
        elif isinstance(node, Select):
            copied = Select(self.id(), node.offset, self.copy(node.operand), node.field, node.test_only)
        elif isinstance(node, Call):
            target = None if node.target is None else self.copy(node.target)
            copied = Call(self.id(), node.offset, node.function, target, self._copies(node.arguments))
        elif isinstance(node, ListLiteral):
            copied = ListLiteral(self.id(), node.offset, self._copies(node.elements), node.optional)
        elif isinstance(node, MapLiteral):
            entries = []
            for entry in node.entries:
                key, value = self.copy(entry.key), self.copy(entry.value)
                entries.append(Entry(self.id(), entry.offset, key, value, entry.optional))
            copied = MapLiteral(self.id(), node.offset, entries)
        elif isinstance(node, Message):
            copied = Message(self.id(), node.offset, node.name, self._copies(node.values))
        else:
            assert isinstance(node, Comprehension)
            over, initial, condition, step, result = self._copies(node.children())
            copied = Comprehension(
                self.id(), node.offset, over, node.variable, node.second_variable, node.accumulator,
                initial, condition, step, result,
            )  # fmt: skip
        copied.nesting = node.nesting
        return copied

    def _copies(self, nodes: Sequence[Expression]) -> list[Expression]:
        return [self.copy(node) for node in nodes]


Macro: TypeAlias = Callable[[Maker, Expression | None, list[Expression]], Expression | None]
"""Gets the receiver and the arguments; None: it is an ordinary call after all."""


def _has(make: Maker, target: Expression | None, arguments: list[Expression]) -> Expression:
    selection = arguments[0]
    if not isinstance(selection, Select):
        raise MacroError(selection.offset, "invalid argument to has() macro")
    return make.presence(selection.operand, selection.field)


def _variable(argument: Expression, message: str) -> str:
    if not isinstance(argument, Identifier):
        raise MacroError(argument.offset, message)
    if argument.name in (ACCUMULATOR, _OLD_ACCUMULATOR):
        raise MacroError(argument.offset, "iteration variable overwrites accumulator variable")
    return argument.name


def _variables(arguments: list[Expression], count: int, message: str) -> tuple[str, str]:
    """The names that a loop gives to what it goes over."""
    if count == 1:
        return _variable(arguments[0], message), ""
    for argument in arguments[:2]:
        if not isinstance(argument, Identifier):
            raise MacroError(argument.offset, "argument must be a simple name")
    first, second = arguments[:2]
    assert isinstance(first, Identifier)
    assert isinstance(second, Identifier)
    if first.name == second.name:
        raise MacroError(second.offset, f"duplicate variable name: {first.name}")
    return _variable(first, message), _variable(second, message)


def _quantifier(kind: str, count: int) -> Macro:
    def expand(make: Maker, target: Expression | None, arguments: list[Expression]) -> Expression:
        assert target is not None
        variables = _variables(arguments, count, "argument must be a simple name")
        predicate = arguments[count]
        if kind == "all":
            initial = make.literal(True)
            condition = make.call("@not_strictly_false", make.accumulator())
            step = make.call("_&&_", make.accumulator(), predicate)
            result = make.accumulator()
        elif kind == "exists":
            initial = make.literal(False)
            condition = make.call("@not_strictly_false", make.call("!_", make.accumulator()))
            step = make.call("_||_", make.accumulator(), predicate)
            result = make.accumulator()
        else:
            initial = make.literal(0)
            condition = make.literal(True)
            more = make.call("_+_", make.accumulator(), make.literal(1))
            step = make.call("_?_:_", predicate, more, make.accumulator())
            result = make.call("_==_", make.accumulator(), make.literal(1))
        return make.loop(target, variables, initial=initial, condition=condition, step=step, result=result)

    return expand


def _transformation(kind: str, count: int) -> Macro:
    """Loops that build a list or a map; with one more argument they leave out what a predicate refuses."""

    def expand(make: Maker, target: Expression | None, arguments: list[Expression]) -> Expression:
        assert target is not None
        variables = _variables(arguments, count, "argument is not an identifier")
        transform = arguments[0] if kind == "filter" else arguments[-1]
        if kind in ("list", "filter"):
            initial = make.list_of()
            step = make.call("_+_", make.accumulator(), make.list_of(transform))
        else:
            initial = make.empty_map()
            inserted = (transform,) if kind == "entries" else (make.name(variables[0]), transform)
            step = make.call("cel.@mapInsert", make.accumulator(), *inserted)
        if kind == "filter" or len(arguments) > count + 1:
            step = make.call("_?_:_", arguments[count], step, make.accumulator())
        return make.loop(
            target,
            variables,
            initial=initial,
            condition=make.literal(True),
            step=step,
            result=make.accumulator(),
        )

    return expand


def _bind(make: Maker, target: Expression | None, arguments: list[Expression]) -> Expression | None:
    if not isinstance(target, Identifier) or target.name != "cel":
        return None
    name, value, result = arguments
    if not isinstance(name, Identifier):
        raise MacroError(name.offset, "cel.bind() variable names must be simple identifiers")
    return make.binding(name.name, value, result)


def _optional_map(function: str) -> Macro:
    def expand(make: Maker, target: Expression | None, arguments: list[Expression]) -> Expression:
        assert target is not None
        name, mapped = arguments
        if not isinstance(name, Identifier):
            raise MacroError(name.offset, f"{function}() variable name must be a simple identifier")
        value = make.member_call("value", make.copy(target))
        result = make.binding(name.name, value, mapped)
        if function == "optMap":
            result = make.call("optional.of", result)
        return make.call("_?_:_", make.member_call("hasValue", target), result, make.call("optional.none"))

    return expand


def _sort_by(make: Maker, target: Expression | None, arguments: list[Expression]) -> Expression:
    if not isinstance(target, (ListLiteral, Select, Identifier, Comprehension, Call)):
        assert target is not None
        raise MacroError(
            target.offset,
            "sortBy can only be applied to a list, identifier, comprehension, call or select expression",
        )
    name = "@__sortBy_input__"
    keys = _transformation("list", 1)(make, make.name(name), arguments)
    assert keys is not None
    return make.binding(name, target, make.member_call("@sortByAssociatedKeys", make.name(name), keys))


MACROS: dict[tuple[str, int, bool], Macro] = {
    ("has", 1, False): _has,
    ("all", 2, True): _quantifier("all", 1),
    ("exists", 2, True): _quantifier("exists", 1),
    ("exists_one", 2, True): _quantifier("one", 1),
    ("map", 2, True): _transformation("list", 1),
    ("map", 3, True): _transformation("list", 1),
    ("filter", 2, True): _transformation("filter", 1),
    ("all", 3, True): _quantifier("all", 2),
    ("exists", 3, True): _quantifier("exists", 2),
    ("exists_one", 3, True): _quantifier("one", 2),
    ("existsOne", 3, True): _quantifier("one", 2),
    ("transformList", 3, True): _transformation("list", 2),
    ("transformList", 4, True): _transformation("list", 2),
    ("transformMap", 3, True): _transformation("map", 2),
    ("transformMap", 4, True): _transformation("map", 2),
    ("transformMapEntry", 3, True): _transformation("entries", 2),
    ("transformMapEntry", 4, True): _transformation("entries", 2),
    ("optMap", 2, True): _optional_map("optMap"),
    ("optFlatMap", 2, True): _optional_map("optFlatMap"),
    ("sortBy", 2, True): _sort_by,
}
"""By name, number of arguments, and whether a receiver is there."""
BINDINGS: dict[tuple[str, int, bool], Macro] = {("bind", 3, True): _bind}
"""`cel.bind`, which not all environments have."""
