"""Devices of nodes that are not there: what is published about those of each node, and their classes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

Document = dict[str, Any]

NODE_NAME = "$(NODE_NAME)"
"""Stands for the name of a node, wherever it is in a slice that every node has."""
DOMAIN = "example.com"
"""Of the drivers of devices that are only counted."""
MOST_COUNTED = 128
"""As many as one slice can hold."""

_API_VERSION = "resource.k8s.io/v1"
_NUMA_NODES = 2


class SimulatedDevices:
    """DeviceClasses, and ResourceSlices of which some are templates.

    A slice with the placeholder in it is one of every node; one without it that names a node in `nodeName` is
    of that node. All others are of no node, and there once.
    """

    def __init__(self, classes: Iterable[Document] = (), slices: Iterable[Document] = ()) -> None:
        self.classes = tuple(classes)
        self.slices = tuple(slices)
        self._of_every: list[Document] = []
        self._of_node: dict[str, list[Document]] = {}
        self._of_none: list[Document] = []
        for document in self.slices:
            if is_template(document):
                self._of_every.append(document)
            elif node := (document.get("spec") or {}).get("nodeName"):
                self._of_node.setdefault(node, []).append(document)
            else:
                self._of_none.append(document)

    @classmethod
    def together(cls, several: Sequence[SimulatedDevices]) -> SimulatedDevices:
        return cls(
            (each for devices in several for each in devices.classes),
            (each for devices in several for each in devices.slices),
        )

    def of_node(self, name: str) -> list[Document]:
        """The slices that come and go with a node; they are the caller's."""
        return [filled(each, name) for each in (*self._of_every, *self._of_node.get(name, ()))]

    def of_no_node(self) -> list[Document]:
        return [filled(each, "") for each in self._of_none]


NO_DEVICES = SimulatedDevices()


def is_template(document: Document) -> bool:
    """Whether it has the placeholder anywhere in it."""
    return NODE_NAME.encode() in msgspec.json.encode(document)


def filled(document: Document, node: str) -> Document:
    """A copy of a document with the name of a node in the place of the placeholder."""
    text = msgspec.json.encode(document).replace(NODE_NAME.encode(), node.encode())
    made: Document = msgspec.json.decode(text)
    return made


def counted(name: str, count: int) -> SimulatedDevices:
    """So many devices on every node, all alike but for their index and their NUMA node, and their class."""
    driver = f"{name}.{DOMAIN}"
    expression = f'device.driver == "{driver}"'
    device_class = {
        "apiVersion": _API_VERSION,
        "kind": "DeviceClass",
        "metadata": {"name": name},
        "spec": {"selectors": [{"cel": {"expression": expression}}]},
    }
    devices = [
        {
            "name": f"{name}-{index}",
            "attributes": {
                "model": {"string": f"example-{name}"},
                "index": {"int": index},
                "numa": {"int": index * _NUMA_NODES // count},
            },
            "capacity": {"memory": {"value": "16Gi"}},
        }
        for index in range(count)
    ]
    template = {
        "apiVersion": _API_VERSION,
        "kind": "ResourceSlice",
        "metadata": {"name": f"{NODE_NAME}-{driver}"},
        "spec": {
            "driver": driver,
            "nodeName": NODE_NAME,
            "pool": {"name": NODE_NAME, "generation": 1, "resourceSliceCount": 1},
            "devices": devices,
        },
    }
    return SimulatedDevices([device_class], [template])
