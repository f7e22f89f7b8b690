"""The fast way of evaluating: steps become Python functions, each of a frame.

A frame is a list: first the cost so far, then variables. What a step costs whenever it is taken is known
beforehand and counted once for the whole expression; a function adds to the frame what depends on values.
Whatever goes wrong raises, and then the evaluation is done again by `tracking`, which knows what errors do
to costs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from moorage.cel import types
from moorage.cel.costs import CREATE_LIST, CREATE_MAP, SELECT
from moorage.cel.evaluation import steps
from moorage.cel.evaluation.calls import Code, Frame, Run, constant, equality, invocation
from moorage.cel.evaluation.lookup import ABSENT, look_up, unwrapped
from moorage.cel.evaluation.steps import Attribute, AttributeStep, Qualifier, Step
from moorage.cel.evaluation.tracking import UNSET, accumulated
from moorage.cel.types import Type
from moorage.cel.values import (
    NO_VALUE,
    AccumulatedList,
    DeclaredList,
    EvaluationError,
    Failure,
    Map,
    Optional,
    as_map,
    identity,
)


class Unusual(Exception):
    """Something the fast way does not do."""


class LimitReached(Exception):
    """The evaluation costs more than it may, whatever is counted too early here."""


def compile_steps(root: Step, limit: int) -> Code:
    compiler = _Compiler()
    code = compiler.code(root)
    compiler.set_limit(limit)
    return code


class _Compiler:
    def __init__(self) -> None:
        self._fixed_costs = 0
        self._bound = [0]  # where loops end
        self._lazy: dict[int, Code] = {}  # accumulators that get their value when they are asked for
        self._ways: dict[type[Step], Callable[[Any], Code]] = {
            steps.Constant: self._constant,
            AttributeStep: self._attribute_step,
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

    def code(self, step: Step) -> Code:
        code = self._ways[step.__class__](step)
        self._fixed_costs += code.cost
        return code

    def set_limit(self, limit: int) -> None:
        """Loops may count what follows them already, but no more than all fixed costs."""
        self._bound[0] = limit + self._fixed_costs

    def _constant(self, step: steps.Constant) -> Code:
        return constant(step.value, 0)

    # Calls

    def _logic(self, step: steps.Logic) -> Code:
        left, right = self.code(step.left), self.code(step.right)
        proven = step.left.type == step.right.type == types.BOOL
        return Code(_logic_run(left.run, right.run, right.cost, step.deciding, proven), left.cost)

    def _equality(self, step: steps.Equality) -> Code:
        return equality(step, self.code(step.left), self.code(step.right))

    def _invocation(self, step: steps.Invocation) -> Code:
        return invocation(step, [self.code(argument) for argument in step.arguments])

    def _not_strictly_false(self, step: steps.NotStrictlyFalse) -> Code:
        argument, cost, _ = self.code(step.argument)
        return Code(lambda frame: argument(frame) is not False, cost + 1)

    def _membership(self, step: steps.Membership) -> Code:
        argument, cost, _ = self.code(step.argument)
        identities = step.identities
        strings = frozenset([value for kind, value in identities if kind is str])

        def run(frame: Frame) -> Any:
            value = argument(frame)
            return value in strings if value.__class__ is str else identity(value) in identities

        return Code(run, cost)

    def _alternative(self, step: steps.Alternative) -> Code:
        left, right = self.code(step.left), self.code(step.right)
        first, second, unwraps, right_cost = left.run, right.run, step.unwraps, right.cost

        def run(frame: Frame) -> Any:
            value = first(frame)
            if value.__class__ is not Optional:
                return value
            if value.has_value:
                return value.value if unwraps else value
            frame[0] += right_cost
            return second(frame)

        return Code(run, left.cost)

    # Literals

    def _list(self, step: steps.ListStep) -> Code:
        elements = [self.code(element) for element in step.elements]
        runs = [element.run for element in elements]
        cost = CREATE_LIST + sum([element.cost for element in elements])
        optional = step.optional
        if not optional:
            if len(runs) == 1:
                (single,) = runs
                return Code(lambda frame: (single(frame),), cost)
            return Code(lambda frame: tuple([run(frame) for run in runs]), cost)

        def run(frame: Frame) -> Any:
            values = []
            for index, element in enumerate(runs):
                value = element(frame)
                if index in optional:
                    if not value.has_value:
                        continue
                    value = value.value
                values.append(value)
            return tuple(values)

        return Code(run, cost)

    def _map(self, step: steps.MapStep) -> Code:
        entries = [(self.code(key), self.code(value), optional) for key, value, optional in step.entries]
        runs = [(key.run, value.run, optional) for key, value, optional in entries]

        def run(frame: Frame) -> Any:
            built = Map()
            for key_run, value_run, optional in runs:
                key, value = key_run(frame), value_run(frame)
                if optional:
                    if not value.has_value:
                        built.discard(key)
                        continue
                    value = value.value
                built.put(key, value)
            return as_map(list(built.items()))

        return Code(run, CREATE_MAP + sum([key.cost + value.cost for key, value, _ in entries]))

    # Loops

    def _loop(self, step: steps.Loop) -> Code:
        initial = self.code(step.initial)
        self._lazy[step.accumulator_slot] = initial
        if isinstance(step.range, steps.Constant) and step.range.value == ():
            return self._binding(step)
        over, condition, body = self.code(step.range), self.code(step.condition), self.code(step.step)
        result = self.code(step.result)
        slot, second, accumulator = step.slot, step.second_slot, step.accumulator_slot
        bound = self._bound
        over_run, condition_run, condition_cost = over.run, condition.run, condition.cost
        body_run, body_cost, result_run = body.run, body.cost, result.run

        def run(frame: Frame) -> Any:
            frame[accumulator] = UNSET
            values = over_run(frame)
            is_list = isinstance(values, (tuple, list))
            if not is_list and not isinstance(values, Mapping):
                raise Unusual
            if isinstance(values, DeclaredList) and values.has_failures:
                raise Unusual
            pairs = values.items() if second and not is_list else enumerate(values)
            for first, value in pairs:
                if second:
                    frame[slot], frame[second] = first, value
                else:
                    frame[slot] = value
                frame[0] += condition_cost
                if frame[0] > bound[0]:
                    raise LimitReached
                if condition_run(frame) is False:
                    break
                frame[0] += body_cost
                frame[accumulator] = body_run(frame)
            built = result_run(frame)
            return tuple(built) if built.__class__ is AccumulatedList else built

        return Code(run, over.cost + result.cost)

    def _binding(self, step: steps.Loop) -> Code:
        accumulator, result = step.accumulator_slot, self.code(step.result)
        result_run = result.run

        def run(frame: Frame) -> Any:
            frame[accumulator] = UNSET
            built = result_run(frame)
            return tuple(built) if built.__class__ is AccumulatedList else built

        return Code(run, result.cost)

    # Attributes

    def _attribute_step(self, step: AttributeStep) -> Code:
        run, cost, _ = self._resolve(step.attribute)
        if not isinstance(step.attribute, steps.Conditional):
            cost += SELECT
        if not step.test_only:
            return Code(run, cost)

        def test(frame: Frame) -> Any:
            value = run(frame)
            return value.has_value if value.__class__ is Optional else value

        return Code(test, cost - SELECT)

    def _resolve(self, attribute: Attribute) -> Code:
        """Without the cost of the variable itself: where an attribute is an index, that is free."""
        if isinstance(attribute, steps.Conditional):
            return self._conditional(attribute)
        if isinstance(attribute, steps.Variable):
            base = Code(self._variable(attribute.slot), 0)
        else:
            assert isinstance(attribute, steps.Relative)
            base = self.code(attribute.operand)
        qualifiers = attribute.qualifiers
        if _may_be_optional(attribute.base) or any(qualifier.optional for qualifier in qualifiers):
            return self._optional_chain(base, qualifiers)
        names = []
        for qualifier in qualifiers:
            if qualifier.index is not None or qualifier.key.__class__ is not str or qualifier.test_only:
                break
            names.append(qualifier.key)
        run, cost = _selection(base.run, names), base.cost + len(names)
        for qualifier in qualifiers[len(names) :]:
            look, look_cost = self._look_up(qualifier)
            run, cost = _looking_up(run, look, qualifier.test_only), cost + look_cost + SELECT
        return Code(run, cost)

    def _variable(self, slot: int) -> Run:
        if slot not in self._lazy:
            return lambda frame: frame[slot]
        initial, cost, _ = self._lazy[slot]

        def run(frame: Frame) -> Any:
            value = frame[slot]
            if value is UNSET:
                frame[0] += cost
                value = frame[slot] = accumulated(initial(frame))
            return value

        return run

    def _conditional(self, attribute: steps.Conditional) -> Code:
        condition, truthy, falsy = (
            self.code(attribute.condition),
            self._resolve(attribute.truthy),
            self._resolve(attribute.falsy),
        )
        choose = condition.run
        one, other = _plain(truthy.run, attribute.truthy), _plain(falsy.run, attribute.falsy)
        one_cost, other_cost = truthy.cost, falsy.cost

        def run(frame: Frame) -> Any:
            chosen = choose(frame)
            if chosen is True:
                frame[0] += one_cost
                return one(frame)
            if chosen is False:
                frame[0] += other_cost
                return other(frame)
            raise Unusual

        return Code(run, condition.cost)

    def _look_up(self, qualifier: Qualifier) -> tuple[Callable[[Frame, Any, bool], Any], int]:
        """Of a frame, a value, and whether nothing may be there."""
        if qualifier.index is None:
            key = qualifier.key
            return lambda frame, value, if_present: look_up(value, key, if_present), 0
        index, cost, _ = self._resolve(qualifier.index)
        return lambda frame, value, if_present: look_up(value, index(frame), if_present), cost

    def _optional_chain(self, base: Code, qualifiers: list[Qualifier]) -> Code:
        start = base.run
        links = [(*self._look_up(qualifier), qualifier) for qualifier in qualifiers]

        def run(frame: Frame) -> Any:
            value = start(frame)
            optional = value.__class__ is Optional
            if optional:
                if not value.has_value:
                    return value
                value = unwrapped(value)
            for look, cost, qualifier in links:
                optional = optional or qualifier.optional
                frame[0] += cost
                value = look(frame, value, optional or qualifier.test_only)
                if value.__class__ is Failure:
                    raise Unusual
                if value is ABSENT and optional:
                    return NO_VALUE
                if qualifier.test_only and not optional:
                    value = value is not ABSENT
                frame[0] += SELECT
            if value.__class__ is Failure:
                raise Unusual
            return Optional(value) if optional else value

        return Code(run, base.cost)


def _may_be_optional(type_: Type) -> bool:
    return type_.name == "optional_type" or type_ in (types.DYN, types.ANY)


def _plain(run: Run, branch: Attribute) -> Run:
    """`has()` of something optional gives an optional value when it is a branch of a condition."""
    if not branch.qualifiers or not branch.qualifiers[-1].test_only:
        return run

    def test(frame: Frame) -> Any:
        value = run(frame)
        if value.__class__ is bool:
            return value
        raise Unusual

    return test


def _logic_run(left: Run, right: Run, right_cost: int, deciding: bool, proven: bool) -> Run:
    def conjunction(frame: Frame) -> Any:
        if not left(frame):
            return False
        frame[0] += right_cost
        return right(frame)

    def disjunction(frame: Frame) -> Any:
        if left(frame):
            return True
        frame[0] += right_cost
        return right(frame)

    def of_any_types(frame: Frame) -> Any:
        value = left(frame)
        if value is deciding:
            return value
        if value is not (not deciding):
            raise Unusual
        frame[0] += right_cost
        value = right(frame)
        if value is True or value is False:
            return value
        raise Unusual

    if not proven:
        return of_any_types
    return disjunction if deciding else conjunction


def _selection(base: Run, names: list[str]) -> Run:
    """Entries of maps within maps; anything else than a map raises."""
    if not names:
        return base
    if len(names) == 1:
        (only,) = names
        return lambda frame: base(frame)[only]
    if len(names) == 2:
        first, second = names
        return lambda frame: base(frame)[first][second]
    if len(names) == 3:
        first, second, third = names
        return lambda frame: base(frame)[first][second][third]

    def run(frame: Frame) -> Any:
        value = base(frame)
        for name in names:
            value = value[name]
        return value

    return run


def _looking_up(base: Run, look: Callable[[Frame, Any, bool], Any], test_only: bool) -> Run:
    def value_of(frame: Frame) -> Any:
        found = look(frame, base(frame), False)
        if found.__class__ is Failure:
            raise EvaluationError(found.message)
        return found

    def presence(frame: Frame) -> Any:
        found = look(frame, base(frame), True)
        if found.__class__ is Failure:
            raise EvaluationError(found.message)
        return found is not ABSENT

    return presence if test_only else value_of
