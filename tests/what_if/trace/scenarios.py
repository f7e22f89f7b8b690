"""Recorded decisions, to be made again about objects of another form."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

from moorage.framework.loading.registry import Registry
from moorage.what_if.scenario import read_scenario
from moorage.what_if.trace.kept import traced_kind
from tests.golden.test_recorded_decisions import recorded

Document = dict[str, Any]

SUBJECTS = (
    *(
        "resources",
        "taints",
        "nodeaffinity",
        "ports",
        "images",
        "spread",
        "interpod",
        "preemption",
        "volumes",
    ),
    *("mixed", "devices"),
)
"""Those of the recordings whose configuration names nothing of the cluster."""


def scenarios(subject: str, soak: bool) -> Iterator[Document]:
    """Those on record; each fourth, if they are not to be tried for long."""
    return islice((scenario for scenario, _ in recorded(subject)), 0, None, 1 if soak else 4)


def with_objects(scenario: Document, change: Callable[[Document], Document]) -> Document:
    """The scenario with every object changed, those that a trace cannot hold aside."""

    def changed(document: Document) -> Document:
        return change(document) if traced_kind(document) else document

    made = {
        **scenario,
        "objects": [changed(each) for each in scenario["objects"]],
        "pod": change({"apiVersion": "v1", "kind": "Pod", **scenario["pod"]}),
    }
    if "inFlight" in scenario:
        made["inFlight"] = [changed(each) for each in scenario["inFlight"]]
    return made


def decided(scenario: Document, registry: Registry) -> Document:
    built, pod = read_scenario(scenario, registry)
    return built.evaluate(pod).document()
