"""Capacities of devices, and how much of them a request takes.

Amounts count nanos. What was written is kept beside the number, since a result repeats it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, TypeAlias

from moorage.api.devices import CapacityRequestPolicy, DeviceCapacity
from moorage.api.meta import Quantity
from moorage.api.quantities import NANOS, parse, value
from moorage.api.quantity_texts import binary_text


class Amount(NamedTuple):
    nanos: int
    written: Quantity


Consumption: TypeAlias = dict[str, Amount]
"""What a device gives of each of its capacities, by name."""


class Policy(NamedTuple):
    """What may be asked of a capacity."""

    default: Amount | None
    values: tuple[Amount, ...]
    is_range: bool
    least: Amount | None
    most: int | None
    step: int
    """In whole units; 0 for none."""


class Capacity(NamedTuple):
    name: str
    amount: Amount
    policy: Policy | None


def read_amount(quantity: Quantity) -> Amount:
    return Amount(parse(quantity), quantity)


def read_capacities(capacities: Mapping[str, DeviceCapacity]) -> tuple[Capacity, ...]:
    return tuple(
        Capacity(name, read_amount(each.value), _policy(each.request_policy))
        for name, each in capacities.items()
    )


def _policy(policy: CapacityRequestPolicy | None) -> Policy | None:
    if policy is None:
        return None
    limits = policy.valid_range
    return Policy(
        default=None if policy.default is None else read_amount(policy.default),
        values=tuple(read_amount(each) for each in policy.valid_values),
        is_range=limits is not None,
        least=None if limits is None or limits.min is None else read_amount(limits.min),
        most=None if limits is None or limits.max is None else parse(limits.max),
        step=0 if limits is None or limits.step is None else value(parse(limits.step)),
    )


def consumption(capacities: tuple[Capacity, ...], asked: Mapping[str, Amount]) -> Consumption | None:
    """What a device with these capacities gives to a request; None if it cannot be had like that."""
    taken: Consumption = {}
    for capacity in capacities:
        amount = _rounded(asked.get(capacity.name), capacity)
        if capacity.policy is not None and _violates(amount.nanos, capacity.policy):
            return None
        taken[capacity.name] = amount
    return taken if asked.keys() <= taken.keys() else None


def fits(
    taken: Consumption,
    capacities: tuple[Capacity, ...],
    consumed: Mapping[str, int] | None,
    taking: Mapping[str, int] | None,
) -> bool:
    """Whether there is room for it beside what others have consumed and what this search takes."""
    for name, amount, _ in capacities:
        total = taken[name].nanos
        if consumed:
            total += consumed.get(name, 0)
        if taking:
            total += taking.get(name, 0)
        if total > amount.nanos:
            return False
    return True


def _rounded(asked: Amount | None, capacity: Capacity) -> Amount:
    policy = capacity.policy
    if asked is None:
        return capacity.amount if policy is None or policy.default is None else policy.default
    if policy is None:
        return asked
    if policy.least is not None:
        return _up_to_step(asked, policy.least, policy.step)
    return next((each for each in policy.values if asked.nanos <= each.nanos), asked)


def _up_to_step(asked: Amount, least: Amount, step: int) -> Amount:
    if asked.nanos < least.nanos:
        return least
    if not step:
        return asked
    start = value(least.nanos)
    nanos = (start - (start - value(asked.nanos)) // step * step) * NANOS
    return Amount(nanos, binary_text(nanos))


def _violates(nanos: int, policy: Policy) -> bool:
    if policy.default is not None and nanos == policy.default.nanos:
        return False
    if policy.is_range:
        if policy.most is not None and nanos > policy.most:
            return True
        start = 0 if policy.least is None else value(policy.least.nanos)
        return bool(policy.step) and (value(nanos) - start) % policy.step != 0
    return bool(policy.values) and all(nanos != each.nanos for each in policy.values)
