"""The pods that schedulers are measured with are what their names say."""

import asyncio

import pytest

from bench.drain import preemption, unschedulable, volumes
from bench.drain.measuring import size_of
from bench.drain.workload import NAMESPACE, SCHEDULER, Size
from bench.drain.workloads import WORKLOADS
from moorage.api.decoding import from_document
from moorage.api.pods import Pod
from moorage.api.storage import PersistentVolumeClaim
from moorage.config import load
from moorage.plugins.catalog import in_tree_registry
from moorage.scheduler.profiles import DEFAULT_CONFIGURATION
from moorage.what_if.simulation import Simulation
from moorage.what_if.workloads import make_nodes

SMALL = Size(nodes=8, pods=8)


@pytest.mark.parametrize("name", WORKLOADS)
def test_pods_are_for_the_scheduler_under_test(name: str) -> None:
    pods = list(WORKLOADS[name].pods("run-1", SMALL))
    assert len({pod["metadata"]["name"] for pod in pods}) == SMALL.pods
    for pod in pods:
        assert pod["metadata"]["name"].startswith("run-1-")
        assert pod["metadata"]["namespace"] == NAMESPACE
        assert pod["spec"]["schedulerName"] == SCHEDULER


def test_each_node_has_one_pod_of_a_daemon_set() -> None:
    placed = placements([from_document(Pod, pod) for pod in WORKLOADS["daemonset"].pods("run", SMALL)])
    assert placed == {f"run-{number:06d}": f"node-{number:05d}" for number in range(SMALL.nodes)}


def test_too_large_pods_wait_beside_those_that_fit() -> None:
    workload = WORKLOADS["unschedulable"]
    before = [document for kind, document in workload.lasting(SMALL) if kind is Pod]
    fit = list(workload.pods("run", SMALL))
    large = [document for _, document in workload.company("run", SMALL)]
    placed = placements([from_document(Pod, pod) for pod in (*before, *fit, *large)])
    assert {pod["metadata"]["name"] for pod in fit} <= placed.keys()
    assert placed.keys().isdisjoint(pod["metadata"]["name"] for pod in large)
    names = sorted(pod["metadata"]["name"] for pod in (*fit, *large))
    assert ["too-large" in name for name in names] == [False, True] * SMALL.pods


def test_a_change_of_a_node_is_taken_back_by_the_next() -> None:
    found = [unschedulable.change(turn, SMALL) for turn in range(4)]
    cpus = [patch["status"]["allocatable"]["cpu"] for _, patch in found]
    assert [name for name, _ in found] == ["node-00000", "node-00000", "node-00007", "node-00007"]
    assert cpus == ["32100m", "32"] * 2


def test_pods_of_high_priority_find_the_nodes_full() -> None:
    victims = [document for _, document in preemption.victims("run", SMALL)]
    assert all(victim["spec"]["terminationGracePeriodSeconds"] == 0 for victim in victims)
    high = [from_document(Pod, pod) for pod in preemption.pods("run", SMALL)]
    for pod in high:
        assert pod.raw["spec"]["priorityClassName"] == "high"
    placed = placements([*(from_document(Pod, victim) for victim in victims), *high])
    assert len(placed) == len(victims) and placed.keys().isdisjoint(pod.name for pod in high)


def test_each_pod_has_a_claim_and_each_claim_a_volume() -> None:
    made = list(volumes.claims("run", SMALL))
    claims = {each["metadata"]["name"] for kind, each in made if kind is PersistentVolumeClaim}
    kept_for = {each["spec"]["claimRef"]["name"] for kind, each in made if kind is not PersistentVolumeClaim}
    used = {
        pod["spec"]["volumes"][0]["persistentVolumeClaim"]["claimName"] for pod in volumes.pods("run", SMALL)
    }
    assert claims == kept_for == used and len(used) == SMALL.pods


def test_sizes() -> None:
    daemon_set, plain = WORKLOADS["daemonset"], WORKLOADS["plain"]
    assert size_of(plain, None, None) == Size(5000, 5000)
    assert size_of(WORKLOADS["preemption"], None, None) == Size(500, 500)
    assert size_of(daemon_set, 500, None) == Size(500, 500)
    assert size_of(plain, 500, 2000) == Size(500, 2000)


def placements(pods: list[Pod]) -> dict[str, str]:
    """Where a scheduler in memory puts the pods, by name; those without a node are left out."""
    profiles = f"profiles: [{{schedulerName: {SCHEDULER}}}]"
    simulation = Simulation(load(DEFAULT_CONFIGURATION + profiles).config, in_tree_registry())
    for node in make_nodes(SMALL.nodes):
        simulation.add(node)
    placed = asyncio.run(simulation.run(pods)).placed
    return {key.partition("/")[2]: node for key, node in placed.items()}
