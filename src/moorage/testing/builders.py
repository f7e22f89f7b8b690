"""Pods and nodes for tests, in one line each."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from moorage.api.decoding import from_document
from moorage.api.meta import Quantity
from moorage.api.nodes import Node
from moorage.api.pods import DEFAULT_SCHEDULER, Pod
from moorage.testing.known_fields import NODE_STATUS, POD_SPEC

Document = dict[str, Any]


def make_node(
    name: str = "node",
    *,
    cpu: Quantity = "4",
    memory: Quantity = "16Gi",
    pods: int = 110,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    taints: Sequence[str] = (),
    unschedulable: bool = False,
    images: Mapping[str, int] | None = None,
    allocatable: Mapping[str, Quantity] | None = None,
    **status: Any,
) -> Node:
    """A node with a hostname label.

    Taints are written as kubectl does: `key=value:Effect`. `images` maps names to sizes. Further keywords go
    into the status as they are called in the API, for example `declaredFeatures=["X"]`.
    """
    __tracebackhide__ = True
    _check(make_node, status, NODE_STATUS, "the status of a node")
    amounts = {"cpu": cpu, "memory": memory, "pods": pods, **(allocatable or {})}
    return from_document(
        Node,
        {
            "metadata": {
                "name": name,
                "uid": f"node-{name}",
                "labels": {"kubernetes.io/hostname": name, **(labels or {})},
                "annotations": dict(annotations or {}),
            },
            "spec": {"unschedulable": unschedulable, "taints": [_taint(text) for text in taints]},
            "status": {
                "allocatable": amounts,
                "capacity": amounts,
                "images": [{"names": [name], "sizeBytes": size} for name, size in (images or {}).items()],
                **status,
            },
        },
    )


def make_pod(
    name: str = "pod",
    *,
    namespace: str = "default",
    cpu: Quantity | None = None,
    memory: Quantity | None = None,
    requests: Mapping[str, Quantity] | None = None,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    node: str = "",
    priority: int | None = None,
    scheduler: str = DEFAULT_SCHEDULER,
    image: str = "registry.k8s.io/pause:3.10",
    uid: str = "",
    metadata: Document | None = None,
    status: Document | None = None,
    **spec: Any,
) -> Pod:
    """A pod with one container.

    `node` places it. Further keywords go into the spec as they are called in the API, for example
    `nodeSelector={"disk": "ssd"}` or `tolerations=[{"operator": "Exists"}]`.
    """
    __tracebackhide__ = True
    _check(make_pod, spec, POD_SPEC, "a PodSpec")
    asked = {"cpu": cpu, "memory": memory, **(requests or {})}
    resources = {"requests": {key: amount for key, amount in asked.items() if amount is not None}}
    # An API server takes what cannot be shared only if the limit is the same.
    if limits := {key: resources["requests"][key] for key in resources["requests"] if _is_exclusive(key)}:
        resources["limits"] = limits
    container: Document = {"name": "main", "image": image, "resources": resources}
    document: Document = {
        "metadata": {
            "name": name,
            "namespace": namespace,
            "uid": uid or f"pod-{namespace}-{name}",
            "labels": dict(labels or {}),
            "annotations": dict(annotations or {}),
            **(metadata or {}),
        },
        "spec": {"schedulerName": scheduler, "containers": [container], **spec},
        "status": status or {},
    }
    if node:
        document["spec"]["nodeName"] = node
    if priority is not None:
        document["spec"]["priority"] = priority
    return from_document(Pod, document)


def _is_exclusive(resource: str) -> bool:
    return "/" in resource or resource.startswith("hugepages-")


def _taint(text: str) -> Document:
    pair, _, effect = text.rpartition(":")
    key, _, value = pair.partition("=")
    if not key or not effect:
        raise ValueError(f"taint {text!r}: write it as key=value:Effect or key:Effect")
    return {"key": key, "value": value, "effect": effect}


def _check(builder: Callable[..., object], given: Iterable[str], fields: Sequence[str], where: str) -> None:
    """A keyword that the API does not have would be dropped in silence."""
    __tracebackhide__ = True
    for keyword in given:
        if keyword in fields:
            continue
        problem = f"{builder.__name__}: unknown keyword {keyword}"
        own = [
            name
            for name, parameter in inspect.signature(builder).parameters.items()
            if parameter.kind is not parameter.VAR_KEYWORD
        ]
        spellings = {name.lower(): name for name in (*fields, *own)}
        close = get_close_matches(keyword.replace("_", "").lower(), spellings, n=1, cutoff=0.8)
        if close:
            raise TypeError(f"{problem}; did you mean {spellings[close[0]]}?")
        raise TypeError(f"{problem}; it takes those of its signature and the fields of {where}")
