"""Who has to go from one node."""

from __future__ import annotations

from typing import Any

import pytest

from moorage.api.pods import Pod
from moorage.testing import make_node, make_pod
from tests.plugins.preemption.preemption_cases import (
    ZONE,
    apart,
    candidates,
    labelled,
    nominated,
    on_n,
    outcome,
    preemptor,
    scenario,
)

# Usage


@pytest.mark.parametrize(
    ("pods", "victims"),
    [
        ([on_n("a", "3")], "a"),
        ([on_n("a", "1", 1), on_n("b", "1", 2), on_n("c", "2", 3)], "b a"),
        ([on_n("a", "1", 1), on_n("b", "2", 2), on_n("c", "1", 3)], "b"),
        ([on_n("keep", "1", 10), on_n("a", "3", 9)], "a"),
        ([on_n("a", "2", None), on_n("b", "2", -1)], "b"),
        ([on_n("late", "2", 0, 9), on_n("early", "2", 0, 1)], "late"),
        ([on_n("new", "2", 0, None), on_n("old", "2", 0, 59)], "new"),
        ([on_n("first", "2", 0, 5), on_n("second", "2", 0, 5)], "second"),
        ([on_n("late", "2", 1, 9), on_n("early", "2", 0, 1)], "early"),
        (
            [on_n("a", "2", 0, 1, metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"}), on_n("b", "2", 1)],
            "a",
        ),
    ],
    ids=[
        "one",
        "the most important may stay",
        "whoever still fits may stay",
        "as important pods stay",
        "no priority is 0",
        "who has run longest may stay",
        "not started counts as now",
        "in order of arrival",
        "priority before time",
        "terminating pods are victims too",
    ],
)
def test_victims(pods: list[Pod], victims: str) -> None:
    assert candidates(scenario(make_node("n"), *pods), preemptor()) == {"n": (victims, 0)}


def test_asking_twice_gives_the_same_victims() -> None:
    """Trying out leaves the order of the pods as it is."""
    world = scenario(make_node("n"), *(on_n(name, "1", 0, 5) for name in "abcd"))
    first = candidates(world, preemptor())
    assert first == {"n": ("c d", 0)}
    assert [candidates(world, preemptor()) for _ in range(3)] == [first] * 3


def test_nothing_of_the_trial_stays() -> None:
    world = scenario(make_node("n"), *(on_n(name, "1", 0, 5) for name in "abcd"))
    info = world.services.state.table.by_name["n"]
    before = (info.requested, [pod.name for pod in info.pods], info.used_ports)
    outcome(world, preemptor())
    assert (info.requested, [pod.name for pod in info.pods], info.used_ports) == before


# Other filters take part


def test_a_port_is_freed_by_its_holder() -> None:
    def with_port(name: str, **rest: Any) -> Pod:
        container = {"name": "c", "ports": [{"hostPort": 80}], "resources": {"requests": {"cpu": "100m"}}}
        return make_pod(name, containers=[container], **rest)

    world = scenario(
        make_node("n"),
        on_n("high", priority=5),
        with_port("holder", node="n", priority=1),
        on_n("low", priority=0),
    )
    assert candidates(world, with_port("in", priority=10)) == {"n": ("holder", 0)}


def test_anti_affinity_in_both_directions() -> None:
    world = scenario(make_node("n"), labelled("hated", "100m", 5), on_n("other", "100m"))
    assert candidates(world, preemptor("1", affinity=apart("a"))) == {"n": ("hated", 0)}
    world = scenario(make_node("n"), on_n("hates", "100m", 5, affinity=apart("new")), on_n("other", "100m"))
    assert candidates(world, preemptor("1", labels={"app": "new"})) == {"n": ("hates", 0)}


def test_affinity_to_a_victim_rules_the_node_out() -> None:
    near = {"podAffinity": apart("a")["podAntiAffinity"]}
    world = scenario(make_node("n"), labelled("friend", "3"))
    pod = preemptor(affinity=near)
    assert candidates(world, pod) == {}
    assert outcome(world, pod).statuses.get("n").message == "node(s) didn't match pod affinity rules"


def test_spreading() -> None:
    nodes = [make_node("n", labels={ZONE: "1"}), make_node("m", labels={ZONE: "2"}, cpu="1")]
    rule = {
        "maxSkew": 1,
        "topologyKey": ZONE,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "a"}},
    }
    world = scenario(*nodes, labelled("a", "100m", 5), on_n("b", "100m"))
    pod = preemptor(labels={"app": "a"}, topologySpreadConstraints=[rule])
    assert candidates(world, pod) == {"n": ("a", 0)}


# Nominated pods


@pytest.mark.parametrize(
    ("others", "found"),
    [
        ([], {"n": ("b", 0)}),
        ([nominated("rival", "1", 10)], {"n": ("a b", 0)}),
        ([nominated("rival", "1", 99)], {"n": ("a b", 0)}),
        ([nominated("lesser", "1", 9)], {"n": ("b", 0)}),
        ([nominated("rival", "3", 10)], {}),
        ([nominated("foreign", "3", 10, scheduler="somebody-else")], {"n": ("b", 0)}),
        ([nominated("in", "3", 10)], {"n": ("b", 0)}),
    ],
    ids=[
        "none",
        "rival",
        "greater",
        "lesser",
        "no room for both",
        "of a foreign scheduler",
        "the pod itself",
    ],
)
def test_the_pod_must_also_fit_with_the_pods_nominated_to_the_node(
    others: list[Pod], found: dict[str, tuple[str, int]]
) -> None:
    world = scenario(make_node("n", cpu="4"), on_n("a", "2", 1), on_n("b", "2", 0), *others)
    assert candidates(world, preemptor()) == found
