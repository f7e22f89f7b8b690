"""The nodes, the plugins and the configuration of a cluster, from what a test gives."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from moorage.api.nodes import Node
from moorage.cluster.life.nodes import default_nodes
from moorage.config import KubeSchedulerConfiguration
from moorage.config.load import Loaded, load, load_file
from moorage.framework.extension_points import Plugin
from moorage.framework.loading.registry import Registry
from moorage.plugins.catalog import in_tree_registry
from moorage.scheduler.profiles import default_configuration
from moorage.testing.clusters.documents import Document, documents_of
from moorage.testing.plugins_under_test import given_args

log = logging.getLogger(__name__)


class SchedulerSetup(NamedTuple):
    registry: Registry
    config: KubeSchedulerConfiguration


def set_up(
    plugins: type[Plugin] | Iterable[type[Plugin] | str],
    config: str | Path | Mapping[str, Any] | KubeSchedulerConfiguration | None,
    args: Any,
) -> SchedulerSetup:
    """Plugins are classes, or what --plugin takes; without a configuration, they run at all their points."""
    registry = in_tree_registry()
    names: list[str] = []
    for plugin in [plugins] if isinstance(plugins, type | str) else plugins:
        if not isinstance(plugin, str) and not (isinstance(plugin, type) and issubclass(plugin, Plugin)):
            raise TypeError(f"plugins: {plugin!r} is no plugin; give classes, or what --plugin takes")
        if isinstance(plugin, str):
            names += registry.load(plugin)
        else:
            names.append(registry.add_class(plugin, plugin.__module__).name)
    if config is None:
        made = default_configuration(registry, names)
        made.profiles[0].plugin_config += given_args(names, args)
        return SchedulerSetup(registry, made)
    if args is not None:
        raise TypeError("args: put them into the pluginConfig of `config`")
    if isinstance(config, KubeSchedulerConfiguration):
        return SchedulerSetup(registry, config)
    loaded = _loaded(config)
    for warning in loaded.warnings:
        log.warning("%s", warning)
    return SchedulerSetup(registry, loaded.config)


def _loaded(config: str | Path | Mapping[str, Any]) -> Loaded:
    if isinstance(config, Mapping):
        return load(msgspec.json.encode(config), source="config")
    return load_file(config)


def nodes_of(given: int | Iterable[Node | Mapping[str, Any]]) -> list[Document]:
    """So many plain nodes, or those that are given."""
    if isinstance(given, int):
        return default_nodes(given)
    if isinstance(given, str | Mapping):
        raise TypeError(f"nodes: {given!r} is neither a number nor a list of nodes")
    nodes = [document for each in given for document in documents_of(each)]
    for node in nodes:
        if node.get("kind") != "Node":
            raise TypeError(f"nodes: a {node.get('kind')} is no Node; give it with `objects`")
    for name, count in Counter(node["metadata"].get("name") for node in nodes).items():
        if count > 1:
            raise ValueError(f"nodes: {count} are named {name}; give each a name of its own")
    return nodes
