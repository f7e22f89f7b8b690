"""Evaluation step by step, with everything counted as the original counts it.

Errors are values here, so that the rest of a call is still evaluated and counted after one of its arguments
failed. The original finds the values of arguments on a stack where each step leaves its result under its id;
a step whose arguments are not there any more costs nothing. This is the slow way, for expressions that meet
an error.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from moorage.cel.costs import CREATE_LIST, CREATE_MAP, SELECT
from moorage.cel.evaluation import steps
from moorage.cel.evaluation.equality import equality_cost
from moorage.cel.evaluation.lookup import ABSENT, look_up, unwrapped
from moorage.cel.evaluation.operators import equals
from moorage.cel.evaluation.overloads import overload_text
from moorage.cel.evaluation.steps import Attribute, AttributeStep, Qualifier, Step
from moorage.cel.evaluation.text import original_name, value_text
from moorage.cel.values import (
    MAX_UINT,
    NO_VALUE,
    AccumulatedList,
    EvaluationError,
    Failure,
    Fault,
    Map,
    Optional,
    as_map,
    identity,
)

LIMIT_EXCEEDED = "operation cancelled: actual cost limit exceeded"
UNSET: Any = type("Unset", (), {})()
"""In the slot of an accumulator that nobody has asked for yet."""


class Tracking:
    """One evaluation."""

    def __init__(self, frame: list[Any], limit: int) -> None:
        self._frame = frame
        self._limit = limit
        self._stack: list[tuple[int, Any]] = []
        self._places: defaultdict[int, list[int]] = defaultdict(list)  # in the stack, by id
        self._initial: dict[int, Step] = {}
        self.cost = 0
        self._ways: dict[type[Step], Callable[[Any], Any]] = {
            steps.Constant: self._constant,
            AttributeStep: self._attribute,
            steps.Logic: self._logic,
            steps.Equality: self._equality,
            steps.Invocation: self._invocation,
            steps.NotStrictlyFalse: self._not_strictly_false,
            steps.Membership: self._membership,
            steps.Alternative: self._alternative,
            steps.ListStep: self._list,
            steps.MapStep: self._map,
            steps.Loop: self._loop,
        }

    def evaluate(self, step: Step) -> Any:
        """The value, or a Failure. Raises Fault where the evaluation ends at once."""
        value = self._ways[step.__class__](step)
        stack = self._stack
        self._places[step.id].append(len(stack))
        stack.append((step.id, value))
        if self.cost > self._limit or self.cost < 0:
            self._end()
        return value

    # The stack

    def _push(self, id: int, value: Any) -> None:
        self._places[id].append(len(self._stack))
        self._stack.append((id, value))
        if self.cost > self._limit or self.cost < 0:
            self._end()

    def _end(self) -> NoReturn:
        self.cost &= MAX_UINT
        raise Fault(LIMIT_EXCEEDED)

    def _drop(self, *ids: int) -> None:
        """Removes the last result of each step, and all that came after it."""
        for wanted in ids:
            if places := self._places[wanted]:
                self._cut(places[-1])

    def _take(self, arguments: list[Step]) -> list[Any] | None:
        """The values of the arguments; None: one is not there."""
        values = []
        for argument in reversed(arguments):
            places = self._places[argument.id]
            if not places:
                return None
            values.append(self._stack[places[-1]][1])
            self._cut(places[-1])
        return values[::-1]

    def _cut(self, length: int) -> None:
        stack, places = self._stack, self._places
        while len(stack) > length:
            places[stack.pop()[0]].pop()

    # Steps

    def _constant(self, step: steps.Constant) -> Any:
        return step.value

    def _logic(self, step: steps.Logic) -> Any:
        failure: Failure | None = None
        decided = False
        for term in (step.left, step.right):
            value = self.evaluate(term)
            if value is step.deciding:
                decided = True
                break
            if value is not (not step.deciding) and failure is None:
                failure = value if isinstance(value, Failure) else Failure("no such overload")
        self._drop(step.left.id, step.right.id)
        if decided:
            return step.deciding
        return not step.deciding if failure is None else failure

    def _equality(self, step: steps.Equality) -> Any:
        left, right = self.evaluate(step.left), self.evaluate(step.right)
        result: Any
        if isinstance(left, Failure):
            result = left
        elif isinstance(right, Failure):
            result = right
        else:
            try:
                result = equals(left, right) is not step.negated
            except Fault:
                raise
            except EvaluationError as error:
                result = True if step.negated else Failure(str(error))
        values = self._take([step.left, step.right])
        if values is not None:
            self.cost += equality_cost(*values, negated=step.negated)
        return result

    def _invocation(self, step: steps.Invocation) -> Any:
        values: list[Any] = []
        failure: Failure | None = None
        for argument in step.arguments:
            values.append(self.evaluate(argument))
            if failure is None and isinstance(values[-1], Failure):
                failure = values[-1]
                if step.stops_early:
                    break
        result: Any = failure
        if failure is None:
            try:
                result = step.call(*values)
            except Fault:
                raise
            except EvaluationError as error:
                text = str(error)
                if text == "no such overload" and not step.stops_early:
                    text = overload_text(step.function, values[0])
                result = Failure(text)
        taken = self._take(step.arguments)
        if taken is not None:
            try:
                self.cost += 1 if step.actual_cost is None else step.actual_cost(taken, result)
            except TypeError as error:
                raise Fault(f"internal error: {error}") from None
        return result

    def _not_strictly_false(self, step: steps.NotStrictlyFalse) -> Any:
        value = self.evaluate(step.argument)
        if self._take([step.argument]) is not None:
            self.cost += 1
        return value is not False

    def _membership(self, step: steps.Membership) -> Any:
        value = self.evaluate(step.argument)
        return value if isinstance(value, Failure) else identity(value) in step.identities

    def _alternative(self, step: steps.Alternative) -> Any:
        left = self.evaluate(step.left)
        if not isinstance(left, Optional):
            return left
        if left.has_value:
            return left.value if step.unwraps else left
        return self.evaluate(step.right)

    def _list(self, step: steps.ListStep) -> Any:
        result = self._listed(step)
        self._take(step.elements)
        self.cost += CREATE_LIST
        return result

    def _listed(self, step: steps.ListStep) -> Any:
        values = []
        for index, element in enumerate(step.elements):
            value = self.evaluate(element)
            if isinstance(value, Failure):
                return value
            if index in step.optional:
                if not isinstance(value, Optional):
                    return Failure(
                        f"cannot initialize optional list element from non-optional value {value_text(value)}"
                    )
                if not value.has_value:
                    continue
                value = value.value
            values.append(value)
        return tuple(values)

    def _map(self, step: steps.MapStep) -> Any:
        result = self._mapped(step)
        self._take([part for key, value, _ in step.entries for part in (key, value)])
        self.cost += CREATE_MAP
        return result

    def _mapped(self, step: steps.MapStep) -> Any:
        entries = Map()
        for key_step, value_step, optional in step.entries:
            key = self.evaluate(key_step)
            if isinstance(key, Failure):
                return key
            value = self.evaluate(value_step)
            if isinstance(value, Failure):
                return value
            if optional:
                if not isinstance(value, Optional):
                    shown = f"'{value_text(key)}' from non-optional value {value_text(value)}"
                    return Failure(f"cannot initialize optional entry {shown}")
                if not value.has_value:
                    entries.discard(key)
                    continue
                value = value.value
            entries.put(key, value)
        return as_map(list(entries.items()))

    def _loop(self, step: steps.Loop) -> Any:
        self._initial[step.accumulator_slot] = step.initial
        self._frame[step.accumulator_slot] = UNSET
        over = self.evaluate(step.range)
        result = over
        if not isinstance(over, Failure):
            if not isinstance(over, (tuple, list, Mapping)):
                result = Failure(f"got '{original_name(over)}', expected iterable type")
            else:
                self._iterate(step, over)
                result = self.evaluate(step.result)
                if result.__class__ is AccumulatedList:
                    result = tuple(result)
        self._drop(step.range.id)
        return result

    def _iterate(self, step: steps.Loop, over: Any) -> None:
        frame = self._frame
        is_map = isinstance(over, Mapping)
        for index, element in enumerate(list(over)):
            frame[step.slot] = index if step.second_slot and not is_map else element
            if step.second_slot:
                frame[step.second_slot] = over[element] if is_map else element
            if self.evaluate(step.condition) is False:
                return
            frame[step.accumulator_slot] = self.evaluate(step.step)

    # Attributes

    def _attribute(self, step: AttributeStep) -> Any:
        attribute = step.attribute
        value = self._resolve(attribute)
        if step.test_only and isinstance(value, Optional):
            value = value.has_value
        if isinstance(attribute, steps.Conditional):
            self._drop(attribute.falsy.id, attribute.truthy.id, attribute.condition.id)
        else:
            self._drop(attribute.id)
            self.cost += SELECT
        if step.test_only:
            self.cost -= SELECT
        return value

    def _resolve(self, attribute: Attribute) -> Any:
        if isinstance(attribute, steps.Conditional):
            chosen = self.evaluate(attribute.condition)
            if chosen is True or chosen is False:
                return self._resolve(attribute.truthy if chosen else attribute.falsy)
            return chosen if isinstance(chosen, Failure) else Failure("no such overload")
        if isinstance(attribute, steps.Variable):
            value = self._variable(attribute.slot)
        else:
            assert isinstance(attribute, steps.Relative)
            value = self.evaluate(attribute.operand)
        return value if isinstance(value, Failure) else self._qualified(value, attribute.qualifiers)

    def _variable(self, slot: int) -> Any:
        if self._frame[slot] is UNSET:
            value = self.evaluate(self._initial[slot])
            self._frame[slot] = accumulated(value)
        return self._frame[slot]

    def _qualified(self, value: Any, qualifiers: list[Qualifier]) -> Any:
        optional = isinstance(value, Optional)
        if optional:
            if not value.has_value:
                return value
            value = unwrapped(value)
            if not qualifiers:
                return Optional(value)
        for qualifier in qualifiers:
            optional = optional or qualifier.optional
            value = self._look_up(value, qualifier, if_present=optional)
            if isinstance(value, Failure):
                return value
            if value is ABSENT:
                return NO_VALUE
        return Optional(value) if optional else value

    def _look_up(self, value: Any, qualifier: Qualifier, *, if_present: bool) -> Any:
        """What is selected; ABSENT where that is allowed."""
        key = qualifier.key
        if qualifier.index is not None:
            key = self._resolve(qualifier.index)
        found = key if isinstance(key, Failure) else look_up(value, key, if_present or qualifier.test_only)
        if isinstance(found, Failure) or (found is ABSENT and if_present):
            if if_present:
                return found
        elif qualifier.test_only and not if_present:
            found = found is not ABSENT
        if qualifier.index_is_computed and qualifier.index is not None:
            self._drop(qualifier.index.id)
        self.cost += SELECT
        self._push(qualifier.id, found)
        return found


def accumulated(value: Any) -> Any:
    """The initial value of an accumulator: what is empty will be filled in place."""
    if isinstance(value, (tuple, list)) and not value:
        return AccumulatedList()
    if isinstance(value, Mapping) and not value:
        return Map()
    return value
