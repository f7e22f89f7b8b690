"""Devices as the search looks at them: read from their slice once, for all nodes and pods."""

from __future__ import annotations

from typing import TypeAlias

from moorage.api.devices import Device, DeviceAttribute, ResourceSliceSpec
from moorage.api.quantities import parse
from moorage.api.selectors import NodeSelector
from moorage.api.taints import NO_EXECUTE, NO_SCHEDULE
from moorage.plugins.devices.allocation.capacity import read_capacities

PoolId: TypeAlias = tuple[str, str]
"""Driver and pool."""
DeviceId: TypeAlias = tuple[str, str, str]
"""Driver, pool and device."""
CounterKey: TypeAlias = tuple[str, str]
"""Counter set and counter."""
Value: TypeAlias = tuple[str, object] | None
"""The type of an attribute and what it says; None for types that cannot be compared."""


class Candidate:
    """A device of a slice. It is what it is: a changed slice has new ones."""

    __slots__ = (
        "capacities",
        "consumes",
        "device",
        "driver",
        "has_policies",
        "id",
        "is_tied",
        "node_selector",
        "per_device",
        "pool",
        "shared",
        "taints",
        "verdicts",
    )

    def __init__(self, spec: ResourceSliceSpec, device: Device) -> None:
        self.device = device
        self.driver = spec.driver
        self.pool: PoolId = (spec.driver, spec.pool.name)
        self.id: DeviceId = (spec.driver, spec.pool.name, device.name)
        self.shared = device.allow_multiple_allocations
        self.taints = tuple(taint for taint in device.taints if taint.effect in (NO_SCHEDULE, NO_EXECUTE))
        """Those that keep requests away which do not tolerate them."""
        self.capacities = read_capacities(device.capacity)
        self.has_policies = any(capacity.policy is not None for capacity in self.capacities)
        self.consumes: tuple[tuple[CounterKey, int], ...] = tuple(
            ((drawn.counter_set, name), parse(counter.value))
            for drawn in device.consumes_counters
            for name, counter in drawn.counters.items()
        )
        self.per_device = spec.per_device_node_selection
        place = device if self.per_device else spec
        self.is_tied = place.node_name is not None or device.binds_to_node
        """Whether a claim with this device can only be used on the node it was allocated for."""
        self.node_selector: NodeSelector | None = place.node_selector
        self.verdicts: dict[str, bool | str] = {}
        """What selectors said about it, by expression; a text is the error they ended with."""

    def attribute(self, name: str) -> DeviceAttribute | None:
        """By its full name; one without a domain is of the driver's."""
        attributes = self.device.attributes
        found = attributes.get(name)
        if found is None:
            domain, slash, bare = name.partition("/")
            if slash and domain == self.driver:
                found = attributes.get(bare)
        return found


def value_of(attribute: DeviceAttribute) -> Value:
    """For comparing: an int and a text never are equal."""
    if attribute.string_value is not None:
        return "string", attribute.string_value
    if attribute.int_value is not None:
        return "int", attribute.int_value
    if attribute.bool_value is not None:
        return "bool", attribute.bool_value
    if attribute.version_value is not None:
        return "version", attribute.version_value
    return None
