"""From the text of an expression to a program."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from copy import copy
from dataclasses import replace
from typing import Any, NamedTuple

from moorage.api.recursion import room_for
from moorage.cel.checking.checker import Names, check
from moorage.cel.checking.estimation import SizeOf, estimate
from moorage.cel.checking.validators import validate
from moorage.cel.declarations import Function, Library, Overload
from moorage.cel.evaluation.compiler import LimitReached, compile_steps
from moorage.cel.evaluation.planner import plan
from moorage.cel.evaluation.steps import Step
from moorage.cel.evaluation.tracking import LIMIT_EXCEEDED, Tracking
from moorage.cel.libraries import converting, optionals, standard, times
from moorage.cel.syntax import parser
from moorage.cel.syntax.macros import MACROS, Macro
from moorage.cel.syntax.source import CompileError, Source
from moorage.cel.syntax.tree import Expression, Identifier, depth, walk
from moorage.cel.types import Type
from moorage.cel.values import MAX_UINT, EvaluationError, Failure

MAX_CODE_POINTS = 100_000
_SURROGATES = re.compile("[\ud800-\udfff]")
_SHALLOW = 40
"""Levels that need no more room than every program has."""
_CALLS_PER_LEVEL = 12
_LANGUAGE = (standard.LIBRARY, converting.LIBRARY, times.LIBRARY, optionals.LIBRARY)


class Evaluation(NamedTuple):
    value: Any
    """Or a Failure."""
    cost: int


class Program:
    """An expression that can be evaluated any number of times."""

    def __init__(
        self,
        steps: Step,
        *,
        slots: int,
        variables: tuple[str, ...],
        limit: int,
        levels: int,
        result_type: Type,
        max_cost: int,
        names: frozenset[str] = frozenset(),
    ) -> None:
        self._steps = steps
        self._variables = variables
        self._padding = [None] * (slots - len(variables) - 1)
        self._limit = limit
        self._levels = levels
        self._run, self._fixed_cost, _ = compile_steps(steps, limit)
        self._most = limit - self._fixed_cost
        self.result_type = result_type
        self.max_cost = max_cost
        """At most so much can an evaluation cost, by what is known of the sizes of variables."""
        self.names = names
        """What it refers to by name, variables among them."""

    def evaluate(self, bindings: Mapping[str, Any]) -> Evaluation:
        """The value and what it cost; raises EvaluationError."""
        result = self.outcome(*[bindings[name] for name in self._variables])
        if isinstance(result.value, Failure):
            raise EvaluationError(result.value.message)
        return result

    def outcome(self, *values: Any) -> Evaluation:
        """Of the variables in their order; an error is a value here, a Failure."""
        if self._levels > _SHALLOW:
            with room_for(self._levels * _CALLS_PER_LEVEL):
                return self._outcome(*values)
        return self._outcome(*values)

    def value(self, *values: Any) -> Any:
        """As `outcome`, without the cost."""
        if self._levels > _SHALLOW:
            return self.outcome(*values).value
        frame = [0, *values, *self._padding]
        try:
            value = self._run(frame)
        except LimitReached:
            return Failure(LIMIT_EXCEEDED)
        except Exception:
            return self.exact_outcome(*values).value
        return value if frame[0] <= self._most else self.exact_outcome(*values).value

    def _outcome(self, *values: Any) -> Evaluation:
        frame = [0, *values, *self._padding]
        try:
            value = self._run(frame)
        except Exception:  # whatever it is, the slow way knows what to make of it
            return self.exact_outcome(*values)
        cost = self._fixed_cost + frame[0]
        return Evaluation(value, cost) if cost <= self._limit else self.exact_outcome(*values)

    def exact_outcome(self, *values: Any) -> Evaluation:
        """The slow way, which knows what errors cost."""
        tracking = Tracking([0, *values, *self._padding], self._limit)
        try:
            value = tracking.evaluate(self._steps)
        except EvaluationError as error:
            value = Failure(str(error))
        except Exception as error:  # no expression stops the scheduler
            value = Failure(f"internal error: {error}")
        return Evaluation(value, tracking.cost)


class ResultTypeError(CompileError):
    """An expression is well formed, but it is not one of what was asked for."""


class Environment:
    """What expressions may use: libraries, variables with their types, and limits."""

    def __init__(
        self,
        libraries: Iterable[Library],
        variables: Mapping[str, Type],
        *,
        objects: Mapping[str, Mapping[str, Type]] | None = None,
        size_of: SizeOf = lambda path: None,
        cost_limit: int = MAX_UINT,
        result_types: tuple[Type, ...] = (),
        macros: Mapping[tuple[str, int, bool], Macro] = MACROS,
    ) -> None:
        """Objects are types with fields; `size_of` tells the largest sizes of what variables hold; no result
        types: all of them."""
        libraries = (*_LANGUAGE, *libraries)
        self._names = Names(
            functions=_merged(libraries),
            variables=variables,
            objects=objects or {},
            types=standard.TYPES,
            constants={
                name: (type_, value) for library in libraries for name, type_, value in library.constants
            },
        )
        self._slots = {name: index for index, name in enumerate(variables, 1)}
        self._size_of = size_of
        self._cost_limit = cost_limit
        self._result_types = result_types
        self._macros = macros

    def extended(
        self,
        variables: Mapping[str, Type],
        *,
        objects: Mapping[str, Mapping[str, Type]],
        size_of: SizeOf,
        result_types: tuple[Type, ...],
    ) -> Environment:
        """One with the same libraries and limit, but for other variables and results."""
        found = copy(self)
        found._names = replace(self._names, variables=variables, objects=objects)
        found._slots = {name: index for index, name in enumerate(variables, 1)}
        found._size_of = size_of
        found._result_types = result_types
        return found

    def compile(self, expression: str) -> Program:
        """Raises CompileError."""
        source = Source(_SURROGATES.sub("\ufffd", expression))
        if len(expression) > MAX_CODE_POINTS:
            message = (
                f"expression code point size exceeds limit: size: {len(expression)}, limit {MAX_CODE_POINTS}"
            )
            raise source.error([source.issue(-1, message)])
        with room_for(parser.MAX_NESTING * _CALLS_PER_LEVEL):
            root, _ = parser.parse(source, self._macros)
        levels = depth(root)
        with room_for(levels * _CALLS_PER_LEVEL):
            typed = check(root, source, self._names) and not self._has_optional_variables()
            validate(root, source, self._names.functions)
            if self._result_types and root.type not in self._result_types:
                raise ResultTypeError(str(root.type))
            steps, slots = plan(root, self._names, self._slots, typed=typed)
            return Program(
                steps,
                slots=slots,
                variables=tuple(self._slots),
                limit=self._cost_limit,
                levels=levels,
                result_type=root.type,
                max_cost=estimate(root, self._names.functions, self._size_of).max,
                names=_names_in(root),
            )

    def _has_optional_variables(self) -> bool:
        """What is taken out of one may not have the type that it is declared to have."""
        return any(type_.name == "optional_type" for type_ in self._names.variables.values())


def _names_in(root: Expression) -> frozenset[str]:
    return frozenset([node.name for node in walk(root) if isinstance(node, Identifier)])


def _merged(libraries: Iterable[Library]) -> dict[str, Function]:
    """Functions of one name have all their overloads together."""
    merged: dict[str, Function] = {}
    for library in libraries:
        for function in library.functions:
            before = merged.get(function.name)
            merged[function.name] = function if before is None else _joined(before, function)
    return merged


def _joined(one: Function, other: Function) -> Function:
    overloads: dict[str, Overload] = {
        overload.id: overload for overload in (*one.overloads, *other.overloads)
    }
    return Function(
        one.name,
        tuple(overloads.values()),
        one.unresolved_cost or other.unresolved_cost,
        one.is_guarded and other.is_guarded,
        one.allows_mixed_literals or other.allows_mixed_literals,
    )
