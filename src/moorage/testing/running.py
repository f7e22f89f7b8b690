"""`run`: one pod through a profile against a handful of nodes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from moorage.api.meta import Object
from moorage.api.nodes import Node
from moorage.api.pods import Pod
from moorage.config import KubeSchedulerConfiguration
from moorage.config.types import PluginConfig
from moorage.framework.eviction import Evicted
from moorage.framework.extension_points import Plugin
from moorage.framework.status import Code, Status
from moorage.plugins.catalog import in_tree_registry
from moorage.scheduler.cycle import Decision
from moorage.scheduler.profiles import default_configuration
from moorage.what_if.scenario import Scenario


@dataclass
class Run:
    """What became of the pod."""

    node: str
    """The node chosen for the pod; empty if there is none."""
    feasible: list[str]
    """The nodes that fit."""
    statuses: dict[str, Status]
    """Why each rejected node was rejected."""
    scores: dict[str, dict[str, int]] = field(default_factory=dict)
    """Node to plugin to score, 0 to 100, before the weight."""
    totals: dict[str, int] = field(default_factory=dict)
    """Node to the weighted sum of its scores."""
    message: str = ""
    """What the pod's condition would say; empty if it got a node."""
    error: str = ""
    """What went wrong if a plugin failed."""
    nominated: str = ""
    """The node to which PostFilter nominated the pod; empty if to none."""
    evicted: list[Evicted] = field(default_factory=list)
    """The pods that have to go for it, each with `pod`, `by` and `message`."""
    plugins: dict[str, Plugin] = field(default_factory=dict)
    """The plugin objects that took part, by name."""


def run(
    plugin: type[Plugin] | Sequence[type[Plugin]],
    pod: Pod,
    nodes: Iterable[Node],
    *,
    args: Any = None,
    objects: Iterable[Object] = (),
    pods: Iterable[Pod] = (),
    config: KubeSchedulerConfiguration | None = None,
) -> Run:
    """Puts one pod through the default plugins and `plugin` and tells everything about the decision.

    Every node is filtered, and scored if it fits. `args` are the plugin's arguments: the Struct it names, or
    the mapping a configuration file would hold. `pods` run already (those with a node); `objects` are
    whatever else the plugin reads. `config` replaces the default configuration and brings the args.

        result = run(QuietNodes, make_pod(), [make_node("a"), make_node("b", labels={"noisy": "true"})])
        assert result.node == "a"
    """
    plugins = [plugin] if isinstance(plugin, type) else list(plugin)
    registry = in_tree_registry()
    names = [registry.add_class(each, "test").name for each in plugins]
    if config is not None and args is not None:
        raise TypeError("args: put them into the pluginConfig of `config`")
    if config is None:
        config = default_configuration(registry, names)
        config.profiles[0].plugin_config += _given_args(names, args)
    scenario = Scenario((*nodes, *objects, *pods), registry, config)
    return _result(scenario, pod)


def _given_args(names: Sequence[str], args: Any) -> list[PluginConfig]:
    if args is None:
        return []
    by_name = {names[0]: args} if len(names) == 1 else args
    if not isinstance(by_name, Mapping) or not by_name.keys() <= set(names):
        raise TypeError(f"args: give a mapping of plugin name to args; the plugins are {', '.join(names)}")
    return [
        PluginConfig(name=name, args=dict(value) if isinstance(value, Mapping) else value)
        for name, value in by_name.items()
    ]


def _result(scenario: Scenario, pod: Pod) -> Run:
    evaluation = scenario.evaluate(pod)
    plugins = scenario.profile.plugins
    gate = evaluation.gate
    if gate is not None:
        failed = gate.code is Code.ERROR
        said, error = ("", gate.message) if failed else (gate.message, "")
        return Run("", [], {}, message=said, error=error, plugins=plugins)
    decision = evaluation.decision
    assert decision is not None
    document = evaluation.document()
    failure = decision.failure
    return Run(
        node=decision.node_name,
        feasible=document["feasible"],
        statuses=_statuses(decision, evaluation.table.by_name),
        scores={
            node: {name: score["raw"] for name, score in by_plugin.items()}
            for node, by_plugin in document.get("scores", {}).items()
        },
        totals=document.get("totals", {}),
        message=failure.message if failure and failure.is_rejection else "",
        # A single node is scored here and not in the scheduler: such a failure is told all the same.
        error=document.get("schedulerError", {}).get("message", ""),
        nominated=(decision.post_filtered and decision.post_filtered.nominated_node) or "",
        evicted=list(scenario.services.evicted),
        plugins=plugins,
    )


def _statuses(decision: Decision, nodes: Iterable[str]) -> dict[str, Status]:
    """Why each node was rejected that was looked at, or that PreFilter left out."""
    pre = decision.pre_filtered
    if pre is not None and pre.status is not None:
        return dict.fromkeys(nodes, pre.status)
    found = dict(decision.statuses.explicit())
    if pre is not None and pre.names is not None:
        found.update({name: decision.statuses.absent for name in nodes if name not in pre.names})
    return found
