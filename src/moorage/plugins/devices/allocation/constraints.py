"""Constraints of a claim: devices that must agree, or differ, in an attribute."""

from __future__ import annotations

from moorage.api.devices import DeviceConstraint
from moorage.plugins.devices.allocation.candidates import Candidate, Value, value_of


class MatchAttribute:
    """All devices have the attribute, and with the same value."""

    def __init__(self, attribute: str) -> None:
        self._attribute = attribute
        self._value: Value = None
        self._count = 0

    def allows(self, candidate: Candidate) -> bool:
        """Whether a device could be added, without adding it."""
        attribute = candidate.attribute(self._attribute)
        if attribute is None:
            return False
        if not self._count:
            return True
        value = value_of(attribute)
        return value is not None and value == self._value

    def add(self, request: str, candidate: Candidate) -> bool:
        if not self.allows(candidate):
            return False
        if not self._count:
            attribute = candidate.attribute(self._attribute)
            self._value = None if attribute is None else value_of(attribute)
        self._count += 1
        return True

    def remove(self, request: str) -> None:
        self._count -= 1


class DistinctAttribute:
    """All devices have the attribute, and with different values.

    As in kube-scheduler, one value is remembered per request, that of its last device, and forgotten when a
    device of the request is taken back: of a request for several devices not all are compared.
    """

    def __init__(self, attribute: str) -> None:
        self._attribute = attribute
        self._values: dict[str, Value] = {}
        self._count = 0

    def add(self, request: str, candidate: Candidate) -> bool:
        attribute = candidate.attribute(self._attribute)
        if attribute is None:
            return False
        value = value_of(attribute)
        if self._count and self._values and (value is None or value in self._values.values()):
            return False
        self._values[request] = value
        self._count += 1
        return True

    def remove(self, request: str) -> None:
        self._values.pop(request, None)
        self._count -= 1


def constraint(described: DeviceConstraint) -> MatchAttribute | DistinctAttribute | None:
    """A constraint that no device was added to; None for one of an unknown type."""
    if described.match_attribute is not None:
        return MatchAttribute(described.match_attribute)
    if described.distinct_attribute is not None:
        return DistinctAttribute(described.distinct_attribute)
    return None
