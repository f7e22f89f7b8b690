"""Whether any single change helps: a slow search that tries all of them, without any of advice's code."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

from moorage.framework.loading.registry import Registry
from moorage.what_if.scenario import evaluate

Document = dict[str, Any]

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def helping(scenario: Document, registry: Registry) -> str | None:
    """The name of a single change after which the pod fits, or others are preempted for it."""
    for name, changed in single_changes(scenario):
        result = evaluate(changed, registry)
        if result["feasible"] and "message" not in result:
            return name
        if name == "priority" and (result.get("postFilter") or {}).get("nominatedNodes"):
            return name
    return None


def single_changes(scenario: Document) -> Iterator[tuple[str, Document]]:
    """As generous as can be: where a little might do, all of it is taken away."""
    for name, change in _of_pod(scenario["pod"]):
        yield name, {**scenario, "pod": change}
    objects = scenario["objects"]
    for place, item in enumerate(objects):
        if item["kind"] == "Node":
            for name, change in _of_node(item, scenario["pod"]):
                yield name, {**scenario, "objects": [*objects[:place], change, *objects[place + 1 :]]}
    for item in objects:
        if item["kind"] == "Node":
            clone = copy.deepcopy(item)
            clone["metadata"]["name"] += "-clone"
            clone["metadata"].pop("uid", None)
            labels = clone["metadata"].get("labels") or {}
            if "kubernetes.io/hostname" in labels:
                labels["kubernetes.io/hostname"] = clone["metadata"]["name"]
            yield f"one more {item['metadata']['name']}", {**scenario, "objects": [*objects, clone]}
    for node in {item["spec"]["nodeName"] for item in objects if _is_placed(item)}:
        others = [item for item in objects if not (_is_placed(item) and item["spec"]["nodeName"] == node)]
        yield f"{node} were empty", {**scenario, "objects": others}
    yield "no other pods", {**scenario, "objects": [item for item in objects if item["kind"] != "Pod"]}


def _is_placed(item: Document) -> bool:
    return item["kind"] == "Pod" and bool(item["spec"].get("nodeName"))


def _of_pod(pod: Document) -> Iterator[tuple[str, Document]]:
    spec = pod["spec"]
    for field in (
        "nodeSelector",
        "affinity",
        "topologySpreadConstraints",
        "schedulingGates",
        "nodeName",
        "volumes",
        "resourceClaims",
    ):
        if spec.get(field):
            yield field, {**pod, "spec": {key: value for key, value in spec.items() if key != field}}
    for field in ("nodeAffinity", "podAffinity", "podAntiAffinity"):
        if (spec.get("affinity") or {}).get(field):
            yield field, {**pod, "spec": {**spec, "affinity": {**spec["affinity"], field: None}}}
    for volume in spec.get("volumes") or []:
        others = [each for each in spec["volumes"] if each is not volume]
        yield f"volume {volume['name']}", {**pod, "spec": {**spec, "volumes": others}}
    everything = [*(spec.get("tolerations") or []), {"operator": "Exists"}]
    yield "tolerations", {**pod, "spec": {**spec, "tolerations": everything}}
    preempting = {"priority": 10**9, "preemptionPolicy": "PreemptLowerPriority"}
    yield "priority", {**pod, "spec": {**spec, **preempting}}
    modest = copy.deepcopy(pod)
    modest["spec"].pop("resources", None)
    portless = copy.deepcopy(pod)
    for group in ("containers", "initContainers"):
        for container in modest["spec"].get(group) or []:
            container.pop("resources", None)
        for container in portless["spec"].get(group) or []:
            container.pop("ports", None)
    yield "requests", modest
    yield "ports", portless


def _of_node(node: Document, pod: Document) -> Iterator[tuple[str, Document]]:
    name, spec = node["metadata"]["name"], node.get("spec") or {}
    yield f"taints of {name}", {**node, "spec": {**spec, "taints": []}}
    yield f"cordon of {name}", {**node, "spec": {**spec, "unschedulable": False}}
    open_spec = {**spec, "taints": [], "unschedulable": False}
    yield f"taints and cordon of {name}", {**node, "spec": open_spec}
    labels = dict(pod["spec"].get("nodeSelector") or {})
    required = ((pod["spec"].get("affinity") or {}).get("nodeAffinity") or {}).get(REQUIRED) or {}
    for term in required.get("nodeSelectorTerms") or [{}]:
        for line in term.get("matchExpressions") or []:
            if line["operator"] in ("In", "Exists"):
                labels[line["key"]] = (line.get("values") or ["true"])[0]
        metadata = {**node["metadata"], "labels": {**(node["metadata"].get("labels") or {}), **labels}}
        yield f"labels of {name}", {**node, "metadata": metadata}
