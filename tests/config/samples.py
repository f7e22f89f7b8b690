"""The in-tree plugins' extension points, and short ways to make configurations."""

from __future__ import annotations

from typing import Any

import yaml

from moorage.config import ConfigError, KubeSchedulerConfiguration, expand_all, load

V1 = "kubescheduler.config.k8s.io/v1"
V1BETA2 = "kubescheduler.config.k8s.io/v1beta2"
V1BETA3 = "kubescheduler.config.k8s.io/v1beta3"

DEFAULT_POINTS = {
    "preEnqueue": "SchedulingGates DynamicResources DefaultPreemption",
    "queueSort": "PrioritySort",
    "preFilter": "NodeAffinity NodePorts NodeResourcesFit VolumeRestrictions NodeVolumeLimits VolumeBinding "
    "VolumeZone PodTopologySpread InterPodAffinity DynamicResources NodeDeclaredFeatures",
    "filter": "NodeUnschedulable NodeName TaintToleration NodeAffinity NodePorts NodeResourcesFit "
    "VolumeRestrictions NodeVolumeLimits VolumeBinding VolumeZone PodTopologySpread InterPodAffinity "
    "DynamicResources NodeDeclaredFeatures",
    "postFilter": "DynamicResources DefaultPreemption",
    "preScore": "TaintToleration NodeAffinity NodeResourcesFit VolumeBinding PodTopologySpread "
    "InterPodAffinity NodeResourcesBalancedAllocation",
    "score": "TaintToleration NodeAffinity NodeResourcesFit VolumeBinding PodTopologySpread "
    "InterPodAffinity DynamicResources NodeResourcesBalancedAllocation ImageLocality",
    "reserve": "VolumeBinding DynamicResources",
    "permit": "",
    "preBind": "VolumeBinding DynamicResources",
    "bind": "DefaultBinder",
    "postBind": "",
}


def _by_plugin() -> dict[str, tuple[str, ...]]:
    names = {name for names in DEFAULT_POINTS.values() for name in names.split()}
    return {
        name: tuple(point for point, names in DEFAULT_POINTS.items() if name in names.split())
        for name in sorted(names)
    }


IN_TREE = _by_plugin()


def document(version: str = V1, **fields: Any) -> dict[str, Any]:
    return {"apiVersion": version, "kind": "KubeSchedulerConfiguration", **fields}


def text_of(version: str = V1, **fields: Any) -> str:
    text: str = yaml.safe_dump(document(version, **fields), sort_keys=False)
    return text


def config_of(version: str = V1, **fields: Any) -> KubeSchedulerConfiguration:
    return load(text_of(version, **fields)).config


def with_args(plugin: str, args: Any) -> dict[str, Any]:
    """Profiles with args for one plugin."""
    return {"profiles": [{"pluginConfig": [{"name": plugin, "args": args}]}]}


def with_plugins(**plugins: Any) -> dict[str, Any]:
    return {"profiles": [{"plugins": plugins}]}


def problems_of(text: str | bytes | None = None, **fields: Any) -> list[str]:
    """What is said about a configuration, line by line; empty if it is fine."""
    try:
        expand_all(load(text_of(**fields) if text is None else text).config, IN_TREE)
    except ConfigError as error:
        assert all("\n" not in str(problem) for problem in error.problems)
        return [str(problem) for problem in error.problems]
    return []
