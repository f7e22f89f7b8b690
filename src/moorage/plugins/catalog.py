"""All plugins that come with Moorage by name, with their extension points.

Light to import: a plugin's module is imported when the plugin is made.
"""

from __future__ import annotations

import importlib
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from moorage.framework.loading.registry import Entry, Registry

if TYPE_CHECKING:
    from moorage.framework.extension_points import Plugin


class InTree(NamedTuple):
    module: str
    points: tuple[str, ...]


_FILTERS = ("preFilter", "filter")
_SCORES = ("preScore", "score")

CATALOG: dict[str, InTree] = {
    "SchedulingGates": InTree("scheduling_gates", ("preEnqueue",)),
    "PrioritySort": InTree("priority_sort", ("queueSort",)),
    "NodeUnschedulable": InTree("node_unschedulable", ("filter",)),
    "NodeName": InTree("node_name", ("filter",)),
    "TaintToleration": InTree("taint_toleration", ("filter", *_SCORES)),
    "NodeAffinity": InTree("node_affinity", (*_FILTERS, *_SCORES)),
    "NodePorts": InTree("node_ports", _FILTERS),
    "NodeResourcesFit": InTree("node_resources_fit", (*_FILTERS, *_SCORES, "placementScore")),
    "VolumeRestrictions": InTree("storage.volume_restrictions", _FILTERS),
    "NodeVolumeLimits": InTree("storage.node_volume_limits", _FILTERS),
    "VolumeBinding": InTree("storage.volume_binding", (*_FILTERS, *_SCORES, "reserve", "preBind")),
    "VolumeZone": InTree("storage.volume_zone", _FILTERS),
    "PodTopologySpread": InTree("spread.pod_topology_spread", (*_FILTERS, *_SCORES)),
    "InterPodAffinity": InTree("inter_pod_affinity", (*_FILTERS, *_SCORES)),
    "DynamicResources": InTree(
        "devices.dynamic_resources", ("preEnqueue", *_FILTERS, "postFilter", "score", "reserve", "preBind")
    ),
    "DefaultPreemption": InTree("preemption.default_preemption", ("preEnqueue", "postFilter")),
    "NodeResourcesBalancedAllocation": InTree("node_resources_balanced_allocation", _SCORES),
    "ImageLocality": InTree("image_locality", ("score",)),
    "DefaultBinder": InTree("default_binder", ("bind",)),
    "NodeDeclaredFeatures": InTree("node_declared_features", _FILTERS),
    "GangScheduling": InTree("workloads.gang_scheduling", ("preEnqueue", "permit")),
    "TopologyPlacementGenerator": InTree("workloads.topology_placement_generator", ("placementGenerate",)),
    "PodGroupPodsCount": InTree("workloads.pod_group_pods_count", ("placementScore",)),
}

CONTRIB: dict[str, InTree] = {
    "Coscheduling": InTree("coscheduling.coscheduling", ("queueSort", "preFilter", "permit")),
    "CapacityScheduling": InTree(
        "capacity.capacity_scheduling", ("preEnqueue", "preFilter", "postFilter", "reserve")
    ),
    "PreemptionToleration": InTree("preemption_toleration", ("preEnqueue", "postFilter")),
    "QOSSort": InTree("qos_sort", ("queueSort",)),
}
"""Those that no configuration has by default."""

SOURCE, CONTRIB_SOURCE = "in-tree", "contrib"


def in_tree_registry() -> Registry:
    """A registry that knows every plugin that comes with Moorage."""
    registry = Registry()
    for package, source, catalog in (("plugins", SOURCE, CATALOG), ("contrib", CONTRIB_SOURCE, CONTRIB)):
        for name, plugin in catalog.items():
            load = partial(_load, name, f"moorage.{package}.{plugin.module}")
            registry.add(Entry(name, source, load, plugin.points))
    return registry


def _load(name: str, module: str) -> type[Plugin]:
    found: type[Plugin] = getattr(importlib.import_module(module), name)
    return found
