"""What `--devices` stands for: devices that the nodes of a simulated cluster have."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from moorage.api.devices import DeviceClass, ResourceSlice
from moorage.api.meta import Object
from moorage.api.simulated_devices import (
    MOST_COUNTED,
    NODE_NAME,
    Document,
    SimulatedDevices,
    counted,
    filled,
    is_template,
)
from moorage.cli.manifest_files import documents_in, read_object
from moorage.cli.setup import BadInput

API_VERSION = "resource.k8s.io/v1"
LONGEST_NAME = 51  # the name of a driver, which has a domain behind it, has at most 63 letters
_NAME = re.compile("[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_HOLDS = "a YAML file of ResourceSlices and DeviceClasses"


class GivenDevices(NamedTuple):
    """What one `--devices` stands for, and the place to name when something is wrong with it."""

    place: str
    devices: SimulatedDevices


def read_devices(given: Iterable[str]) -> list[GivenDevices]:
    """Raises BadInput if something cannot be read, or is there twice."""
    found = [GivenDevices(f"--devices {text}", _read(text)) for text in given]
    seen: dict[tuple[str, str], str] = {}
    for place, devices in found:
        for document in (*devices.classes, *devices.slices):
            kind, name = document["kind"], document["metadata"]["name"]
            if (kind, name) in seen:
                first = seen[kind, name]
                raise BadInput(f"{place}: {kind} {name} is in {first}, too; leave one out or rename it")
            seen[kind, name] = place
    return found


def objects_for(given: Sequence[GivenDevices], nodes: Sequence[str]) -> Iterator[tuple[str, Object]]:
    """The classes, and the slices of these nodes, as typed objects, each with the place it is from."""
    for place, devices in given:
        for document in devices.classes:
            yield place, read_object(DeviceClass, document, place)
        for document in devices.of_no_node():
            yield place, read_object(ResourceSlice, document, place)
        for node in nodes:
            for document in devices.of_node(node):
                yield place, read_object(ResourceSlice, document, place)


def _read(text: str) -> SimulatedDevices:
    name, equals, count = text.partition("=")
    if text == "-" or _is_file(text):
        return _in_file(text)
    if not equals:
        raise BadInput(f"--devices: '{text}' is neither NAME=COUNT nor a file; give gpu=8 or {_HOLDS}")
    if not _NAME.fullmatch(name) or len(name) > LONGEST_NAME:
        raise BadInput(
            f"--devices {text}: '{name}' cannot be the name of a device class; give up to {LONGEST_NAME} "
            "small letters, digits and hyphens, as in gpu=8"
        )
    if not (count.isascii() and count.isdigit() and len(count) < 5 and 1 <= int(count) <= MOST_COUNTED):
        raise BadInput(
            f"--devices {text}: '{count}' is no number of devices; give one from 1 to {MOST_COUNTED}, as in "
            f"{name}=8, or a file for more"
        )
    return counted(name, int(count))


def _is_file(text: str) -> bool:
    try:
        return bool(text) and Path(text).exists()
    except (OSError, ValueError):  # no file can be called that
        return False


def _in_file(path: str) -> SimulatedDevices:
    """What a file holds, as far as it can be checked without an API server."""
    classes: list[Document] = []
    slices: list[Document] = []
    names: set[tuple[str, str]] = set()
    for where, document in documents_in(path):
        place = f"--devices: {where}"
        kind, version = document["kind"], document.get("apiVersion")
        if kind not in (DeviceClass.kind, ResourceSlice.kind) or version != API_VERSION:
            raise BadInput(
                f"{place}: holds a {kind} of {version}; "
                f"give ResourceSlices and DeviceClasses of {API_VERSION}"
            )
        example = filled(document, "node")
        name = read_object(DeviceClass if kind == DeviceClass.kind else ResourceSlice, example, place).name
        if (kind, name) in names:
            raise BadInput(f"{place}: {kind} {name} is given twice; leave one out or rename it")
        names.add((kind, name))
        if kind == DeviceClass.kind:
            classes.append(document)
        elif is_template(document) and NODE_NAME not in document["metadata"]["name"]:
            raise BadInput(
                f"{place}: every node has this ResourceSlice, so its name needs the node's; "
                f"name it {NODE_NAME}-{name}"
            )
        else:
            slices.append(document)
    if not slices:
        raise BadInput(f"--devices: {path} holds no ResourceSlice; give {_HOLDS}")
    return SimulatedDevices(classes, slices)
