"""A cluster of objects that were read, to be asked about its pods."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from moorage.api.meta import Object
from moorage.api.nodes import Node
from moorage.api.pods import Pod
from moorage.cli.manifest_files import read_manifests, read_object
from moorage.cli.setup import BadInput, Setup, warn
from moorage.insight.advice.advising import advise
from moorage.insight.gangs import evaluated
from moorage.insight.words import words_for_try
from moorage.insight.words.closest import closest
from moorage.what_if.scenario import Scenario

Document = dict[str, Any]

ADVICE_SECONDS = 10.0


class Cluster:
    """Objects of manifests or of a running cluster; each question is put to a state of its own."""

    def __init__(self, objects: Sequence[Object], where: str, setup: Setup) -> None:
        """`where` is what messages call it."""
        self._where = where
        self._setup = setup
        self._objects = list(objects)

    @property
    def pods(self) -> list[Pod]:
        return [each for each in self._objects if isinstance(each, Pod)]

    def pod(self, key: str) -> Pod | None:
        return next((each for each in self.pods if each.key == key), None)

    def add(self, nodes: Sequence[Node]) -> None:
        """Further nodes; one of a name that is there already takes its place."""
        names = {each.name for each in nodes}
        self._objects = [
            each for each in self._objects if not (isinstance(each, Node) and each.name in names)
        ]
        self._objects += nodes

    def remove(self, key: str) -> None:
        """Takes a pod out; raises BadInput if there is none."""
        if self.pod(key) is None:
            raise BadInput(f"--without-pod: {self._where} has no pod {key}; write it as NAMESPACE/NAME")
        self._objects = [each for each in self._objects if not (isinstance(each, Pod) and each.key == key)]

    def scenario(self, pod: Pod) -> Scenario:
        """The cluster without this pod, with the pod's profile."""
        others: list[Object] = [
            each for each in self._objects if not (isinstance(each, Pod) and each.key == pod.key)
        ]
        scenario = Scenario(others, self._setup.registry, self._setup.config)
        wanted = pod.spec.scheduler_name
        if wanted in scenario.profiles:
            scenario.profile = scenario.profiles[wanted]
        else:
            known, used = ", ".join(scenario.profiles), scenario.profile.name
            warn([f"pod {pod.key} asks for scheduler {wanted}, profiles are {known}; {used} is used"])
        return scenario

    def tried(self, pod: Pod, change: Callable[[Document], Document] = lambda pod: pod) -> Document:
        """What becomes of a pod, after a change of its document, with words and advice.

        One that has a node is taken off it first.
        """
        document, on = _unplaced(pod.raw)
        pod = read_object(Pod, change(document), "the pod with --set and --tolerate")
        scenario = self.scenario(pod)
        scenario.have(pod)
        table = scenario.services.state.table
        with evaluated(scenario.profile, pod) as (evaluation, gang):
            answer = evaluation.document()
            answer |= {"pod": pod.raw, "nodes": len(table), "onNode": on}
            if not answer["feasible"]:
                statuses = None if evaluation.decision is None else evaluation.decision.statuses
                answer["closest"] = None if statuses is None else closest(table, pod, statuses)
        if gang is not None:
            answer["gang"] = gang
        answer["failedPlugins"] = sorted(scenario.failed_plugins.counts)
        if not answer["feasible"] or (gang is not None and not gang["fits"]):
            advice = advise(scenario.services, scenario.profile, pod, seconds=ADVICE_SECONDS)
            answer["advice"] = [each.document() for each in advice]
        answer["words"] = words_for_try(answer)
        return answer


def _unplaced(document: Document) -> tuple[Document, str]:
    """A pod's document as it was before it had a node, and the node."""
    spec: Document = document.get("spec") or {}
    node = spec.get("nodeName") or ""
    if not node:
        return document, ""
    kept = {key: value for key, value in spec.items() if key != "nodeName"}
    return {**{key: value for key, value in document.items() if key != "status"}, "spec": kept}, node


def waiting_pods(path: str, setup: Setup, namespace: str, *, advise: bool) -> Document:
    """The pods of manifests that get no node when all are tried, by cause."""
    import asyncio

    from moorage.insight.live.questions import Questions
    from moorage.insight.log.decision_log import DecisionLog
    from moorage.what_if.simulation import Simulation

    async def run() -> Document:
        log = DecisionLog()
        simulation = Simulation(setup.config, setup.registry, log)
        objects = read_manifests(path)
        waiting = [each for each in objects if isinstance(each, Pod) and not each.spec.node_name]
        for each in objects:
            if each not in waiting:
                simulation.add(each)
        await simulation.run(waiting)
        questions = Questions(simulation.scheduler, log, setup.registry)
        return await questions.pending(advise=advise, namespace=namespace)

    return asyncio.run(run())
