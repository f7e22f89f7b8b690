"""How many devices of a class nodes have, and how many are in use: for scores by extended resources."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from msgspec.structs import replace

from moorage.api.devices import Device, DeviceClass
from moorage.api.nodes import Node
from moorage.config.args import ResourceSpec
from moorage.framework.handle import Handle
from moorage.plugins.devices.allocation.failures import AllocationFailed
from moorage.plugins.devices.allocation.selecting import SelectorError
from moorage.plugins.devices.devices import Devices
from moorage.plugins.devices.extended_resources import may_be_of_devices
from moorage.state.columns import Int64s
from moorage.state.nodes import Nodes, ResourceView


class ResourceTotals:
    """Counts devices where nodes have none of a resource that devices serve."""

    @classmethod
    def needed(cls, handle: Handle, resources: Iterable[ResourceSpec]) -> ResourceTotals | None:
        """None where no resource is scored that devices could ever serve."""
        if not any(may_be_of_devices(resource.name) for resource in resources):
            return None
        return cls(handle.shared(Devices))

    def __init__(self, devices: Devices) -> None:
        self._devices = devices
        self._matches: set[tuple[str, str, str, str]] = set()
        """What was found to match once is not asked again, as in kube-scheduler."""

    def with_devices(self, nodes: Nodes, names: Iterable[str]) -> Nodes:
        """The nodes as if those among these resources that devices serve were resources of the nodes."""
        served = self._devices.table.device_resources
        of_devices = {name: self._totals(nodes, name) for name in names if name in served}
        return _WithDevices(nodes, of_devices) if of_devices else nodes

    def _totals(self, nodes: Nodes, name: str) -> tuple[Int64s, Int64s]:
        device_class = self._devices.extended.class_of(name)
        found = np.zeros((2, len(nodes)), dtype=np.int64)
        if device_class is not None:
            for place, info in enumerate(nodes):
                found[:, place] = self._counted(info.node, device_class)
        return found[0], found[1]

    def _counted(self, node: Node, device_class: DeviceClass) -> tuple[int, int]:
        total = in_use = 0
        try:
            for driver, pool, device in self._devices.slices.devices_for(node):
                if self._is_of(device_class, driver, pool, device):
                    total += 1
                    in_use += self._devices.in_use.is_allocated((driver, pool, device.name))
        except (AllocationFailed, SelectorError):
            return 0, 0
        return total, in_use

    def _is_of(self, device_class: DeviceClass, driver: str, pool: str, device: Device) -> bool:
        for selector in device_class.spec.selectors:
            if selector.cel is None:
                continue
            key = (selector.cel.expression, driver, pool, device.name)
            if key in self._matches:
                continue
            asked = replace(device, allow_multiple_allocations=False)
            if not self._devices.selectors.matches(selector.cel.expression, driver, asked):
                return False
            self._matches.add(key)
        return True


class _WithDevices(Nodes):
    __slots__ = ("_of_devices",)

    def __init__(self, nodes: Nodes, of_devices: dict[str, tuple[Int64s, Int64s]]) -> None:
        super().__init__(nodes.table, nodes.rows)
        self._of_devices = of_devices

    @property
    def allocatable(self) -> ResourceView:
        return _View(self, super().allocatable, self._of_devices, 0)

    @property
    def requested(self) -> ResourceView:
        return _View(self, super().requested, self._of_devices, 1)


class _View(ResourceView):
    __slots__ = ("_base", "_of_devices", "_place", "_whole")

    def __init__(
        self, nodes: Nodes, base: ResourceView, of_devices: dict[str, tuple[Int64s, Int64s]], place: int
    ) -> None:
        self._base = base
        self._whole = Nodes(nodes.table, nodes.rows).allocatable
        self._of_devices = of_devices
        self._place = place

    def __getitem__(self, name: str) -> Int64s:
        found = self._base[name]
        totals = self._of_devices.get(name)
        if totals is None:
            return found
        by_devices = (self._whole[name] == 0) & (totals[0] > 0)
        return np.where(by_devices, totals[self._place], found)
