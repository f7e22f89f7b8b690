"""From a configuration to the profiles that run."""

from __future__ import annotations

from collections.abc import Sequence

from moorage.config import ConfigError, ConfigProblem, KubeSchedulerConfiguration, expand_all, load
from moorage.config.types import KIND, V1, PluginRef
from moorage.framework.handle import Services
from moorage.framework.profile import Profile, make_profile
from moorage.framework.registry import PluginLoadError, Registry

DEFAULT_CONFIGURATION = f"apiVersion: {V1}\nkind: {KIND}\n"


def default_configuration(registry: Registry, plugins: Sequence[str] = ()) -> KubeSchedulerConfiguration:
    """The configuration without a file: the default plugins, and these at every point they implement."""
    config = load(DEFAULT_CONFIGURATION).config
    lists = config.profiles[0].plugins
    for name in plugins:
        entry = registry.get(name)
        points = entry.points if entry else ()
        lists.multi_point.enabled.append(PluginRef(name=name))
        if "queueSort" in points:
            # There can be only one.
            lists.queue_sort.disabled.append(PluginRef(name="PrioritySort"))
        if "bind" in points:
            # Behind the default binder, which never passes, it would not be asked.
            lists.bind.enabled.append(PluginRef(name=name))
    return config


def make_profiles(
    config: KubeSchedulerConfiguration, registry: Registry, services: Services
) -> dict[str, Profile]:
    """The profiles of a configuration by scheduler name; raises ConfigError with all that is wrong."""
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
            problems.append(ConfigProblem(f"profiles[{place}]", f"{prefix}{error}"))
    if problems:
        raise ConfigError(problems)
    return profiles
