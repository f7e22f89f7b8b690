from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from examples.gpu_study.gpu_requests import GPU_MILLI, GPU_MODEL, GPU_MODELS, GPUS, PLACE
from examples.gpu_study.gpu_sharing import GpuSharing
from examples.gpu_study.study import POLICIES, configuration
from moorage import CycleState, Node, Pod
from moorage.testing import Placer, make_node, make_pod, run


def node(name: str, gpus: int, model: str = "T4", cpu: str = "32", place: int = 0) -> Node:
    return make_node(name, cpu=cpu, labels={GPUS: str(gpus), GPU_MODEL: model, PLACE: str(place)})


def pod(name: str, gpus: int = 1, milli: int = 1000, models: str = "", cpu: str = "1", on: str = "") -> Pod:
    notes = {GPUS: str(gpus), GPU_MILLI: str(milli), GPU_MODELS: models}
    return make_pod(name, cpu=cpu, annotations=notes if gpus else {}, nodeSelector={"on": on} if on else {})


def typical(*pods: tuple[int, int, str, float], cpu: int = 1000) -> list[dict[str, Any]]:
    return [
        {"cpu": cpu, "gpus": gpus, "milli": milli, "models": models, "share": share}
        for gpus, milli, models, share in pods
    ]


def places(policy: str, nodes: Sequence[Node], pods: Sequence[Pod], known: Sequence[Any] = ()) -> list[str]:
    """Where pods go that come one after the other, each as `node/gpu-gpu`."""
    config = {**configuration(policy, [], 1)}
    [profile] = config["profiles"]
    profile["pluginConfig"][0]["args"]["typicalPods"] = list(known)
    found = []
    with Placer(POLICIES[policy], nodes, config=config) as placer:
        plugin = placer.plugins[policy]
        assert isinstance(plugin, GpuSharing)
        for each in pods:
            name = placer.place(each)
            found.append(f"{name}/{'-'.join(map(str, plugin.gpus_of(each)))}" if name else "")
    return found


@pytest.mark.parametrize("policy", POLICIES)
def test_no_gpu_is_given_twice(policy: str) -> None:
    known = typical((1, 500, "", 0.5), (2, 1000, "", 0.5))
    pods = [pod("two", 2), pod("half", 1, 500), pod("whole"), pod("other-half", 1, 500), pod("more", 1, 100)]
    where = places(policy, [node("a", 4)], pods, known)
    assert where[-1] == ""
    taken = [gpu for place in where[:-1] for gpu in place.removeprefix("a/").split("-")]
    assert sorted(set(taken)) == ["0", "1", "2", "3"]
    assert where[1] == where[3] or policy == "Random"


@pytest.mark.parametrize("policy", POLICIES)
def test_pods_without_gpus_take_only_what_they_ask_for(policy: str) -> None:
    pods = [pod("cpu", 0, cpu="31"), pod("gpu"), pod("late", cpu="500m")]
    assert places(policy, [node("a", 2)], pods, typical((1, 1000, "", 1.0))) == ["a/", "a/0", ""]


def test_why_a_node_is_not_taken() -> None:
    nodes = [node("small", 1), node("other", 8, model="P100"), node("none", 0, model="")]
    result = run(POLICIES["BestFit"], pod("p", 2, models="T4|V100"), nodes)
    assert {name: status.message for name, status in result.statuses.items()} == {
        "small": "too little of its GPUs is free",
        "other": "wrong GPU model",
        "none": "wrong GPU model",
    }


def test_what_was_reserved_is_given_back() -> None:
    asked = pod("p", 1, 600)
    result = run(POLICIES["BestFit"], asked, [node("a", 1)], whole=True)
    plugin = next(each for each in result.plugins.values() if isinstance(each, GpuSharing))
    assert plugin.gpus_of(asked) == [0]
    nodes = plugin.handle.nodes
    assert plugin.free(nodes).gpus.tolist() == [[400]]
    plugin.unreserve(CycleState(), asked, "a")
    plugin.unreserve(CycleState(), asked, "a")
    assert plugin.free(nodes).gpus.tolist() == [[1000]]
    assert plugin.gpus_of(asked) == ()


def test_gpus_of_pods_that_have_ended_are_free_again() -> None:
    """Also where one comes as another goes, and on nodes that are no longer full."""
    nodes = [node("a", 1, place=0), node("b", 1, place=1)]
    with Placer(POLICIES["BestFit"], nodes, config=configuration("BestFit", [], 1)) as placer:
        plugin = placer.plugins["BestFit"]
        assert isinstance(plugin, GpuSharing)
        pods = [pod(f"p{number}") for number in range(5)]
        assert [placer.place(each) for each in pods[:3]] == ["a", "b", ""]
        plugin.handle.client.delete_pod(pods[0])
        assert placer.place(pods[3]) == "a"
        plugin.handle.client.delete_pod(pods[3])
        plugin.handle.client.delete_pod(pods[1])
        assert placer.place(pods[4]) == "a"
        assert plugin.free(plugin.handle.nodes).free_gpu.tolist() == [0, 1000]


def test_of_equal_nodes_the_first_by_place_is_taken() -> None:
    nodes = [node("a", 2, place=2), node("b", 2, place=0), node("c", 2, place=1)]
    for policy in POLICIES.keys() - {"Random"}:
        assert places(policy, nodes, [pod("p")], typical((1, 1000, "", 1.0))) == ["b/0"], policy


def test_best_fit_leaves_the_least() -> None:
    nodes = [node("large", 8, cpu="64"), node("small", 2, cpu="16"), node("many-cpus", 2, cpu="128")]
    assert places("BestFit", nodes, [pod("p")]) == ["small/0"]


def test_dot_prod_keeps_what_is_rich_in_what_the_pod_wants() -> None:
    nodes = [node("gpus", 8, cpu="32"), node("cpus", 1, cpu="96")]
    assert places("DotProd", nodes, [pod("gpu", 1, cpu="1"), pod("cpu", 0, cpu="30")]) == ["cpus/0", "gpus/"]


def test_gpu_packing_takes_gpus_in_use_then_nodes_in_use() -> None:
    nodes = [node("a", 2, place=0), node("b", 4, place=1)]
    pods = [pod("first", 4), pod("half", 1, 500), pod("small", 1, 300), pod("whole")]
    assert places("GpuPacking", nodes, pods) == ["b/0-1-2-3", "a/0", "a/0", "a/1"]


def test_gpu_clustering_keeps_kinds_together() -> None:
    nodes = [node("a", 4, place=0), node("b", 4, place=1)]
    pods = [pod("half", 1, 500), pod("whole"), pod("small", 1, 600), pod("another")]
    assert places("GpuClustering", nodes, pods) == ["a/0", "b/0", "a/1", "b/1"]


def test_fgd_keeps_what_typical_pods_need() -> None:
    """The two GPUs that are free together are kept for pods that need two."""
    nodes = [node("a", 2, place=0), node("b", 2, place=1)]
    known = typical((2, 1000, "", 0.7), (1, 500, "", 0.3))
    pods = [pod("half", 1, 500), pod("other-half", 1, 500), pod("whole"), pod("two", 2)]
    assert places("FGD", nodes, pods, known) == ["a/0", "a/0", "a/1", "b/0-1"]


def test_moorage_keeps_models_that_others_ask_for() -> None:
    nodes = [node("wanted", 2, "T4", place=0), node("free", 2, "P100", place=1)]
    known = typical((1, 1000, "", 0.6), (1, 1000, "T4", 0.4))
    pods = [pod("any"), pod("one", models="T4"), pod("two", models="T4")]
    assert places("Moorage", nodes, pods, known) == ["free/0", "wanted/0", "wanted/1"]
    assert places("BestFit", nodes, pods) == ["wanted/0", "wanted/1", ""]


def test_moorage_shares_gpus_among_sizes_that_fill_them() -> None:
    """With 650 beside 320 little is wasted; 470 would go there, too, and 320 to the next."""
    known = typical((1, 650, "", 0.3), (1, 320, "", 0.3), (1, 470, "", 0.4))
    pods = [pod("a", 1, 470), pod("b", 1, 320), pod("c", 1, 470), pod("d", 1, 650)]
    assert places("Moorage", [node("n", 2)], pods, known) == ["n/0", "n/1", "n/0", "n/1"]
    assert places("BestFit", [node("n", 2)], pods) == ["n/0", "n/0", "n/1", ""]


def test_moorage_keeps_cpu_and_gpu_in_proportion() -> None:
    """What asks for little CPU goes where CPU is short, what asks for much where there is plenty."""
    nodes = [node("short", 4, cpu="16", place=1), node("plenty", 4, cpu="64", place=0)]
    known = typical((1, 1000, "", 1.0), cpu=8000)
    assert places("Moorage", nodes, [pod("little", cpu="1"), pod("much", cpu="12")], known) == [
        "short/0",
        "plenty/0",
    ]
