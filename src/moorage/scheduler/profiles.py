"""From a configuration to the profiles that run."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from moorage.config import ConfigError, ConfigProblem, KubeSchedulerConfiguration, expand_all, load
from moorage.config.defaults import DEFAULT_SCHEDULER_NAME
from moorage.config.feature_gates import FeatureGates
from moorage.config.types import KIND, V1
from moorage.contrib.features import FEATURES
from moorage.framework.extenders.asking import Extenders, make_extenders
from moorage.framework.handle import Services
from moorage.framework.loading.registry import PluginLoadError, Registry
from moorage.framework.runtime.profile import Profile, make_profile

DEFAULT_CONFIGURATION = f"apiVersion: {V1}\nkind: {KIND}\n"


def default_configuration(
    registry: Registry, plugins: Sequence[str] = (), gates: FeatureGates | None = None
) -> KubeSchedulerConfiguration:
    """The configuration without a file: the default plugins, and these at every point they implement."""
    return load(json.dumps(default_document(registry, plugins)), gates=gates).config


def default_document(registry: Registry, plugins: Sequence[str] = ()) -> dict[str, Any]:
    """The same as a file would say it, without what is default anyway."""
    points: dict[str, dict[str, list[dict[str, str]]]] = {}

    def add(point: str, what: str, name: str) -> None:
        points.setdefault(point, {}).setdefault(what, []).append({"name": name})

    replaced = {feature.plugin: feature.replaces for feature in FEATURES}
    for name in plugins:
        entry = registry.get(name)
        implemented = entry.points if entry else ()
        add("multiPoint", "enabled", name)
        makes_room = dict(replaced.get(name, {}))
        if "queueSort" in implemented:
            # There can be only one.
            makes_room["queueSort"] = "PrioritySort"
        for point, other in makes_room.items():
            add(point, "disabled", other)
        if "bind" in implemented:
            # Behind the default binder, which never passes, it would not be asked.
            add("bind", "enabled", name)
    profile = {"schedulerName": DEFAULT_SCHEDULER_NAME, **({"plugins": points} if points else {})}
    return {"apiVersion": V1, "kind": KIND, "profiles": [profile]}


def make_profiles(
    config: KubeSchedulerConfiguration, registry: Registry, services: Services
) -> dict[str, Profile]:
    """The profiles of a configuration by scheduler name; raises ConfigError with all that is wrong.

    They share the configuration's extenders, which `services` has from here on.
    """
    services.extenders = Extenders(services.suspension, make_extenders(config.extenders))
    expanded = expand_all(config, registry.points_of())
    profiles: dict[str, Profile] = {}
    problems: list[ConfigProblem] = []
    for place, (profile, points) in enumerate(zip(config.profiles, expanded, strict=True)):
        try:
            profiles[profile.scheduler_name] = make_profile(
                profile.scheduler_name,
                points,
                registry,
                services,
                {item.name: item.args for item in profile.plugin_config},
                profile.percentage_of_nodes_to_score,
            )
        except PluginLoadError as error:
            prefix = f"initializing profiles: creating profile for scheduler name {profile.scheduler_name}: "
            problems += [
                ConfigProblem(f"profiles[{place}]", f"{prefix}{line}") for line in str(error).splitlines()
            ]
    if problems:
        raise ConfigError(problems)
    return profiles
