"""What a configuration gets where the file says nothing."""

from __future__ import annotations

from typing import Any

from moorage.api.durations import Duration
from moorage.config.args import default_args
from moorage.config.feature_gates import GANG_SCHEDULING, TOPOLOGY_AWARE_WORKLOADS, FeatureGates
from moorage.config.merge import merge
from moorage.config.types import (
    ClientConnection,
    KubeSchedulerConfiguration,
    LeaderElection,
    PluginConfig,
    PluginRef,
    Profile,
)

DEFAULT_SCHEDULER_NAME = "default-scheduler"

_DEFAULT_PLUGINS = (
    ("SchedulingGates", 0),
    ("PrioritySort", 0),
    ("NodeUnschedulable", 0),
    ("NodeName", 0),
    ("TaintToleration", 3),
    ("NodeAffinity", 2),
    ("NodePorts", 0),
    ("NodeResourcesFit", 1),
    ("VolumeRestrictions", 0),
    ("NodeVolumeLimits", 0),
    ("VolumeBinding", 0),
    ("VolumeZone", 0),
    ("PodTopologySpread", 2),
    ("InterPodAffinity", 2),
    ("DynamicResources", 2),
    ("DefaultPreemption", 0),
    ("NodeResourcesBalancedAllocation", 1),
    ("ImageLocality", 1),
    ("DefaultBinder", 0),
    ("NodeDeclaredFeatures", 0),
)


_BEHIND_GATES = (
    (GANG_SCHEDULING, "GangScheduling", 0),
    (TOPOLOGY_AWARE_WORKLOADS, "TopologyPlacementGenerator", 0),
    (TOPOLOGY_AWARE_WORKLOADS, "PodGroupPodsCount", 1),
)


def default_plugins(gates: FeatureGates | None = None) -> list[PluginRef]:
    """The plugins that are enabled at `multiPoint` by default, in order."""
    switched = [(name, weight) for gate, name, weight in _BEHIND_GATES if gates and gates.enabled(gate)]
    return [PluginRef(name=name, weight=weight) for name, weight in (*_DEFAULT_PLUGINS, *switched)]


def complete(
    config: KubeSchedulerConfiguration, document: dict[str, Any], gates: FeatureGates | None = None
) -> None:
    """Completes a decoded configuration in place; `document` tells what was given and what not."""
    if document.get("enableContentionProfiling") is None:
        config.enable_contention_profiling = config.enable_profiling
    _complete_leader_election(config.leader_election)
    _complete_client_connection(config.client_connection)
    for extender in config.extenders:
        extender.http_timeout = extender.http_timeout or Duration.of_seconds(5)
    if not config.profiles:
        config.profiles = [Profile(scheduler_name=DEFAULT_SCHEDULER_NAME)]
    elif len(config.profiles) == 1 and (document["profiles"][0] or {}).get("schedulerName") is None:
        config.profiles[0].scheduler_name = DEFAULT_SCHEDULER_NAME
    for profile in config.profiles:
        complete_profile(profile, gates)


def complete_profile(profile: Profile, gates: FeatureGates | None = None) -> None:
    """Adds the default plugins, and default args for every enabled plugin that is known to have some."""
    plugins = profile.plugins
    plugins.multi_point = merge(default_plugins(gates), plugins.multi_point)
    for ref in (ref for point in plugins.sets().values() for ref in point.disabled):
        ref.weight = 0
    configured = {config.name for config in profile.plugin_config}
    for name in sorted(plugins.enabled_names() - configured):
        args = default_args(name)
        if args is not None:
            profile.plugin_config.append(PluginConfig(name=name, args=args))


def _complete_leader_election(given: LeaderElection) -> None:
    usual = LeaderElection()
    given.lease_duration = given.lease_duration or usual.lease_duration
    given.renew_deadline = given.renew_deadline or usual.renew_deadline
    given.retry_period = given.retry_period or usual.retry_period
    given.resource_lock = given.resource_lock or usual.resource_lock
    given.resource_name = given.resource_name or usual.resource_name
    given.resource_namespace = given.resource_namespace or usual.resource_namespace


def _complete_client_connection(given: ClientConnection) -> None:
    usual = ClientConnection()
    given.content_type = given.content_type or usual.content_type
    given.qps = given.qps or usual.qps
    given.burst = given.burst or usual.burst
