"""Changes to a KubeSchedulerConfiguration in the form of its file, which thereby stays short."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from moorage.config import expand_all, load
from moorage.config.expand import PointsOf

Document = dict[str, Any]


def text_of(document: Document) -> str:
    """The configuration as a text that :func:`moorage.config.load` reads; equal ones have equal texts."""
    return json.dumps(document, sort_keys=True)


def score_weights(document: Document, points_of: PointsOf) -> list[dict[str, int]]:
    """For each profile, the plugins that score and their weights; raises ConfigError."""
    expanded = expand_all(load(text_of(document)).config, points_of)
    return [{ref.name: ref.weight for ref in points["score"]} for points in expanded]


def profiles_of(document: Document) -> list[Document]:
    """The profiles of a document, to be changed there; one without any gets one, which is as good as none."""
    profiles = _inner_list(document, "profiles")
    if not profiles:
        profiles.append({})
    for place, profile in enumerate(profiles):
        if profile is None:
            profiles[place] = {}
    return profiles


def set_weight(profile: Document, plugin: str, weight: int) -> None:
    """Gives a plugin that scores in this profile another weight; with 0 it no longer scores."""
    plugins = _inner(profile, "plugins")
    if weight == 0:
        score = _inner(plugins, "score")
        score["enabled"] = [each for each in _inner_list(score, "enabled") if each["name"] != plugin]
        disabled = _inner_list(score, "disabled")
        if not any(each["name"] == plugin for each in disabled):
            disabled.append({"name": plugin})
        return
    # An entry of the point itself counts more than one of multiPoint.
    for point in ("score", "multiPoint"):
        for entry in (plugins.get(point) or {}).get("enabled") or ():
            if entry["name"] == plugin:
                entry["weight"] = weight
                return
    _inner_list(_inner(plugins, "multiPoint"), "enabled").append({"name": plugin, "weight": weight})


def set_args(profile: Document, plugin: str, args: Mapping[str, Any]) -> None:
    """Replaces some of the args of a plugin; those that are None are taken away."""
    entries = _inner_list(profile, "pluginConfig")
    entry = next((each for each in entries if each["name"] == plugin), None)
    if entry is None:
        entry = {"name": plugin}
        entries.append(entry)
    given = _inner(entry, "args")
    given.update(args)
    for name in [name for name, value in given.items() if value is None]:
        del given[name]


def _inner(document: Document, name: str) -> Document:
    if document.get(name) is None:
        document[name] = {}
    found: Document = document[name]
    return found


def _inner_list(document: Document, name: str) -> list[Any]:
    if document.get(name) is None:
        document[name] = []
    found: list[Any] = document[name]
    return found
