"""Namespaces with quotas, their pods, and what CapacityScheduling does with them."""

from __future__ import annotations

from functools import cache
from typing import Any

from moorage.api.decoding import from_document
from moorage.api.meta import Object
from moorage.api.pods import Pod
from moorage.config import KubeSchedulerConfiguration, load
from moorage.contrib.capacity.capacity_scheduling import CapacityScheduling
from moorage.contrib.capacity.quotas import Quotas, QuotaSnapshot
from moorage.contrib.objects import ElasticQuota
from moorage.plugins.catalog import in_tree_registry
from moorage.plugins.preemption.default_preemption import VictimSearch
from moorage.scheduler.cycle import Decision, NodeChooser
from moorage.what_if.scenario import Scenario
from moorage.what_if.simulation import Simulation

Document = dict[str, Any]

AT_ITS_POINTS = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
  plugins:
    preFilter:
      enabled: [{name: CapacityScheduling}]
    postFilter:
      enabled: [{name: CapacityScheduling}]
      disabled: [{name: "*"}]
    reserve:
      enabled: [{name: CapacityScheduling}]
"""
"""As the pages of scheduler-plugins have it."""

EVERYWHERE = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
  plugins:
    multiPoint:
      enabled: [{name: CapacityScheduling}]
      disabled: [{name: DefaultPreemption}]
"""


@cache
def configuration(text: str = AT_ITS_POINTS) -> KubeSchedulerConfiguration:
    return load(text).config


def quota(
    namespace: str,
    min: Document | None = None,
    max: Document | None = None,
    *,
    name: str = "quota",
    created: str = "2026-01-01T00:00:00Z",
) -> ElasticQuota:
    bounds = {"min": min, "max": max}
    return from_document(
        ElasticQuota,
        {
            "metadata": {
                "name": name,
                "namespace": namespace,
                "uid": f"quota-{namespace}-{name}",
                "creationTimestamp": created,
            },
            "spec": {key: amounts for key, amounts in bounds.items() if amounts is not None},
        },
    )


def scenario(*objects: Object, config: str = AT_ITS_POINTS) -> Scenario:
    return Scenario(objects, in_tree_registry(), configuration(config))


def simulation(*objects: Object, config: str = AT_ITS_POINTS) -> Simulation:
    made = Simulation(configuration(config), in_tree_registry())
    for item in objects:
        made.add(item)
    return made


def plugin_of(world: Scenario) -> CapacityScheduling:
    plugin = world.profile.plugins["CapacityScheduling"]
    assert isinstance(plugin, CapacityScheduling)
    return plugin


def live(world: Scenario | Simulation) -> Quotas:
    services = world.services if isinstance(world, Scenario) else world.scheduler.services
    found: Quotas = services.shared[Quotas]
    return found


def snapshot(world: Scenario | Simulation) -> QuotaSnapshot:
    return live(world).snapshot()


def used(world: Scenario | Simulation, namespace: str) -> dict[str, int]:
    found = live(world).of(namespace)
    assert found is not None
    return {name: amount for name, amount in found.used.items() if amount}


def decide(world: Scenario, pod: Pod) -> Decision:
    return NodeChooser(find_all=True).decide(world.profile, pod)


def message(world: Scenario, pod: Pod) -> str:
    """Why the pod gets no node; empty if it gets one."""
    failure = decide(world, pod).failure
    return "" if failure is None else failure.message


def search(world: Scenario, pod: Pod) -> VictimSearch:
    """Every node where preemption would help, and why not on the others."""
    decision = NodeChooser(find_all=True, preempts=False).decide(world.profile, pod)
    assert decision.failure is not None, "the pod fits: nothing to preempt"
    return plugin_of(world).find_candidates(decision.cycle, pod, decision.statuses, everywhere=True)


def victims(world: Scenario, pod: Pod) -> dict[str, tuple[str, int]]:
    """The victims' names, the most important first, and how many budgets forbid it, by node."""
    return {
        found.node_name: (" ".join(victim.name for victim in found.victims), found.pdb_violations)
        for found in search(world, pod).candidates
    }
