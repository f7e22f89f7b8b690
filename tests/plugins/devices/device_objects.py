"""Documents of devices, classes and claims for tests, and selectors that are Python functions."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from moorage.api.decoding import from_document
from moorage.api.devices import Device, DeviceClass, ResourceClaim, ResourceSlice
from moorage.api.nodes import Node
from moorage.plugins.devices.allocation.allocator import Allocator, InCommon
from moorage.plugins.devices.allocation.in_use import DevicesInUse
from moorage.plugins.devices.allocation.selecting import SelectorError
from moorage.plugins.devices.allocation.slice_index import SliceIndex
from tests.plugins.devices.obvious import Broken, Selector

Document = dict[str, Any]
DRIVER = "gpu.example.com"


def node(name: str = "n1", **labels: str) -> Node:
    return from_document(Node, {"metadata": {"name": name, "labels": labels}})


def resource_slice(
    name: str,
    devices: Iterable[Document | str] = (),
    *,
    driver: str = DRIVER,
    pool: str = "n1",
    generation: int = 1,
    count: int = 1,
    **spec: Any,
) -> Document:
    if not spec.keys() & {"nodeName", "allNodes", "nodeSelector", "perDeviceNodeSelection"}:
        spec["nodeName"] = "n1"
    listed = [{"name": each} if isinstance(each, str) else each for each in devices]
    return {
        "metadata": {"name": name},
        "spec": {
            "driver": driver,
            "pool": {"name": pool, "generation": generation, "resourceSliceCount": count},
            **({"devices": listed} if listed else {}),
            **spec,
        },
    }


def device_class(name: str = "gpu", *expressions: str, **spec: Any) -> Document:
    return {"metadata": {"name": name}, "spec": {**spec, "selectors": cel(*expressions)}}


def cel(*expressions: str) -> list[Document]:
    return [{"cel": {"expression": each}} for each in expressions]


def exactly(name: str = "r", count: int = 1, **asked: Any) -> Document:
    return {"name": name, "exactly": {"deviceClassName": "gpu", "count": count, **asked}}


def all_of(name: str = "r", **asked: Any) -> Document:
    return {"name": name, "exactly": {"deviceClassName": "gpu", "allocationMode": "All", **asked}}


def first_of(name: str, *alternatives: Document) -> Document:
    return {"name": name, "firstAvailable": [{"deviceClassName": "gpu", **each} for each in alternatives]}


def claim(*requests: Document, name: str = "c", **devices: Any) -> Document:
    return {
        "metadata": {"namespace": "default", "name": name, "uid": f"uid-{name}"},
        "spec": {"devices": {"requests": list(requests), **devices}},
    }


def held(*devices: tuple[str, ...] | Document, name: str = "held") -> Document:
    """A claim that has devices of the driver: each as (pool, device) or as the document of a result."""
    results = [
        each
        if isinstance(each, dict)
        else {"request": "r", "driver": DRIVER, "pool": each[0], "device": each[1]}
        for each in devices
    ]
    return {**claim(name=name), "status": {"allocation": {"devices": {"results": results}}}}


class PythonSelectors:
    """Selectors by name; what was asked is noted."""

    def __init__(self, selectors: dict[str, Selector]) -> None:
        self._selectors = selectors
        self.asked: list[tuple[str, str]] = []

    def matches(self, expression: str, driver: str, device: Device) -> bool:
        self.asked.append((expression, device.name))
        try:
            return self._selectors[expression](driver, msgspec.to_builtins(device))
        except Broken as error:
            raise SelectorError(str(error)) from None


class Cluster:
    """The long-lived parts of an allocator, filled with documents."""

    def __init__(
        self,
        slices: Iterable[Document] = (),
        classes: Iterable[Document] = (device_class(),),
        claims: Iterable[Document] = (),
        selectors: Mapping[str, Selector] | None = None,
        **more_selectors: Selector,
    ) -> None:
        self.slices = SliceIndex()
        for each in slices:
            self.slices.put(from_document(ResourceSlice, each))
        self.in_use = DevicesInUse()
        for each in claims:
            self.in_use.put_claim(from_document(ResourceClaim, each))
        self.classes = {each["metadata"]["name"]: from_document(DeviceClass, each) for each in classes}
        self.selectors = PythonSelectors({**(selectors or {}), **more_selectors})

    def allocator(
        self,
        *claims: Document,
        seconds: float = 0,
        clock: Callable[[], float] = time.monotonic,
        in_common: InCommon | None = None,
    ) -> Allocator:
        return Allocator(
            self.in_use,
            self.slices,
            self.classes.get,
            self.selectors,
            [from_document(ResourceClaim, each) for each in claims],
            seconds=seconds,
            in_common=in_common,
            clock=clock,
            new_share_id=lambda: "share",
        )

    def devices(self, *claims: Document, on: Node | None = None) -> list[list[str]] | None:
        """What each claim gets."""
        plans = self.allocator(*claims).allocate(on or node())
        return None if plans is None else [list(plan.devices) for plan in plans]
