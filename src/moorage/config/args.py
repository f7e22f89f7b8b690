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
    weight: Int64 = 0


class UtilizationShapePoint(ConfigPart):
    utilization: Int32 = 0
    score: Int32 = 0


class RequestedToCapacityRatioParam(ConfigPart):
    shape: list[UtilizationShapePoint] = []


class ScoringStrategy(ConfigPart):
    type: str = ""
    resources: list[ResourceSpec] = []
    requested_to_capacity_ratio: RequestedToCapacityRatioParam | None = None


class PluginArgs(ConfigPart):
    """Base of all in-tree args."""

    def complete(self) -> None:
        """Gives a value to what was left empty and has a default."""


class DefaultPreemptionArgs(PluginArgs):
    min_candidate_nodes_percentage: Int32 = 10
    min_candidate_nodes_absolute: Int32 = 100


class DynamicResourcesArgs(PluginArgs):
    """A filter timeout of 0 means that there is no limit."""

    filter_timeout: Duration = Duration.of_seconds(10)
    binding_timeout: Duration = Duration.of_seconds(600)


class InterPodAffinityArgs(PluginArgs):
    hard_pod_affinity_weight: Int32 = 1
    ignore_preferred_terms_of_existing_pods: bool = False


class NodeAffinityArgs(PluginArgs):
    added_affinity: NodeAffinity | None = None


class NodeResourcesBalancedAllocationArgs(PluginArgs):
    resources: list[ResourceSpec] = []

    def complete(self) -> None:
        self.resources = _with_weights(self.resources)


class NodeResourcesFitArgs(PluginArgs):
    ignored_resources: list[str] = []
    ignored_resource_groups: list[str] = []
    scoring_strategy: ScoringStrategy = field(default_factory=lambda: ScoringStrategy(type="LeastAllocated"))

    def complete(self) -> None:
        self.scoring_strategy.resources = _with_weights(self.scoring_strategy.resources)


class PodTopologySpreadArgs(PluginArgs):
    default_constraints: list[TopologySpreadConstraint] = []
    defaulting_type: str = ""

    def complete(self) -> None:
        self.defaulting_type = self.defaulting_type or "System"


class VolumeBindingArgs(PluginArgs):
    bind_timeout_seconds: Int64 = 600
    shape: list[UtilizationShapePoint] | None = None


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
