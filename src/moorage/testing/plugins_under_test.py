"""The configuration in which plugins are tested."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from moorage.config import KubeSchedulerConfiguration
from moorage.config.types import PluginConfig
from moorage.framework.extension_points import Plugin
from moorage.framework.loading.registry import Registry
from moorage.plugins.catalog import in_tree_registry
from moorage.scheduler.profiles import default_configuration

Plugins = type[Plugin] | Sequence[type[Plugin]]


def configured(
    plugin: Plugins, args: Any, config: KubeSchedulerConfiguration | None
) -> tuple[Registry, KubeSchedulerConfiguration]:
    """A registry that has these plugins too, and the given configuration or the default one with them."""
    plugins = [plugin] if isinstance(plugin, type) else list(plugin)
    registry = in_tree_registry()
    names = [registry.add_class(each, "test").name for each in plugins]
    if config is not None and args is not None:
        raise TypeError("args: put them into the pluginConfig of `config`")
    if config is None:
        config = default_configuration(registry, names)
        config.profiles[0].plugin_config += given_args(names, args)
    return registry, config


def given_args(names: Sequence[str], args: Any) -> list[PluginConfig]:
    """The arguments of plugins of these names: of the only one, or a mapping of names to arguments."""
    if args is None:
        return []
    by_name = {names[0]: args} if len(names) == 1 else args
    if not isinstance(by_name, Mapping) or not by_name.keys() <= set(names):
        raise TypeError(f"args: give a mapping of plugin name to args; the plugins are {', '.join(names)}")
    return [
        PluginConfig(name=name, args=dict(value) if isinstance(value, Mapping) else value)
        for name, value in by_name.items()
    ]
