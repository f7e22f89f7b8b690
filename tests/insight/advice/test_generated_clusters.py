"""Advice for small clusters of any sort: what is promised comes true, and trying leaves no trace."""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as some

from moorage.insight.advice.advising import advise
from moorage.plugins.catalog import in_tree_registry
from moorage.what_if.scenario import read_scenario
from tests.insight.advice.carrying_out import broken_promises
from tests.insight.advice.small_clusters import HOSTNAME, REQUIRED, ZONE, node, pod

Document = dict[str, Any]

REGISTRY = in_tree_registry()

TAINTS = some.lists(
    some.fixed_dictionaries(
        {
            "key": some.sampled_from(["a", "b", "node.kubernetes.io/not-ready"]),
            "value": some.sampled_from(["", "x"]),
            "effect": some.sampled_from(["NoSchedule", "NoExecute", "PreferNoSchedule"]),
        }
    ),
    max_size=2,
    unique_by=lambda taint: (taint["key"], taint["effect"]),
)
LABELS = some.fixed_dictionaries({}, optional={"app": some.sampled_from(["web", "db"])})
CPU = some.sampled_from(["100m", "0.7", "1", "1500m", "3", "5e0", "nonsense"])
SELECTORS = some.builds(lambda app: {"matchLabels": {"app": app}}, some.sampled_from(["web", "db"]))
KEYS = some.sampled_from([HOSTNAME, ZONE, "rack"])
TERMS = some.lists(
    some.fixed_dictionaries({"topologyKey": KEYS, "labelSelector": SELECTORS}), min_size=1, max_size=2
)
SPREAD = some.fixed_dictionaries(
    {
        "maxSkew": some.integers(1, 2),
        "topologyKey": KEYS,
        "whenUnsatisfiable": some.just("DoNotSchedule"),
        "labelSelector": SELECTORS,
    }
)
PORTS = some.lists(some.sampled_from([80, 443]), max_size=2, unique=True)


@some.composite
def clusters(draw: some.DrawFn) -> Document:
    names = [f"n{number}" for number in range(draw(some.integers(1, 4)))]
    objects = []
    for name in names:
        labels = draw(some.fixed_dictionaries({}, optional={ZONE: some.sampled_from(["y", "z"])}))
        spec = {"taints": draw(TAINTS), "unschedulable": draw(some.sampled_from([False, False, True]))}
        objects.append(node(name, draw(some.sampled_from(["1", "2", "4"])), labels=labels, **spec))
    for number in range(draw(some.integers(0, 6))):
        other = draw(pods(f"other-{number}"))
        if draw(some.integers(0, 5)):
            other["spec"]["nodeName"] = draw(some.sampled_from([*names, "gone"]))
        else:
            other["status"] = {"nominatedNodeName": draw(some.sampled_from(names))}
        objects.append(other)
    return {"id": "generated", "objects": objects, "pod": draw(pods("pending", particular=True))}


@some.composite
def pods(draw: some.DrawFn, name: str, *, particular: bool = False) -> Document:
    spec: Document = {"priority": draw(some.sampled_from([0, 10, 20]))}
    if draw(some.integers(0, 3)) == 0:
        kind = draw(some.sampled_from(["podAffinity", "podAntiAffinity"]))
        spec["affinity"] = {kind: {REQUIRED: draw(TERMS)}}
    if particular:
        if draw(some.booleans()):
            spec["topologySpreadConstraints"] = [draw(SPREAD)]
        if draw(some.integers(0, 3)) == 0:
            spec["nodeSelector"] = {ZONE: draw(some.sampled_from(["y", "x"]))}
        if draw(some.integers(0, 5)) == 0:
            spec["preemptionPolicy"] = "Never"
        if draw(some.integers(0, 7)) == 0:
            spec["schedulingGates"] = [{"name": "wait"}]
        if draw(some.integers(0, 3)) == 0:
            spec["overhead"] = {"cpu": "250m"}
    made = pod(name, draw(CPU), labels=draw(LABELS), **spec)
    first = made["spec"]["containers"][0]
    first["ports"] = [{"containerPort": port, "hostPort": port} for port in draw(PORTS)]
    if draw(some.integers(0, 3)) == 0:
        more = {"name": "more", "image": "app", "resources": {"requests": {"cpu": draw(CPU)}}}
        made["spec"].setdefault(draw(some.sampled_from(["containers", "initContainers"])), []).append(more)
    return made


@settings(max_examples=150)
@given(clusters())
def test_what_is_promised_comes_true(scenario: Document) -> None:
    given_documents = copy.deepcopy(scenario)
    built, pending = read_scenario(scenario, REGISTRY)
    before = built.evaluate(pending).document()
    suggestions = advise(built.services, built.profile, pending)
    assert not (suggestions and before["feasible"])
    assert not broken_promises(scenario, [each.document() for each in suggestions], REGISTRY)
    assert built.evaluate(pending).document() == before
    assert scenario == given_documents
    assert len({each.text for each in suggestions}) == len(suggestions)
