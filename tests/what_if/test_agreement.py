"""Whether a node that somebody else chose is among the best, and which plugin tips the scale if not."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moorage.api.meta import Object
from moorage.api.pods import Pod, on_node
from moorage.config import load
from moorage.plugins.catalog import in_tree_registry
from moorage.scheduler.cycle import NodeChooser
from moorage.testing import make_node, make_pod
from moorage.what_if.agreement import Agreement, Verdict
from moorage.what_if.scenario import Scenario, read_objects
from tests.twins import objects as drawn

ZONE = "topology.kubernetes.io/zone"
HOST = "kubernetes.io/hostname"
CONFIG = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"


def scenario(*objects: Object, config: str = CONFIG) -> Scenario:
    return Scenario(objects, in_tree_registry(), load(config).config)


def judge(world: Scenario, pod: Pod, node: str, *, percentage: int = 0, theirs: int | None = None) -> Verdict:
    return Agreement(world.profiles, percentage, theirs=theirs).judge(pod, node)


def drawn_world(chance: Random, nodes: int) -> Scenario:
    documents = [drawn.namespace(chance, name) for name in drawn.NAMESPACES]
    documents += [drawn.node(chance, f"n{number}") for number in range(nodes)]
    return scenario(*read_objects(documents))


def drawn_pods(chance: Random, count: int) -> list[Pod]:
    templates = [drawn.template(chance, ("default-scheduler",)) for _ in range(4)]
    found = []
    for number in range(count):
        template = chance.choice(templates)
        metadata = {**template["metadata"], "name": f"p{number}", "uid": f"pod-p{number}"}
        [made] = read_objects([{**template, "kind": "Pod", "metadata": metadata}])
        assert isinstance(made, Pod)
        if not made.spec.scheduling_gates:  # nobody binds these
            found.append(made)
    return found


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**32), nodes=st.integers(1, 12))
def test_what_our_own_scheduler_chooses_is_agreed(seed: int, nodes: int) -> None:
    chance = Random(seed)
    world = drawn_world(chance, nodes)
    chooser, agreement = NodeChooser(preempts=False), Agreement(world.profiles)
    for pod in drawn_pods(chance, 15):
        decision = chooser.decide(world.profile, pod)
        if not decision.node_name:
            verdict = agreement.judge(pod, "n0")
            assert verdict.kind == "infeasible", verdict
            continue
        verdict = agreement.judge(pod, decision.node_name)
        assert verdict.kind == "agreed", verdict
        world.add(on_node(pod, decision.node_name))
        # It is judged as if it were not there yet.
        again = agreement.judge(on_node(pod, decision.node_name), decision.node_name)
        assert (again.kind, again.best) == (verdict.kind, verdict.best)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_what_it_chooses_of_a_sample_is_agreed_or_sampled(seed: int) -> None:
    chance = Random(seed)
    world = drawn_world(chance, 160)
    chooser, agreement = NodeChooser(), Agreement(world.profiles)
    kinds = set()
    for pod in drawn_pods(chance, 12):
        decision = chooser.decide(world.profile, pod)
        if decision.node_name and not decision.nominated_first:
            kinds.add(agreement.judge(pod, decision.node_name).kind)
            world.add(on_node(pod, decision.node_name))
    assert kinds <= {"agreed", "sampled"}


def preferred(kind: str, app: str, key: str) -> dict[str, Any]:
    term = {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": key}
    return {
        kind: {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "podAffinityTerm": term}]}
    }


def planted(kind: str) -> tuple[list[Object], Pod]:
    """Two nodes that only one plugin tells apart, and a pod for which it prefers the first."""
    first, second = make_node("first", labels={ZONE: "a"}), make_node("second", labels={ZONE: "b"})
    here, there = (make_pod(f"at-{name}", node=name, labels={"app": name}) for name in ("first", "second"))
    both: list[Object] = [first, second, here, there]
    if kind == "TaintToleration":
        return [first, make_node("second", labels={ZONE: "b"}, taints=["soft:PreferNoSchedule"])], make_pod(
            "p"
        )
    if kind == "NodeAffinity":
        match = {"matchExpressions": [{"key": ZONE, "operator": "In", "values": ["a"]}]}
        rule = {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "preference": match}]}
        return both, make_pod("p", affinity={"nodeAffinity": rule})
    if kind == "InterPodAffinity":
        return both, make_pod("p", affinity=preferred("podAffinity", "first", ZONE))
    if kind == "PodTopologySpread":
        soft = {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "ScheduleAnyway"}
        constraint = {**soft, "labelSelector": {"matchLabels": {"app": "second"}}}
        return both, make_pod("p", topologySpreadConstraints=[constraint])
    if kind == "ImageLocality":
        image = "registry.example/large:v1"
        return [make_node("first", images={image: 900_000_000}), make_node("second")], make_pod(
            "p", image=image
        )
    assert kind == "NodeResourcesFit"
    # As much of everything: the balance is the same.
    return [first, second, make_pod("large", node="second", cpu="2", memory="8Gi")], make_pod(
        "p", cpu="1", memory="4Gi"
    )


@pytest.mark.parametrize(
    "plugin",
    (
        "TaintToleration",
        "NodeAffinity",
        "InterPodAffinity",
        "PodTopologySpread",
        "ImageLocality",
        "NodeResourcesFit",
    ),
)
def test_a_planted_choice_is_disagreed_by_the_plugin_that_tips_the_scale(plugin: str) -> None:
    objects, pod = planted(plugin)
    world = scenario(*objects)
    assert judge(world, pod, "first").kind == "agreed"
    verdict = judge(world, pod, "second")
    assert (verdict.kind, verdict.best, verdict.plugin) == ("disagreed", ("first",), plugin)
    assert verdict.difference > 0
    assert verdict.words.startswith("first is ") and plugin in verdict.words


def test_a_node_that_does_not_fit_is_told_with_its_filter() -> None:
    world = scenario(make_node("small", cpu="1"), make_node("large", cpu="8"))
    verdict = judge(world, make_pod("p", cpu="2"), "small")
    assert (verdict.kind, verdict.plugin, verdict.best) == ("infeasible", "NodeResourcesFit", ("large",))
    assert "Insufficient cpu" in verdict.words
    assert judge(world, make_pod("p", cpu="20"), "small").best == ()
    missing = judge(world, make_pod("p"), "absent")
    assert (missing.kind, missing.words) == ("infeasible", "there is no node absent")


def test_equally_good_nodes_are_all_agreed() -> None:
    world = scenario(*(make_node(f"n{number}") for number in range(9)))
    for number in range(9):
        verdict = judge(world, make_pod("p"), f"n{number}")
        assert (verdict.kind, verdict.best_total, len(verdict.best)) == ("agreed", 9, 5)


class TestSampling:
    """150 nodes, 5 of them better; the adaptive share is 49 %, but never less than 100 nodes."""

    def world(self, better: int, size: int = 150) -> Scenario:
        soft = ["soft:PreferNoSchedule"]
        return scenario(
            *(make_node(f"n{number}", taints=[] if number < better else soft) for number in range(size))
        )

    def test_the_better_ones_may_not_have_been_seen(self) -> None:
        verdict = judge(self.world(5), make_pod("p"), "n140")
        assert (verdict.kind, verdict.plugin, verdict.best_total) == ("sampled", "TaintToleration", 5)
        assert "may not have seen them" in verdict.words

    def test_up_to_as_many_as_there_are_beside_the_sample(self) -> None:
        assert judge(self.world(50), make_pod("p"), "n140").kind == "sampled"
        assert judge(self.world(51), make_pod("p"), "n140").kind == "disagreed"

    def test_not_where_all_are_looked_at(self) -> None:
        assert judge(self.world(5), make_pod("p"), "n140", percentage=100).kind == "disagreed"
        assert judge(self.world(5, size=99), make_pod("p"), "n90").kind == "disagreed"

    def test_what_the_other_one_looks_at_counts(self) -> None:
        assert judge(self.world(5), make_pod("p"), "n140", theirs=100).kind == "disagreed"
        assert judge(self.world(5), make_pod("p"), "n140", percentage=100, theirs=0).kind == "sampled"

    def test_where_fewer_fit_than_are_looked_for_all_were_seen(self) -> None:
        nodes = [make_node(f"n{number}", cpu="1" if number < 60 else "4") for number in range(150)]
        pod = make_pod("p", cpu="2")
        world = scenario(*nodes, make_pod("there", node="n149", cpu="1"))
        assert judge(world, pod, "n149").kind == "disagreed"

    def test_a_node_that_does_not_fit_was_seen(self) -> None:
        world = self.world(5)
        world.add(make_node("full", cpu="1"))
        assert judge(world, make_pod("p", cpu="2"), "full").kind == "infeasible"


class TestNominations:
    def world(self) -> Scenario:
        soft = ["soft:PreferNoSchedule"]
        return scenario(make_node("a", cpu="2", taints=soft), make_node("b", cpu="2"))

    def test_the_nominated_node_comes_first(self) -> None:
        world = self.world()
        pod = make_pod("p", priority=10, status={"nominatedNodeName": "a"})
        assert judge(world, pod, "a").kind == "agreed"
        assert judge(world, pod, "b").best == ("a",)

    def test_unless_it_does_not_fit_while_victims_end(self) -> None:
        world = self.world()
        world.add(
            make_pod("victim", node="a", cpu="2", metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"})
        )
        pod = make_pod("p", cpu="1", priority=10, status={"nominatedNodeName": "a"})
        assert judge(world, pod, "b").kind == "agreed"
        verdict = judge(world, pod, "a")
        assert (verdict.kind, verdict.plugin) == ("infeasible", "NodeResourcesFit")

    def test_room_for_a_nominated_pod_is_left(self) -> None:
        world = self.world()
        world.add(make_pod("awaited", cpu="2", priority=10, status={"nominatedNodeName": "b"}))
        verdict = judge(world, make_pod("p", cpu="1"), "b")
        assert (verdict.kind, verdict.best) == ("infeasible", ("a",))
        assert judge(world, make_pod("p", cpu="1", priority=20), "b").kind == "agreed"
