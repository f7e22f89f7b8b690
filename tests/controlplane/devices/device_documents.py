"""Documents of devices, classes and claims. HERE in them stands for the name of the stage that has them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tests.controlplane.schedulers import Document

GROUP = "resource.k8s.io/v1"
DRIVER = "gpu.HERE"
ANY = "any"
"""A class without selectors, which is always there."""


def devices(*names: str, **fields: Any) -> list[Document]:
    return [{"name": name, **fields} for name in names]


def attributes(**values: int | str | bool) -> Document:
    kinds = {bool: "bool", int: "int", str: "string"}
    return {"attributes": {name: {kinds[type(value)]: value} for name, value in values.items()}}


def resource_slice(
    listed: Iterable[Document] = (),
    *,
    name: str = "",
    driver: str = DRIVER,
    pool: str = "",
    on: str = "n1",
    generation: int = 1,
    of: int = 1,
    **spec: Any,
) -> Document:
    """A slice of a pool of `of` slices, of the node `on` unless `spec` says otherwise; it has its name."""
    pool = pool or f"{on}.HERE"
    if not spec.keys() & {"nodeSelector", "perDeviceNodeSelection"}:
        spec["nodeName"] = f"{on}.HERE"
    found = list(listed)
    return {
        "apiVersion": GROUP,
        "kind": "ResourceSlice",
        "metadata": {"name": f"{name or f'{driver}.{pool}'.replace('.HERE', '')}.HERE"},
        "spec": {
            "driver": driver,
            "pool": {"name": pool, "generation": generation, "resourceSliceCount": of},
            **({"devices": found} if found else {}),
            **spec,
        },
    }


def everywhere() -> Document:
    """The nodes of the stage: what all nodes of the cluster can reach would be on other stages too."""
    on_stage = {"key": "stage", "operator": "In", "values": ["HERE"]}
    return {"nodeSelectorTerms": [{"matchExpressions": [on_stage]}]}


def device_class(name: str, *expressions: str, **spec: Any) -> Document:
    return {
        "apiVersion": GROUP,
        "kind": "DeviceClass",
        "metadata": {"name": name},
        "spec": {**spec, **({"selectors": cel(*expressions)} if expressions else {})},
    }


def cel(*expressions: str) -> list[Document]:
    return [{"cel": {"expression": each}} for each in expressions]


def exactly(name: str = "r", count: int = 1, **asked: Any) -> Document:
    return {"name": name, "exactly": {"deviceClassName": ANY, "count": count, **asked}}


def all_of(name: str = "r", **asked: Any) -> Document:
    return {"name": name, "exactly": {"deviceClassName": ANY, "allocationMode": "All", **asked}}


def first_of(name: str, *alternatives: Document) -> Document:
    return {"name": name, "firstAvailable": [{"deviceClassName": ANY, **each} for each in alternatives]}


def claim(name: str, *requests: Document, metadata: Document | None = None, **more: Any) -> Document:
    return {
        "apiVersion": GROUP,
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": "HERE", **(metadata or {})},
        "spec": {"devices": {"requests": list(requests) or [exactly()], **more}},
    }


def result(device: str, request: str = "r", **fields: Any) -> Document:
    """A device that a claim has; `device` names its driver, pool and name, as in `gpu.HERE/n1.HERE/d1`."""
    driver, pool, name = device.split("/")
    return {"request": request, "driver": driver, "pool": pool, "device": name, **fields}


def allocation(*given: Document, on: str = "") -> Document:
    """Devices, and configuration for them."""
    near = {"key": "metadata.name", "operator": "In", "values": [f"{on}.HERE"]}
    selector = {"nodeSelector": {"nodeSelectorTerms": [{"matchFields": [near]}]}} if on else {}
    # Without a time nobody could reserve the claim: schedulers add one, which the API server refuses.
    return {
        "devices": {
            "results": [each for each in given if "device" in each],
            "config": [each for each in given if "source" in each],
        },
        "allocationTimestamp": "2026-01-01T00:00:00Z",
        **selector,
    }


def condition(kind: str, status: str = "True", reason: str = "Test", message: str = "") -> Document:
    return {
        "type": kind,
        "status": status,
        "reason": reason,
        "message": message,
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
