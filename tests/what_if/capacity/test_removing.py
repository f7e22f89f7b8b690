"""Which nodes can be removed: by hand, and against all sets of nodes and all orders of evictions."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations, permutations
from typing import Any

import pytest
from hypothesis import given as cases
from hypothesis import settings
from hypothesis import strategies as st

from moorage.api.decoding import from_document
from moorage.api.nodes import Node
from moorage.api.pods import Pod, on_node
from moorage.api.workloads import PodDisruptionBudget
from moorage.testing import make_node, make_pod
from moorage.what_if.capacity.copies import replacement
from moorage.what_if.capacity.effort import Effort
from moorage.what_if.capacity.leaving import Rules
from moorage.what_if.capacity.moves import cordoned
from moorage.what_if.capacity.removing import Removal, Removing
from moorage.what_if.capacity.solver import HighsSolver
from moorage.what_if.capacity.world import Given, World
from moorage.what_if.simulation import Simulation
from tests import fake_time
from tests.what_if.capacity.clusters import given, nodes, pod, shapes


def owned(kind: str = "ReplicaSet", name: str = "rs") -> dict[str, Any]:
    owner = {"apiVersion": "apps/v1", "kind": kind, "name": name, "uid": name, "controller": True}
    return {"ownerReferences": [owner]}


def replica(name: str, node: str, cpu: int | str = 1, **more: Any) -> Pod:
    return make_pod(name, cpu=cpu, node=node, metadata=owned(), labels={"app": "x"}, **more)


def budget(name: str = "b", status: Mapping[str, Any] | None = None, **spec: Any) -> PodDisruptionBudget:
    selector = {"selector": {"matchLabels": {"app": "x"}}}
    document = {
        "metadata": {"name": name, "namespace": "default", "uid": name},
        "spec": {**selector, **spec},
        **({} if status is None else {"status": status}),
    }
    return from_document(PodDisruptionBudget, document)


_RULES = Rules()


def removed(
    cluster: Given, *names: str, rules: Rules = _RULES, effort: Effort | None = None, **prices: float
) -> Removal:
    wanted = {
        each.name: prices.get(each.name, 1.0) for each in cluster.nodes if each.name in names or not names
    }
    with World(cluster) as world:
        return Removing(world, wanted, rules, effort or Effort()).search()


def why(found: Removal, node: str) -> str:
    (obstacle,) = found.kept[node]
    return obstacle.why


def test_the_emptiest_nodes_go() -> None:
    cluster = given(
        *(make_node(name, cpu=4) for name in "abc"),
        replica("p1", "a"),
        replica("p2", "b", 2),
        replica("p3", "c", 1),
    )
    found = removed(cluster)
    assert (found.worth, found.is_most) == (2, True)
    assert len(found.plan.moves) == 2
    (left,) = found.kept
    assert {move.to for move in found.plan.moves} == {left}


def test_the_dearest_go_where_prices_differ() -> None:
    cluster = given(
        make_node("cheap", cpu=2), make_node("dear", cpu=2), replica("p1", "cheap"), replica("p2", "dear")
    )
    assert removed(cluster, dear=3.0).plan.nodes == ("dear",)
    assert removed(cluster, cheap=3.0).plan.nodes == ("cheap",)


def test_pods_go_by_the_rules_of_kubectl_drain() -> None:
    mirror = make_pod("static", node="a", annotations={"kubernetes.io/config.mirror": "x"})
    daemon = make_pod("d", node="a", metadata=owned("DaemonSet", "d"))
    alone = make_pod("alone", cpu=1, node="a")
    local = replica("local", "a", volumes=[{"name": "v", "emptyDir": {}}])
    cluster = given(make_node("a"), make_node("b"), mirror, daemon, alone, local)
    found = removed(cluster, "a")
    assert (found.worth, found.at_most) == (0, 0)
    assert [(each.pod, each.why.rpartition("; ")[2]) for each in found.kept["a"]] == [
        ("default/alone", "--force deletes it"),
        ("default/local", "--delete-emptydir-data allows that"),
    ]
    found = removed(cluster, "a", rules=Rules(force=True, delete_emptydir_data=True))
    assert [(move.pod.name, move.to) for move in found.plan.moves] == [("alone", ""), ("local", "b")]


def test_a_budget_is_kept_step_by_step() -> None:
    pods = [replica("p1", "a"), replica("p2", "a"), replica("p3", "b")]
    cluster = given(make_node("a"), make_node("b"), *pods, budget(minAvailable=2))
    found = removed(cluster, "a")
    assert found.plan.nodes == ("a",)
    assert [(move.budget, move.allowed) for move in found.plan.moves] == [("default/b", 1)] * 2


@pytest.mark.parametrize(
    "never",
    [
        budget(maxUnavailable=0),
        budget(minAvailable="100%"),
        budget(status={"desiredHealthy": 2, "currentHealthy": 2, "expectedPods": 2}),
        budget(status={"disruptionsAllowed": 0}),
    ],
)
def test_a_budget_that_never_allows(never: PodDisruptionBudget) -> None:
    cluster = given(make_node("a"), make_node("b"), replica("p1", "a"), replica("p2", "b"), never)
    found = removed(cluster)
    assert (found.worth, found.is_most) == (0, True)
    assert why(found, "a").startswith("budget default/b needs")


def test_an_unhealthy_pod_goes_first_and_its_successor_counts() -> None:
    broken = {"phase": "Running", "conditions": [{"type": "Ready", "status": "False"}]}
    well = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    pods = [replica("big", "a", 2, status=well), replica("small", "a", 1, status=broken)]
    cluster = given(make_node("a"), make_node("b"), *pods, budget(minAvailable=1))
    found = removed(cluster, "a")
    assert [move.pod.name for move in found.plan.moves] == ["small", "big"]


def test_two_budgets_over_one_pod() -> None:
    cluster = given(
        make_node("a"), make_node("b"), replica("p", "a"), budget(minAvailable=0), budget("c", minAvailable=0)
    )
    found = removed(cluster, "a")
    assert "both cover it" in why(found, "a")


def test_a_pod_that_tolerates_the_cordon_does_not_count_as_moved() -> None:
    cluster = given(
        make_node("a"), make_node("b", cpu=1), replica("p", "a", 2, tolerations=[{"operator": "Exists"}])
    )
    found = removed(cluster, "a")
    assert (found.worth, why(found, "a")) == (0, "it tolerates the cordon, and would go to a")


def test_another_scheduler_is_not_foreseen() -> None:
    cluster = given(make_node("a"), make_node("b"), replica("p", "a", scheduler="other"))
    assert why(removed(cluster, "a"), "a") == "it is placed by another scheduler, other"


def test_what_is_found_when_the_time_is_over_is_bounded() -> None:
    objects = [make_node(f"n{number:02}", cpu=4) for number in range(30)]
    pods = [replica(f"p{number}", f"n{number % 30:02}") for number in range(60)]
    effort = Effort()
    effort.stop()
    found = removed(given(*objects, *pods), effort=effort)
    assert (found.worth, found.at_most) == (0, 15)
    assert why(found, "n00") == "not tried before the search ended"


def spread_out(number: int, key: str) -> Given:
    """Nodes that are a quarter full, with a pod on all but four that no other like it may be beside."""
    term = {"topologyKey": key, "labelSelector": {"matchLabels": {"app": "x"}}}
    apart = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    machines = [make_node(f"n{each:02}", cpu=4, labels={"rack": f"{each}"}) for each in range(number)]
    alone = [replica(f"alone{each}", f"n{each:02}", affinity=apart) for each in range(number - 4)]
    return given(*machines, *alone)


def test_the_solver_finds_the_most_and_knows_it() -> None:
    """Sixteen nodes are too many to try all sets; pods of 3 and 1 cpus fill nodes of 4 whole."""
    machines = [make_node(f"n{each:02}", cpu=4) for each in range(16)]
    pods = [replica(f"p{each:02}", f"n{each:02}", 3 if each % 2 else 1) for each in range(16)]
    cluster = given(*machines, *pods)
    effort = Effort()
    with World(cluster) as world:
        removing = Removing(world, {each.name: 1.0 for each in machines}, Rules(), effort)
        solver = HighsSolver(world, removing, effort)
        nodes, bound = solver.propose()
        assert nodes is not None and len(nodes) == 8 and bound == pytest.approx(8)
        found = removing.search(lambda: solver)
    assert (found.worth, found.is_most) == (8, True)


def test_a_solver_that_knows_too_little_proposes_again() -> None:
    """The model does not know of racks: whether what it proposes can be done, the scheduler says."""
    cluster = spread_out(14, "rack")
    effort = Effort(tries=50)
    with World(cluster) as world:
        removing = Removing(world, {each.name: 1.0 for each in cluster.nodes}, Rules(), effort)
        solver = HighsSolver(world, removing, effort)
        first, _ = solver.propose()
        second, _ = solver.propose()
        found = removing.search()
    assert first is not None and second is not None and first != second
    assert (found.worth, found.at_most) == (4, 11)


def test_the_solver_knows_which_pods_may_not_share_a_node() -> None:
    cluster = spread_out(14, "kubernetes.io/hostname")
    effort = Effort()
    with World(cluster) as world:
        removing = Removing(world, {each.name: 1.0 for each in cluster.nodes}, Rules(), effort)
        found = removing.search(lambda: HighsSolver(world, removing, effort))
    assert (found.worth, found.at_most, found.is_most) == (4, 4, True)


def tried(cluster: Given, budgets: list[PodDisruptionBudget]) -> int:
    """The most nodes of which some order of evictions leaves none with pods; each step on a new cluster."""
    names = [each.name for each in cluster.nodes]
    for size in range(len(names), 0, -1):
        for chosen in combinations(names, size):
            leaving = [each for each in cluster.pods if each.spec.node_name in chosen]
            if any(goes(cluster, chosen, order, budgets) for order in permutations(leaving)):
                return size
    return 0


def goes(
    cluster: Given, chosen: tuple[str, ...], order: tuple[Pod, ...], budgets: list[PodDisruptionBudget]
) -> bool:
    machines = [cordoned(each) if each.name in chosen else each for each in cluster.nodes]
    there = {each.key: each for each in cluster.pods}
    for number, evicted in enumerate(order):
        covered = sum(each.labels.get("app") == "x" for each in there.values())
        if budgets and evicted.labels.get("app") == "x":
            (least,) = (each.raw["spec"]["minAvailable"] for each in budgets)
            if covered - least < 1:
                return False
        del there[evicted.key]
        new = replacement(evicted, number)
        simulation = Simulation(cluster.config, cluster.registry)
        for item in (*machines, *there.values()):
            simulation.add(item)
        result = fake_time.run(simulation.run([new]))
        if result.pending or result.placed[new.key] in chosen:
            return False
        there[new.key] = on_node(new, result.placed[new.key])
    return True


@st.composite
def questions(draw: st.DrawFn) -> tuple[list[Node], list[Pod], list[PodDisruptionBudget]]:
    there = draw(nodes(most=3))
    pods = [
        pod(f"p{number}", draw(shapes()), node=draw(st.sampled_from(there)).name, metadata=owned())
        for number in range(draw(st.integers(0, 4)))
    ]
    budgets = [budget(minAvailable=draw(st.integers(0, 3)))] if draw(st.booleans()) else []
    return there, pods, budgets


@settings(max_examples=30, deadline=None)
@cases(questions())
def test_the_most_is_what_all_sets_and_orders_give(
    question: tuple[list[Node], list[Pod], list[PodDisruptionBudget]],
) -> None:
    there, pods, budgets = question
    cluster = given(*there, *pods, *budgets)
    found = removed(cluster)
    assert found.is_most
    with World(cluster) as world:
        removing = Removing(world, {each.name: 1.0 for each in there}, Rules(), Effort())
        _, bound = HighsSolver(world, removing, Effort()).propose()
    assert min(bound, removing.at_most) >= found.worth - 1e-6
    assert found.worth == tried(given(*there, *pods), budgets)
