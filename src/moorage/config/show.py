"""A configuration as a document: what `--write-config-to` writes and `config view` prints."""

from __future__ import annotations

import base64
import re
from typing import Any

import msgspec
import yaml

from moorage.api.durations import Duration
from moorage.api.pods import NodeAffinity
from moorage.config.args import NodeAffinityArgs, PluginArgs
from moorage.config.expand import PointsOf, expand_all
from moorage.config.types import V1, KubeSchedulerConfiguration, Profile


def show(config: KubeSchedulerConfiguration) -> dict[str, Any]:
    """The complete configuration in the form kube-scheduler writes it.

    Of `pluginConfig`, what belongs to enabled plugins is shown, sorted by name.
    """
    document: dict[str, Any] = _plain(config)
    document["profiles"] = [_profile(profile) for profile in config.profiles]
    for name in ("extenders", "delayCacheUntilActive"):
        if not document[name]:
            del document[name]
    return document


def show_expanded(config: KubeSchedulerConfiguration, points_of: PointsOf) -> dict[str, Any]:
    """Which plugins run in each profile, per extension point in run order, score plugins with weight."""
    profiles = []
    for profile, points in zip(config.profiles, expand_all(config, points_of), strict=True):
        plugins = {
            point: [{"name": ref.name, "weight": ref.weight} if ref.weight else ref.name for ref in refs]
            for point, refs in points.items()
            if refs
        }
        profiles.append({"schedulerName": profile.scheduler_name, "plugins": plugins})
    return {"profiles": profiles}


def to_yaml(document: dict[str, Any], *, sort_keys: bool = True) -> str:
    """YAML text; by default with the keys in alphabetical order, as Kubernetes writes them."""
    text: str = yaml.dump(
        document, Dumper=_Dumper, sort_keys=sort_keys, default_flow_style=False, allow_unicode=True
    )
    return text


class _Dumper(yaml.CSafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        return True


def quote_what_go_reads_otherwise(dumper: type[yaml.CSafeDumper] | type[yaml.SafeDumper]) -> None:
    """Texts that are plain text for this library, but something else for the one Kubernetes uses."""
    dumper.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile("[yYnN]$"), list("yYnN"))
    number = re.compile(r"[-+]?(0[bBoO][0-9_]+|([0-9][0-9_]*(\.[0-9_]*)?|\.[0-9][0-9_]*)([eE][-+]?[0-9]+)?)$")
    dumper.add_implicit_resolver("tag:yaml.org,2002:float", number, list("-+.0123456789"))


quote_what_go_reads_otherwise(_Dumper)


def _profile(profile: Profile) -> dict[str, Any]:
    document: dict[str, Any] = {
        "schedulerName": profile.scheduler_name,
        "plugins": _plain(profile.plugins),
    }
    if profile.percentage_of_nodes_to_score is not None:
        document["percentageOfNodesToScore"] = profile.percentage_of_nodes_to_score
    enabled = profile.plugins.enabled_names()
    configs = [
        config for config in profile.plugin_config if config.name in enabled and config.args is not None
    ]
    if configs:
        configs.sort(key=lambda config: config.name)
        document["pluginConfig"] = [{"name": config.name, "args": _args(config.args)} for config in configs]
    return document


def _args(args: Any) -> Any:
    if not isinstance(args, PluginArgs):
        return args
    document = _without_empties(_plain(args))
    if isinstance(args, NodeAffinityArgs) and args.added_affinity is not None:
        document["addedAffinity"] = _node_affinity(args.added_affinity)
    return {"apiVersion": V1, "kind": type(args).__name__, **document}


def _node_affinity(affinity: NodeAffinity) -> dict[str, Any]:
    document: dict[str, Any] = {}
    if affinity.required is not None:
        terms = [_plain(term) for term in affinity.required.node_selector_terms]
        document["requiredDuringSchedulingIgnoredDuringExecution"] = {"nodeSelectorTerms": terms}
    if affinity.preferred:
        document["preferredDuringSchedulingIgnoredDuringExecution"] = [
            {"weight": term.weight, "preference": _plain(term.preference)} for term in affinity.preferred
        ]
    return document


def _without_empties(value: Any) -> Any:
    if isinstance(value, dict):
        kept = {key: _without_empties(entry) for key, entry in value.items()}
        return {key: entry for key, entry in kept.items() if entry is not None and entry != []}
    if isinstance(value, list):
        return [_without_empties(entry) for entry in value]
    return value


def _plain(part: Any) -> Any:
    return _whole_numbers(msgspec.to_builtins(part, enc_hook=_encoded, builtin_types=()))


def _encoded(value: Any) -> Any:
    if isinstance(value, Duration):
        return str(value)
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    raise NotImplementedError(f"cannot show a {type(value).__name__}")


def _whole_numbers(value: Any) -> Any:
    """Floats without a fraction as integers, the way Go writes them."""
    if isinstance(value, dict):
        return {key: _whole_numbers(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_whole_numbers(entry) for entry in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value
