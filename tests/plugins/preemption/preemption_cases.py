"""Clusters with somebody to preempt, and what preemption finds there."""

from __future__ import annotations

from functools import cache
from typing import Any

from moorage.api.decoding import from_document
from moorage.api.meta import Object
from moorage.api.pods import Pod
from moorage.api.workloads import PodDisruptionBudget
from moorage.config import KubeSchedulerConfiguration, load
from moorage.plugins.catalog import in_tree_registry
from moorage.plugins.preemption.default_preemption import DefaultPreemption, VictimSearch
from moorage.scheduler.cycle import Decision, NodeChooser
from moorage.scheduler.profiles import DEFAULT_CONFIGURATION
from moorage.testing import make_pod
from moorage.what_if.scenario import Scenario

Document = dict[str, Any]

ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"


@cache
def configuration() -> KubeSchedulerConfiguration:
    return load(DEFAULT_CONFIGURATION).config


def scenario(*objects: Object) -> Scenario:
    return Scenario(objects, in_tree_registry(), configuration())


def preemption(world: Scenario) -> DefaultPreemption:
    plugin = world.profile.plugins["DefaultPreemption"]
    assert isinstance(plugin, DefaultPreemption)
    return plugin


def decide(world: Scenario, pod: Pod) -> Decision:
    decision = NodeChooser(find_all=True).decide(world.profile, pod)
    assert decision.failure is not None, "the pod fits: nothing to preempt"
    return decision


def outcome(world: Scenario, pod: Pod) -> VictimSearch:
    """Every node where preemption would help, and why not on the others."""
    decision = decide(world, pod)
    return preemption(world).find_candidates(decision.cycle, pod, decision.statuses, everywhere=True)


def candidates(world: Scenario, pod: Pod) -> dict[str, tuple[str, int]]:
    """The victims' names, the most important first, and how many budgets forbid it, by node."""
    return {
        found.node_name: (" ".join(victim.name for victim in found.victims), found.pdb_violations)
        for found in outcome(world, pod).candidates
    }


def preemptor(cpu: str | None = "2", priority: int = 10, **rest: Any) -> Pod:
    return make_pod("in", cpu=cpu, priority=priority, **rest)


def at(minute: int | None) -> Document:
    return {} if minute is None else {"startTime": f"2026-01-01T00:{minute:02}:00Z"}


def on_n(name: str, cpu: str = "1", priority: int | None = 0, minute: int | None = None, **rest: Any) -> Pod:
    return make_pod(name, node="n", cpu=cpu, priority=priority, status=at(minute), **rest)


def budget(allowed: int = 0, selector: Document | None = None, **status: Any) -> PodDisruptionBudget:
    spec = {"selector": {"matchLabels": {"app": "a"}} if selector is None else selector}
    return from_document(
        PodDisruptionBudget,
        {
            "metadata": {"name": "b", "namespace": "default"},
            "spec": spec,
            "status": {"disruptionsAllowed": allowed, **status},
        },
    )


def labelled(name: str, cpu: str = "1", priority: int = 0, app: str = "a", **rest: Any) -> Pod:
    return on_n(name, cpu, priority, 1, labels={"app": app}, **rest)


def apart(app: str, key: str = HOST) -> Document:
    term = {"topologyKey": key, "labelSelector": {"matchLabels": {"app": app}}}
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def nominated(name: str, cpu: str, priority: int, **rest: Any) -> Pod:
    return make_pod(name, cpu=cpu, priority=priority, status={"nominatedNodeName": "n"}, **rest)
