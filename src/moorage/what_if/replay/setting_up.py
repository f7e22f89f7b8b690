"""From the texts and files that a job names to what a replay is made with."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import yaml

from moorage.api.decoding import DecodeError, from_document
from moorage.api.nodes import Node
from moorage.config import KubeSchedulerConfiguration, load
from moorage.contrib.features import FEATURES
from moorage.framework.loading.registry import Registry
from moorage.plugins.catalog import in_tree_registry
from moorage.scheduler.profiles import default_configuration
from moorage.what_if.trace import job_lists


class BadJob(Exception):
    """A job that cannot be done; the text is one line that names the place and what to do."""


def set_up(
    config: str, plugins: Iterable[str] = (), features: Iterable[str] = ()
) -> tuple[KubeSchedulerConfiguration, Registry]:
    """The configuration and the registry, as `--config`, `--plugin` and `--with` stand for.

    `config` is the text of a configuration, empty for the defaults. Raises ConfigError, PluginLoadError or
    BadJob.
    """
    registry = in_tree_registry()
    registry.load_entry_points()
    added = [name for plugin in plugins for name in registry.load(plugin)]
    given = [name for text in features for name in text.split(",")]
    known = {feature.name: feature.plugin for feature in FEATURES}
    for name in given:
        if name not in known:
            raise BadJob(f"--with: there is no {name!r}; choose of {', '.join(sorted(known))}")
    if config:
        return load(config).config, registry
    wanted = [feature.plugin for feature in FEATURES if feature.name in given]
    return default_configuration(registry, list(dict.fromkeys((*wanted, *added)))), registry


def read_nodes(path: Path) -> list[Node]:
    """The Node objects of a YAML or JSON file, in a List or one after the other, or of a table in CSV.

    Raises BadJob.
    """
    if path.suffix == ".csv":
        return _nodes_of_table(path)
    try:
        documents = list(yaml.load_all(path.read_bytes(), Loader=yaml.CSafeLoader))
    except OSError as error:
        raise BadJob(f"{path}: cannot read the file: {error.strerror}; check the path") from None
    except yaml.YAMLError as error:
        raise BadJob(f"{path}: is no YAML: {' '.join(str(error).split())}") from None
    nodes: dict[str, Node] = {}
    for place, document in enumerate(_opened(documents)):
        kind = document.get("kind") if isinstance(document, dict) else None
        if kind != Node.kind:
            raise BadJob(f"{path}: object {place + 1} is {kind or 'no Kubernetes object'}; give Nodes only")
        metadata = document.get("metadata") or {}
        name = metadata.get("name")
        if not name or name in nodes:
            what = f"{name} is given twice" if name else "has no name"
            raise BadJob(f"{path}: Node {place + 1} {what}; change `metadata.name`")
        try:
            uid = metadata.get("uid") or f"node-{name}"
            nodes[name] = from_document(Node, {**document, "metadata": {**metadata, "uid": uid}})
        except DecodeError as error:
            raise BadJob(f"{path}: {error}") from None
    if not nodes:
        raise BadJob(f"{path}: holds no Node; give the nodes to replay with")
    return list(nodes.values())


def _nodes_of_table(path: Path) -> list[Node]:
    try:
        lines = path.read_text("utf-8-sig").splitlines(keepends=True)
        found = [from_document(Node, document) for document in job_lists.read_nodes(lines, str(path))]
    except OSError as error:
        raise BadJob(f"{path}: cannot read the file: {error.strerror}; check the path") from None
    except UnicodeDecodeError as error:
        raise BadJob(f"{path}: not text in UTF-8 at byte {error.start}; save it as such") from None
    except job_lists.BadTable as error:
        raise BadJob(str(error)) from None
    if not found:
        raise BadJob(f"{path}: holds no node; give the nodes to replay with")
    return found


def _opened(documents: list[Any]) -> Iterator[Any]:
    for document in documents:
        if isinstance(document, dict) and str(document.get("kind", "")).endswith("List"):
            yield from document.get("items") or ()
        elif document is not None:
            yield document
