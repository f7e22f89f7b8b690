"""The args of the in-tree plugins: their fields and defaults.

A plugin gets one of these, defaulted and checked. :mod:`moorage.config.args_checks` has the rules.
"""

from __future__ import annotations

from msgspec import field

from moorage.api.durations import Duration
from moorage.api.pods import NodeAffinity, TopologySpreadConstraint
from moorage.config.types import ConfigPart, Int32, Int64


class ResourceSpec(ConfigPart):
    name: str = ""
    """A resource, such as `cpu` or `example.com/gpu`."""
    weight: Int64 = 0
    """How much it counts among the others; 0 stands for 1."""


class UtilizationShapePoint(ConfigPart):
    utilization: Int32 = 0
    """How much is in use, in percent."""
    score: Int32 = 0
    """The score at that point, 0 to 10."""


class RequestedToCapacityRatioParam(ConfigPart):
    shape: list[UtilizationShapePoint] = []
    """Points of a line from utilisation to score, by rising utilisation."""


class ScoringStrategy(ConfigPart):
    type: str = ""
    """`LeastAllocated` prefers empty nodes, `MostAllocated` full ones, `RequestedToCapacityRatio` a line."""
    resources: list[ResourceSpec] = []
    """What counts; `cpu` and `memory` alike where nothing is given."""
    requested_to_capacity_ratio: RequestedToCapacityRatioParam | None = None
    """The line, for the strategy of that name."""


class PluginArgs(ConfigPart):
    """Base of all in-tree args."""

    def complete(self) -> None:
        """Gives a value to what was left empty and has a default."""


class DefaultPreemptionArgs(PluginArgs):
    min_candidate_nodes_percentage: Int32 = 10
    """On how many nodes preemption is tried, in percent."""
    min_candidate_nodes_absolute: Int32 = 100
    """And at least on so many."""


class DynamicResourcesArgs(PluginArgs):
    """A filter timeout of 0 means that there is no limit."""

    filter_timeout: Duration = Duration.of_seconds(10)
    """The longest search for devices on one node; 0 for no limit."""
    binding_timeout: Duration = Duration.of_seconds(600)
    """The longest wait for devices before binding."""


class InterPodAffinityArgs(PluginArgs):
    hard_pod_affinity_weight: Int32 = 1
    """How much the required affinity of running pods to the new pod counts for the score."""
    ignore_preferred_terms_of_existing_pods: bool = False
    """Whether preferences of running pods do not count."""


class NodeAffinityArgs(PluginArgs):
    added_affinity: NodeAffinity | None = None
    """A node affinity that every pod of the profile gets in addition to its own."""


class NodeResourcesBalancedAllocationArgs(PluginArgs):
    resources: list[ResourceSpec] = []
    """What is to be in use evenly; `cpu` and `memory` where nothing is given."""

    def complete(self) -> None:
        self.resources = _with_weights(self.resources)


class NodeResourcesFitArgs(PluginArgs):
    ignored_resources: list[str] = []
    """Extended resources that are not looked at when filtering."""
    ignored_resource_groups: list[str] = []
    """The same for all resources of a group: `example.com` for `example.com/gpu`."""
    scoring_strategy: ScoringStrategy = field(default_factory=lambda: ScoringStrategy(type="LeastAllocated"))
    """How nodes are scored."""

    def complete(self) -> None:
        self.scoring_strategy.resources = _with_weights(self.scoring_strategy.resources)


class PodTopologySpreadArgs(PluginArgs):
    default_constraints: list[TopologySpreadConstraint] = []
    """For pods that have none, without selectors; only with `defaultingType: List`."""
    defaulting_type: str = ""
    """`System`, also when empty, for hosts (3) and zones (5); `List` for `defaultConstraints`."""

    def complete(self) -> None:
        self.defaulting_type = self.defaulting_type or "System"


class VolumeBindingArgs(PluginArgs):
    bind_timeout_seconds: Int64 = 600
    """The longest wait for volumes before binding."""
    shape: list[UtilizationShapePoint] | None = None
    """Not possible in this version."""


ARGS_TYPES: dict[str, type[PluginArgs]] = {
    "DefaultPreemption": DefaultPreemptionArgs,
    "DynamicResources": DynamicResourcesArgs,
    "InterPodAffinity": InterPodAffinityArgs,
    "NodeAffinity": NodeAffinityArgs,
    "NodeResourcesBalancedAllocation": NodeResourcesBalancedAllocationArgs,
    "NodeResourcesFit": NodeResourcesFitArgs,
    "PodTopologySpread": PodTopologySpreadArgs,
    "VolumeBinding": VolumeBindingArgs,
}
"""The args of each in-tree plugin that has any."""


def default_args(plugin: str) -> PluginArgs | None:
    """What a plugin gets when the file says nothing; None if it is not known to have args."""
    args_type = ARGS_TYPES.get(plugin)
    if args_type is None:
        return None
    args = args_type()
    args.complete()
    return args


def _with_weights(resources: list[ResourceSpec]) -> list[ResourceSpec]:
    named = resources or [ResourceSpec(name="cpu"), ResourceSpec(name="memory")]
    return [ResourceSpec(name=resource.name, weight=resource.weight or 1) for resource in named]
