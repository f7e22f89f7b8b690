"""`run`: one pod through a profile against a handful of nodes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from moorage.api.meta import Object
from moorage.api.nodes import Node
from moorage.api.pods import Pod
from moorage.config import KubeSchedulerConfiguration
from moorage.framework.handle import Services
from moorage.framework.status import Code
from moorage.scheduler.cycle import rank
from moorage.testing.failures import Failures
from moorage.testing.plugins_under_test import Plugins, configured
from moorage.testing.recording import RecordedEvent, Recorder
from moorage.testing.results import Run as Run
from moorage.testing.results import show
from moorage.what_if.scenario import Evaluation, Scenario


def run(
    plugin: Plugins,
    pod: Pod,
    nodes: Iterable[Node],
    *,
    args: Any = None,
    objects: Iterable[Object] = (),
    pods: Iterable[Pod] = (),
    config: KubeSchedulerConfiguration | None = None,
    whole: bool = False,
    raises: bool = True,
) -> Run:
    """Puts one pod through the default plugins and `plugin` and tells everything about the decision.

    Every node is filtered, and scored if it fits. `args` are the plugin's arguments: the Struct it names, or
    the mapping a configuration file would hold. `pods` run already if they have a node, and wait otherwise;
    `objects` are whatever else the plugin reads. `config` replaces the default configuration and brings the
    args. A plugin that raises, or answers what it must not, raises PluginFailed; without `raises`, the
    result's `error` tells of it as the scheduler would.

        result = run(QuietNodes, make_pod(), [make_node("a"), make_node("b", labels={"noisy": "true"})])
        assert result.node == "a"

    The whole cycle is run with `whole`: Reserve, Permit, PreBind, Bind and PostBind, or what follows from a
    failure. For several pods, and for those that wait on Permit, use `Cycles`.
    """
    __tracebackhide__ = True
    others = list(pods)
    if any(each.key == pod.key for each in others):
        raise ValueError(f"there are two pods {pod.key}: give one of them another name")
    if whole:
        from moorage.testing.cycles import Cycles

        running = [each for each in others if each.spec.node_name]
        pending = [each for each in others if not each.spec.node_name]
        with Cycles(
            plugin, nodes, args=args, objects=objects, pods=running, config=config, raises=raises
        ) as cycles:
            return cycles.run_all([pod, *pending])[0]
    failures, events = Failures(), list[RecordedEvent]()
    recorder = Recorder(events.append)
    services = Services(recorder_of=lambda profile_name: recorder, plugin_raised=failures.note)
    registry, config = configured(plugin, args, config)
    scenario = Scenario((*nodes, *objects, *others), registry, config, services)
    if not pod.spec.node_name:
        scenario.add(pod)
    result = _result(scenario.evaluate(pod))
    result.events, result.evicted = events, list(services.evicted)
    show(result)
    if raises:
        failures.raise_first()
    return result


def _result(evaluation: Evaluation) -> Run:
    profile, gate, decision = evaluation.profile, evaluation.gate, evaluation.decision
    result = Run(evaluation.pod, plugins=profile.plugins)
    if gate is not None:
        if gate.code is Code.ERROR:
            result.error = gate.message
        else:
            result.message = gate.message
        return result
    assert decision is not None
    result.note(decision, evaluation.table.by_name)
    nodes = decision.feasible
    if decision.failure is None and nodes is not None and decision.scores is None:
        # A single node is scored here and not in the scheduler: such a failure is told all the same.
        scores = rank(profile, decision.plan, decision.cycle, evaluation.pod, nodes)
        if scores.status is not None:
            result.error = scores.status.message
        else:
            result.note_scores(scores, nodes.names)
    if not profile.score:
        result.totals = dict.fromkeys(result.totals, 1)
    return result
