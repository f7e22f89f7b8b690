"""A cluster of manifests, to be asked about its pods."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from moorage.api.meta import Object
from moorage.api.nodes import Node
from moorage.api.pods import Pod
from moorage.cli.manifest_files import read_manifests
from moorage.cli.setup import BadInput, Setup, warn
from moorage.insight.words import words_for_try
from moorage.insight.words.closest import closest
from moorage.what_if.scenario import Scenario

Document = dict[str, Any]


class Cluster:
    """The objects of manifests; each question is put to a state of its own."""

    def __init__(self, path: str, setup: Setup) -> None:
        self._path = path
        self._setup = setup
        self._objects = read_manifests(path)

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
            raise BadInput(f"--without-pod: {self._path} has no pod {key}; write it as NAMESPACE/NAME")
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

    def tried(self, pod: Pod, *, on: str = "") -> Document:
        """What becomes of a pod without a node, with words; `on` is the node it has in the manifests."""
        scenario = self.scenario(pod)
        evaluation = scenario.evaluate(pod)
        document = evaluation.document()
        document["pod"] = pod.raw
        document["nodes"] = len(scenario.services.state.table)
        if on:
            document["onNode"] = on
        if evaluation.decision is not None and not document["feasible"]:
            near = closest(scenario.services, pod, evaluation.decision.statuses)
            if near is not None:
                document["closest"] = near
        document["failedPlugins"] = sorted(scenario.failed_plugins.counts)
        document["words"] = words_for_try(document)
        return document


def unplaced(document: Document) -> tuple[Document, str]:
    """A pod's document as it was before it had a node, and the node."""
    spec: Document = document.get("spec") or {}
    node = spec.get("nodeName") or ""
    if not node:
        return document, ""
    kept = {key: value for key, value in spec.items() if key != "nodeName"}
    return {**{key: value for key, value in document.items() if key != "status"}, "spec": kept}, node
