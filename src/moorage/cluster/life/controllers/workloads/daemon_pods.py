"""On which nodes the pods of a DaemonSet may be, and what these pods look like."""

from __future__ import annotations

from enum import Enum
from typing import Any

import msgspec

from moorage.api.pods import PodSpec
from moorage.api.taints import NO_EXECUTE, Taint, tolerates, untolerated
from moorage.cluster.base.parts import part, records
from moorage.cluster.base.store import Document, Stored
from moorage.cluster.kinds.apps import TEMPLATE_GENERATION

HASH_LABEL = "controller-revision-hash"
GENERATION_LABEL = "pod-template-generation"
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_NODE = "node.kubernetes.io/"
_TOLERATED = (
    ("not-ready", NO_EXECUTE),
    ("unreachable", NO_EXECUTE),
    ("disk-pressure", "NoSchedule"),
    ("memory-pressure", "NoSchedule"),
    ("pid-pressure", "NoSchedule"),
    ("unschedulable", "NoSchedule"),
)
_WITH_HOST_NETWORK = ("network-unavailable", "NoSchedule")


class Fit(Enum):
    """What a node is for the pods of a DaemonSet."""

    RUNS = "a pod is to run here"
    KEEPS = "a pod that runs here may go on"
    NONE = "no pod is to be here"


class Placement:
    """Which nodes a template's pods fit on."""

    def __init__(self, template: Document) -> None:
        fields = ("nodeName", "nodeSelector", "affinity", "tolerations", "hostNetwork")
        given = {name: value for name, value in part(template, "spec").items() if name in fields}
        given["tolerations"] = _tolerations(given)
        spec = msgspec.convert(given, PodSpec, strict=False)
        self._node_name = spec.node_name
        self._labels = (spec.node_selector or {}).items()
        nodes = spec.affinity.node_affinity if spec.affinity is not None else None
        self._required = nodes.required if nodes is not None else None
        self._tolerations = spec.tolerations

    def on(self, node: Stored) -> Fit:
        labels = node.labels
        if self._node_name and self._node_name != node.name:
            return Fit.NONE
        if not self._labels <= labels.items():
            return Fit.NONE
        if self._required is not None and not self._required.matches(labels, node.name):
            return Fit.NONE
        given = node.spec.get("taints")
        if not given:
            return Fit.RUNS
        taints = msgspec.convert(given, tuple[Taint, ...])
        if untolerated(taints, self._tolerations) is None:
            return Fit.RUNS
        evicts = any(
            taint.effect == NO_EXECUTE and not tolerates(self._tolerations, taint) for taint in taints
        )
        return Fit.NONE if evicts else Fit.KEEPS


def _tolerations(spec: Document) -> list[Document]:
    """Those of the template, and those for nodes with problems: a daemon is there in spite of them."""
    wanted = [*_TOLERATED, *([_WITH_HOST_NETWORK] if spec.get("hostNetwork") else [])]
    found = list(spec.get("tolerations") or ())
    for key, effect in wanted:
        toleration = {"key": f"{_NODE}{key}", "operator": "Exists", "effect": effect}
        for place, each in enumerate(found):
            if _alike(each) == _alike(toleration):
                found[place] = toleration
                break
        else:
            found.append(toleration)
    return found


def _alike(toleration: Document) -> list[Any]:
    return [toleration.get(name) or "" for name in ("key", "operator", "value", "effect")]


def template_generation(daemon_set: Stored) -> str:
    return daemon_set.annotations.get(TEMPLATE_GENERATION, "")


def pod_template(daemon_set: Stored, code: str) -> Document:
    """The template with what every daemon has, `code` being the hash of its revision."""
    template: Document = daemon_set.spec.get("template") or {}
    metadata, spec = part(template, "metadata"), part(template, "spec")
    labels = {**part(metadata, "labels"), HASH_LABEL: code}
    if generation := template_generation(daemon_set):
        labels[GENERATION_LABEL] = generation
    return {"metadata": {**metadata, "labels": labels}, "spec": {**spec, "tolerations": _tolerations(spec)}}


def bind_to(pod: Document, node: str) -> None:
    """Has the scheduler put a pod on this node and no other."""
    term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}
    affinity = pod["spec"].setdefault("affinity", {})
    nodes = affinity.setdefault("nodeAffinity", {})
    nodes[_REQUIRED] = {**(nodes.get(_REQUIRED) or {}), "nodeSelectorTerms": [term]}


def target_of(pod: Stored) -> str:
    """The node that a pod is on or was made for; empty if that cannot be told."""
    bound: str = pod.spec.get("nodeName") or ""
    if bound:
        return bound
    for term in records(pod.spec, "affinity", "nodeAffinity", _REQUIRED, "nodeSelectorTerms"):
        for field in records(term, "matchFields"):
            if field.get("key") == "metadata.name" and field.get("operator") == "In":
                values = field.get("values") or []
                return values[0] if len(values) == 1 else ""
    return ""


def is_updated(pod: Stored, code: str, generation: str) -> bool:
    labels = pod.labels
    return labels.get(HASH_LABEL) == code or (bool(generation) and labels.get(GENERATION_LABEL) == generation)


def oldest_first(pods: list[Stored]) -> list[Stored]:
    """Those on a node come before those that are still to be scheduled."""
    return sorted(pods, key=lambda pod: (not pod.spec.get("nodeName"), pod.created, pod.name))
