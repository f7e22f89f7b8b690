"""From a checked tree to steps; what is constant is computed here, once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import isnan
from typing import Any

from moorage.cel.checking.checker import Names
from moorage.cel.evaluation import regular_expressions, steps
from moorage.cel.evaluation.overloads import dispatcher
from moorage.cel.evaluation.steps import AttributeStep, Constant, Qualifier, Step
from moorage.cel.evaluation.text import original_name
from moorage.cel.syntax.source import CompileError
from moorage.cel.syntax.tree import (
    Call,
    Comprehension,
    Expression,
    Identifier,
    ListLiteral,
    Literal,
    MapLiteral,
    Select,
)
from moorage.cel.types import DYN, Type
from moorage.cel.values import MAX_INT, EvaluationError, Uint, as_map, identity


class ProgramError(CompileError):
    """The expression is well formed and well typed, but cannot be run."""


def plan(root: Expression, names: Names, slots: Mapping[str, int], *, typed: bool) -> tuple[Step, int]:
    """The last step and how many slots a frame needs; variables of the environment have theirs already.

    Unless types can be relied upon, steps have none.
    """
    planner = _Planner(names, slots, typed=typed)
    return planner.plan(root), planner.slots


_CONVERSIONS = frozenset(
    {"bool", "bytes", "double", "duration", "dyn", "int", "string", "timestamp", "type", "uint"}
)
_WITH_PATTERN = frozenset({"matches", "find", "findAll"})
_KEYS = (str, int, Uint, bool, float)
_VARIADIC = frozenset({"string_format"})
"""Overloads of two arguments that the original calls as if they had any number."""


class _Planner:
    def __init__(self, names: Names, slots: Mapping[str, int], *, typed: bool) -> None:
        self._names = names
        self._typed = typed
        self._scopes: list[Mapping[str, int]] = [slots]
        self.slots = len(slots) + 1
        self._plans: dict[type[Expression], Callable[[Any], Step]] = {
            Literal: self._plan_literal,
            Identifier: self._plan_identifier,
            Select: self._plan_select,
            Call: self._plan_call,
            ListLiteral: self._plan_list,
            MapLiteral: self._plan_map,
            Comprehension: self._plan_comprehension,
        }

    def plan(self, node: Expression) -> Step:
        return self._plans[node.__class__](node)

    def _type(self, node: Expression) -> Type:
        return node.type if self._typed else DYN

    def _plan_literal(self, node: Literal) -> Step:
        return Constant(node.id, self._type(node), node.value)

    def _plan_identifier(self, node: Identifier) -> Step:
        if node.constant or node.type.name == "type":
            return self._constant(node, node.name)
        if (variable := self._variable(node, node.name)) is not None:
            return variable
        raise ProgramError(f"no such attribute(s): {node.name}")

    def _variable(self, node: Expression, name: str) -> Step | None:
        for scope in reversed(self._scopes):
            if name in scope:
                variable = steps.Variable(node.id, self._type(node), scope[name], name)
                return AttributeStep(node.id, self._type(node), variable)
        return None

    def _constant(self, node: Expression, name: str) -> Step:
        """Of the name of a type or of a constant. What has the type of a type has to be the name of one."""
        if name in self._names.constants:
            return Constant(node.id, self._type(node), self._names.constants[name][1])
        if name not in self._names.types:
            raise ProgramError(f"reference to undefined type: {name}")
        return Constant(node.id, self._type(node), self._names.types[name])

    def _attribute(self, operand: Step) -> AttributeStep:
        if isinstance(operand, AttributeStep):
            return operand
        return AttributeStep(operand.id, operand.type, steps.Relative(operand.id, operand.type, operand))

    def _plan_select(self, node: Select) -> Step:
        if node.constant:
            return self._variable(node, node.constant) or self._constant(node, node.constant)
        step = self._attribute(self.plan(node.operand))
        step.attribute.add(Qualifier(node.id, False, node.field, test_only=node.test_only))
        if node.test_only:
            return AttributeStep(node.id, self._type(node), step.attribute, test_only=True)
        step.id, step.type = node.id, self._type(node)
        return step

    # Calls

    def _plan_call(self, node: Call) -> Step:
        arguments = [self.plan(child) for child in node.children()]
        name = node.function
        if name in ("_&&_", "_||_"):
            return steps.Logic(node.id, self._type(node), name == "_||_", *arguments)
        if name == "_?_:_":
            return self._plan_conditional(node, arguments)
        if name in ("_==_", "_!=_"):
            return steps.Equality(node.id, self._type(node), name == "_!=_", *arguments)
        if name in ("_[_]", "_[?_]", "_?._"):
            return self._plan_index(node, *arguments, optional=name != "_[_]")
        if name == "@not_strictly_false":
            return steps.NotStrictlyFalse(node.id, self._type(node), *arguments)
        if name in ("or", "orValue") and len(arguments) == 2:
            return steps.Alternative(node.id, self._type(node), name == "orValue", *arguments)
        call = self._invocation(node, arguments)
        if node.overloads == ("in_list",):
            return self._membership(call)
        if name in _CONVERSIONS and isinstance(arguments[0], Constant):
            return self._converted(call, arguments[0])
        if name in _WITH_PATTERN and isinstance(pattern := arguments[1], Constant):
            self._compiled(call, pattern.value)
        return call

    def _plan_conditional(self, node: Call, arguments: list[Step]) -> Step:
        condition, *branches = arguments
        attributes = [
            branch.attribute
            if isinstance(branch, AttributeStep)
            else steps.Relative(branch.id, branch.type, branch)
            for branch in branches
        ]
        return AttributeStep(
            node.id, self._type(node), steps.Conditional(node.id, self._type(node), condition, *attributes)
        )

    def _plan_index(self, node: Call, operand: Step, index: Step, *, optional: bool) -> Step:
        step = self._attribute(operand)
        if isinstance(index, Constant):
            if not isinstance(index.value, _KEYS):
                raise ProgramError(f"invalid qualifier type: {original_name(index.value)}")
            qualifier = Qualifier(node.id, optional, index.value)
        elif isinstance(index, AttributeStep):
            qualifier = Qualifier(node.id, optional, index=index.attribute)
        else:
            computed = steps.Relative(node.id, index.type, index)
            qualifier = Qualifier(node.id, optional, index=computed, index_is_computed=True)
        step.attribute.add(qualifier)
        step.id, step.type = node.id, self._type(node)
        return step

    def _invocation(self, node: Call, arguments: list[Step]) -> steps.Invocation:
        function = self._names.functions[node.function]
        count = len(arguments)
        if len(node.overloads) == 1:
            overloads = [overload for overload in function.overloads if overload.id == node.overloads[0]]
            cost = overloads[0].actual_cost
            stops_early = count > 2 or overloads[0].id in _VARIADIC
        else:
            overloads = [overload for overload in function.overloads if len(overload.parameters) == count]
            cost = function.unresolved_cost
            stops_early = count > 2 or function.is_guarded
        call = overloads[0].call if not function.is_guarded else dispatcher(function, overloads)
        return steps.Invocation(
            node.id, self._type(node), node.function, arguments, overloads, call, cost, stops_early
        )

    def _converted(self, call: steps.Invocation, argument: Constant) -> Step:
        try:
            return Constant(call.id, call.type, call.call(argument.value))
        except EvaluationError as error:
            raise ProgramError(str(error)) from None

    def _compiled(self, call: steps.Invocation, pattern: Any) -> None:
        if isinstance(pattern, str):
            try:
                regular_expressions.compile(pattern)
            except ValueError as error:
                raise ProgramError(str(error)) from None
            call.stops_early = True

    def _membership(self, call: steps.Invocation) -> Step:
        argument, container = call.arguments
        if not isinstance(container, Constant):
            return call
        if not container.value:
            return Constant(call.id, call.type, False)
        identities = set()
        for element in container.value:
            if not isinstance(element, (bool, float, int, str)):
                return call
            identities.update(_equal_values(element))
        return steps.Membership(call.id, call.type, argument, frozenset(identities))

    # Literals and loops

    def _plan_list(self, node: ListLiteral) -> Step:
        elements = [self.plan(element) for element in node.elements]
        if not node.optional and all(isinstance(element, Constant) for element in elements):
            return Constant(node.id, self._type(node), tuple([element.value for element in elements]))  # type: ignore[attr-defined]
        return steps.ListStep(node.id, self._type(node), elements, node.optional)

    def _plan_map(self, node: MapLiteral) -> Step:
        entries = []
        pairs = []
        for entry in node.entries:
            key, value = self.plan(entry.key), self.plan(entry.value)
            entries.append((key, value, entry.optional))
            if isinstance(key, Constant) and isinstance(value, Constant) and not entry.optional:
                pairs.append((key.value, value.value))
        if len(pairs) < len(entries):
            return steps.MapStep(node.id, self._type(node), entries)
        try:
            return Constant(node.id, self._type(node), as_map(pairs))
        except EvaluationError as error:
            raise ProgramError(str(error)) from None

    def _plan_comprehension(self, node: Comprehension) -> Step:
        initial = self.plan(node.initial)
        over = self.plan(node.range)
        accumulator, first, second = self.slots, self.slots + 1, self.slots + 2
        self.slots += 3 if node.second_variable else 2
        self._scopes.append({node.accumulator: accumulator})
        self._scopes.append(
            {node.variable: first, **({node.second_variable: second} if node.second_variable else {})}
        )
        condition, step = self.plan(node.condition), self.plan(node.step)
        self._scopes.pop()
        result = self.plan(node.result)
        self._scopes.pop()
        return steps.Loop(
            node.id, self._type(node), over, first, second if node.second_variable else 0, accumulator,
            initial, condition, step, result,
        )  # fmt: skip


def _equal_values(element: Any) -> list[tuple[Any, Any]]:
    """The identities of all values that are equal to a constant, as exactly as types allow."""
    kind = element.__class__
    if kind is float:
        if isnan(element):
            return []
        found: list[tuple[Any, Any]] = [identity(element)]
        if element.is_integer():
            if -(2.0**63) < element < 2.0**63:
                found.append((int, int(element)))
            if 0 <= element < 2.0**64:
                found.append((Uint, int(element)))
        return found
    found = [identity(element)]
    if kind is int:
        found.append((float, float(element)))
        if element >= 0:
            found.append((Uint, element))
    elif kind is Uint:
        found.append((float, float(int(element))))
        if element <= MAX_INT:
            found.append((int, int(element)))
    return found
