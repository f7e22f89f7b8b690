"""Configurations to schedule by, and plugins of others that take part in some of them."""

from __future__ import annotations

import json
from collections.abc import Hashable
from typing import Any

from moorage.api.pods import Pod
from moorage.config import KubeSchedulerConfiguration, load
from moorage.framework.cycle_state import CycleState
from moorage.framework.extension_points import (
    FilterPlugin,
    PreFilterPlugin,
    PreScorePlugin,
    ScorePlugin,
)
from moorage.framework.loading.registry import Registry
from moorage.framework.status import Status
from moorage.plugins.catalog import in_tree_registry
from moorage.state.node_info import NodeInfo
from moorage.state.nodes import Nodes
from tests.twins.objects import ZONE

Document = dict[str, Any]


class Mood:
    """A global that plugins read; it changes without anybody being told."""

    now = 0


class Moody(FilterPlugin, ScorePlugin):
    """Changes its mind with a global and with the clock, and minds what like pods may differ in."""

    name = "Moody"

    def filter(self, cycle: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
        if (len(node.name) + int(node.name[1:]) + Mood.now) % 4 == 0:
            return Status.unschedulable(f"not in the mood {Mood.now}")
        return None

    def score(self, cycle: CycleState, pod: Pod, node: NodeInfo) -> int:
        bias = int(pod.annotations["bias"]) * len(node.name)
        return (int(node.name[1:]) * 7 + Mood.now + int(self.handle.clock()) + bias) % 101


class Remembers(PreFilterPlugin, FilterPlugin, PreScorePlugin, ScorePlugin):
    """Hands what it found at one point to the next, and narrows the search for some pods."""

    name = "Remembers"

    def pre_filter(self, cycle: CycleState, pod: Pod) -> set[str] | None:
        cycle.write("Remembers", pod.labels.get("app", ""))
        if pod.labels.get("version") == "2":
            return {f"n{number}" for number in range(5)}
        return None

    def filter(self, cycle: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
        app: str = cycle.read("Remembers")
        if sum(other.labels.get("app") == app for other in node.pods) > 3:
            return Status.unschedulable(f"enough of {app}")
        return None

    def pre_score(self, cycle: CycleState, pod: Pod, nodes: Nodes) -> None:
        cycle.write("Remembers/nodes", len(nodes))

    def score(self, cycle: CycleState, pod: Pod, node: NodeInfo) -> int:
        offered: int = cycle.read("Remembers/nodes")
        return (offered * len(node.pods)) % 101


class Raises(FilterPlugin):
    """Fails on some nodes while it is in the mood to."""

    name = "Raises"

    def filter(self, cycle: CycleState, pod: Pod, node: NodeInfo) -> None:
        if Mood.now == 3 and node.name.endswith("7"):
            raise ValueError(f"cannot judge {node.name}")


class Signs(FilterPlugin, ScorePlugin):
    """Says what it looks at in a pod; in a node it looks at everything."""

    name = "Signs"

    def sign(self, pod: Pod) -> Hashable:
        return pod.labels.get("app") if pod.namespace == "default" else None

    def filter(self, cycle: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
        if pod.labels.get("app") == "a" and node.labels.get("disk") == "hdd":
            return Status.unresolvable("no hdd for a")
        if len(node.pods) % 4 == 3:
            return Status.unschedulable(f"{len(node.pods)} pods are there")
        return None

    def score(self, cycle: CycleState, pod: Pod, node: NodeInfo) -> int:
        known = sum(int(other.annotations["bias"]) for other in node.pods)
        return (len(pod.labels.get("app", "")) + 5 * known + len(node.annotations)) % 101


def registry() -> Registry:
    made = in_tree_registry()
    for plugin in (Moody, Raises, Remembers, Signs):
        made.add_class(plugin, "test")
    return made


def _args(plugin: str, **args: Any) -> Document:
    return {"pluginConfig": [{"name": plugin, "args": args}]}


def _fit(kind: str, **more: Any) -> Document:
    resources = [{"name": "cpu", "weight": 3}, {"name": "memory", "weight": 1}, {"name": "example.com/gpu"}]
    return _args("NodeResourcesFit", scoringStrategy={"type": kind, "resources": resources, **more})


_SHAPE = [{"utilization": 0, "score": 10}, {"utilization": 40, "score": 2}, {"utilization": 100, "score": 7}]
_ADDED = {
    "preferredDuringSchedulingIgnoredDuringExecution": [
        {"weight": 9, "preference": {"matchExpressions": [{"key": "disk", "operator": "Exists"}]}}
    ],
    "requiredDuringSchedulingIgnoredDuringExecution": {
        "nodeSelectorTerms": [{"matchExpressions": [{"key": ZONE, "operator": "Exists"}]}]
    },
}
_WEIGHTS = {
    "plugins": {
        "multiPoint": {
            "enabled": [
                {"name": "InterPodAffinity", "weight": 7},
                {"name": "PodTopologySpread", "weight": 1},
                {"name": "ImageLocality", "weight": 30},
            ]
        }
    }
}
_CONSTRAINTS = [
    {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule"},
    {"maxSkew": 2, "topologyKey": "disk", "whenUnsatisfiable": "ScheduleAnyway"},
]


def _with(*plugins: str) -> Document:
    return {"plugins": {"multiPoint": {"enabled": [{"name": plugin} for plugin in plugins]}}}


PROFILES: dict[str, list[Document]] = {
    "default": [{}],
    "no scores": [{"plugins": {"score": {"disabled": [{"name": "*"}]}}}],
    "most allocated": [_fit("MostAllocated")],
    "ratio": [_fit("RequestedToCapacityRatio", requestedToCapacityRatio={"shape": _SHAPE})],
    "added affinity": [_args("NodeAffinity", addedAffinity=_ADDED)],
    "ignored preferences": [
        _args("InterPodAffinity", ignorePreferredTermsOfExistingPods=True, hardPodAffinityWeight=40)
    ],
    "weights": [_WEIGHTS],
    "default constraints": [
        _args("PodTopologySpread", defaultingType="List", defaultConstraints=_CONSTRAINTS)
    ],
    "two": [{}, {"schedulerName": "second", **_fit("MostAllocated")}],
    "moody": [_with("Moody")],
    "remembers": [_with("Remembers")],
    "raises": [_with("Raises")],
    "signs": [_with("Signs")],
    "few": [{"percentageOfNodesToScore": 20}, {"schedulerName": "second", **_with("Moody", "Remembers")}],
}


def configuration(name: str) -> KubeSchedulerConfiguration:
    profiles = [{"schedulerName": "default-scheduler", **profile} for profile in PROFILES[name]]
    document = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": profiles,
    }
    return load(json.dumps(document)).config
