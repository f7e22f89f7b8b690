"""Configurations of versions that kube-scheduler no longer reads, rewritten as v1.

Only what the user wrote is rewritten; the defaults come later. The document must have passed
`old_version_problems` and the strict decoder.
"""

from __future__ import annotations

import copy
from typing import Any, NamedTuple

from moorage.api.points import POINTS
from moorage.config.merge import merge
from moorage.config.problems import ConfigProblem, invalid
from moorage.config.types import GROUP, V1, PluginRef, PluginSet

V1BETA2 = f"{GROUP}/v1beta2"
V1BETA3 = f"{GROUP}/v1beta3"
OLD_VERSIONS = (V1BETA2, V1BETA3)

_ADDRESSES = ("healthzBindAddress", "metricsBindAddress")
_NEWER_POINTS = [point.key for point in POINTS.values() if point.is_read_only]
_COVERED_BY = {
    "EBSLimits": "NodeVolumeLimits",
    "GCEPDLimits": "NodeVolumeLimits",
    "AzureDiskLimits": "NodeVolumeLimits",
    "CinderLimits": "NodeVolumeLimits",
    "SelectorSpread": "PodTopologySpread",
}
_V1BETA2_WEIGHTS = {"TaintToleration": 1, "NodeAffinity": 1, "InterPodAffinity": 1}

# In v1beta2 a default plugin that is listed again at a point keeps its place, in v1 it moves to the front.
# These are the points where the order decides something, with their default plugins in v1's order, which is
# v1beta2's with the plugins that have come since.
_ORDERED_POINTS: dict[str, tuple[str, ...]] = {
    "filter": (
        "NodeUnschedulable",
        "NodeName",
        "TaintToleration",
        "NodeAffinity",
        "NodePorts",
        "NodeResourcesFit",
        "VolumeRestrictions",
        "NodeVolumeLimits",
        "VolumeBinding",
        "VolumeZone",
        "PodTopologySpread",
        "InterPodAffinity",
        "DynamicResources",
        "NodeDeclaredFeatures",
    ),
    "postFilter": ("DynamicResources", "DefaultPreemption"),
    "reserve": ("VolumeBinding", "DynamicResources"),
    "bind": ("DefaultBinder",),
}


class Conversion(NamedTuple):
    document: dict[str, Any]
    warnings: list[str]


def version_warning(version: str) -> str:
    return f"KubeSchedulerConfiguration {version} is no longer served, reading it as v1"


def old_version_problems(document: dict[str, Any], version: str) -> list[ConfigProblem]:
    """Fields that v1 has but the old version had not, and addresses with a port."""
    unknown = ["delayCacheUntilActive"] if "delayCacheUntilActive" in document else []
    profiles = document.get("profiles")
    for i, profile in enumerate(profiles if isinstance(profiles, list) else []):
        if not isinstance(profile, dict):
            continue
        if "percentageOfNodesToScore" in profile:
            unknown.append(f"profiles[{i}].percentageOfNodesToScore")
        plugins = profile.get("plugins")
        if isinstance(plugins, dict):
            unknown += [f"profiles[{i}].plugins.{point}" for point in _NEWER_POINTS if point in plugins]
    problems = [ConfigProblem(path, f'strict decoding error: unknown field "{path}"') for path in unknown]
    if version == V1BETA2:
        for name in _ADDRESSES:
            address = document.get(name)
            if address is not None and not (address == "" or str(address).endswith(":0")):
                problems.append(invalid(name, address, "must be empty or with an explicit 0 port"))
    return problems


def without_addresses(document: dict[str, Any], version: str) -> dict[str, Any]:
    """The document without the fields that only v1beta2 had."""
    dropped = _ADDRESSES if version == V1BETA2 else ()
    return {key: value for key, value in document.items() if key not in dropped}


def to_v1(document: dict[str, Any]) -> Conversion:
    """The same configuration in v1, keeping what it does, with a warning for what could not be kept."""
    version = document["apiVersion"]
    converted = copy.deepcopy(without_addresses(document, version))
    converted["apiVersion"] = V1
    if version == V1BETA2 and not converted.get("profiles"):
        converted["profiles"] = [{}]
    warnings: list[str] = []
    profiles = converted.get("profiles") or []
    for i, profile in enumerate(profiles):
        profiles[i] = profile if profile is not None else {}
        warnings += _convert_profile(profiles[i], version, f"profiles[{i}]")
    return Conversion(converted, warnings)


def _convert_profile(profile: dict[str, Any], version: str, path: str) -> list[str]:
    warnings = _convert_args(profile, path)
    plugins = profile.get("plugins") or {}
    for point in ("multiPoint", "preEnqueue") if version == V1BETA2 else ("preEnqueue",):
        if plugins.pop(point, None):
            warnings.append(f"{path}.plugins.{point} is dropped: {version} ignored it")
    for point, plugin_set in plugins.items():
        warnings += _drop_removed(plugin_set or {}, f"{path}.plugins.{point}")
    if version == V1BETA2:
        for point, defaults in _ORDERED_POINTS.items():
            if plugins.get(point):
                _keep_order(plugins[point], defaults)
        _keep_weights(plugins)
        if plugins:
            profile["plugins"] = plugins
    return warnings


def _convert_args(profile: dict[str, Any], path: str) -> list[str]:
    warnings = []
    kept = []
    for config in profile.get("pluginConfig") or []:
        name = config.get("name") if config else None
        if name in _COVERED_BY:
            warnings.append(f"{path}.pluginConfig: {name} is dropped: {_COVERED_BY[name]} does its work now")
            continue
        args = config.get("args") if config else None
        if isinstance(args, dict) and args.get("apiVersion") in OLD_VERSIONS:
            args["apiVersion"] = V1
        kept.append(config)
    if profile.get("pluginConfig"):
        profile["pluginConfig"] = kept
    return warnings


def _drop_removed(plugin_set: dict[str, Any], path: str) -> list[str]:
    enabled = plugin_set.get("enabled") or []
    dropped = [name for name in _names(enabled) if name in _COVERED_BY]
    if dropped:
        plugin_set["enabled"] = [entry for entry in enabled if (entry or {}).get("name") not in _COVERED_BY]
    return [f"{path}.enabled: {name} is dropped: {_COVERED_BY[name]} does its work now" for name in dropped]


def _keep_order(plugin_set: dict[str, Any], defaults: tuple[str, ...]) -> None:
    enabled, disabled = plugin_set.get("enabled") or [], plugin_set.get("disabled") or []
    own = PluginSet(
        enabled=[PluginRef(name=name) for name in _names(enabled)],
        disabled=[PluginRef(name=name) for name in _names(disabled)],
    )
    listed_again = any(ref.name in defaults and not own.disables(ref.name) for ref in own.enabled)
    if not listed_again or own.disables("*"):
        return
    wanted = merge([PluginRef(name=name) for name in defaults], own).enabled
    given = {(entry or {}).get("name", ""): entry for entry in enabled}
    plugin_set["enabled"] = [given.get(ref.name) or {"name": ref.name} for ref in wanted]
    plugin_set["disabled"] = [{"name": "*"}]


def _keep_weights(plugins: dict[str, Any]) -> None:
    score = plugins.get("score") or {}
    enabled, disabled = score.get("enabled") or [], _names(score.get("disabled") or [])
    if "*" in disabled:
        return
    added = [
        {"name": name, "weight": weight}
        for name, weight in _V1BETA2_WEIGHTS.items()
        if name not in _names(enabled) and name not in disabled
    ]
    if added:
        score["enabled"] = enabled + added
        plugins["score"] = score


def _names(entries: list[Any]) -> list[str]:
    return [(entry or {}).get("name") or "" for entry in entries]
