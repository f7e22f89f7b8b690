"""Plugins of users judge where a whole gang would go."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from moorage import PlacedGroup, PlacementScorePlugin
from moorage.contrib.coscheduling.pod_groups import PREFERRED_TOPOLOGY, REQUIRED_TOPOLOGY
from moorage.framework.loading.registry import PluginLoadError, Registry
from moorage.plugins.catalog import in_tree_registry
from tests.contrib.gang_worlds import RACK, GangWorld, members, pod_group, racks
from tests.workloads import group_worlds

SIZES = {"small": 1, "right": 2, "large": 4}


def judging(score: Callable[[PlacedGroup], Any], normalize: Any = None) -> Registry:
    """The registry with a plugin called Judge that scores so."""
    forms = {"score_placement": lambda self, group: score(group)}
    if normalize is not None:
        forms["normalize"] = lambda self, scores: normalize(scores)
    registry = in_tree_registry()
    registry.add_class(type("Judge", (PlacementScorePlugin,), forms), "test")
    return registry


def placed_in(
    score: Callable[[PlacedGroup], Any], normalize: Any = None, kind: str = REQUIRED_TOPOLOGY
) -> Any:
    world = GangWorld(racks(SIZES), ("Coscheduling", "Judge"), judging(score, normalize))
    placed = world.run(pod_group("g", 4, annotations={kind: RACK}), *members("g", 4, cpu="2"))
    assert world.assumed() == []
    return world.why("g-0") or sorted({node.split("-")[0] for node in placed.values()})


def large(group: PlacedGroup) -> int:
    return 100 if group.placement.name == "large" else 1


@pytest.mark.parametrize("kind", [REQUIRED_TOPOLOGY, PREFERRED_TOPOLOGY])
def test_a_gang_goes_where_the_score_is_highest(kind: str) -> None:
    assert placed_in(large, kind=kind) == ["large"]


def test_of_equal_scores_the_rack_with_the_least_room_counts() -> None:
    assert placed_in(lambda group: 7) == ["right"]


def test_what_the_plugin_is_told() -> None:
    seen: list[PlacedGroup] = []

    def score(group: PlacedGroup) -> int:
        seen.append(group)
        return 0

    placed_in(score)
    assert [(group.key, group.placement.name) for group in seen] == [
        ("default/g", "right"),
        ("default/g", "large"),
    ]
    for group in seen:
        assert len(group.placement.nodes) == SIZES[group.placement.name]
        assert [pod.name for pod, _ in group.placed] == ["g-0", "g-1", "g-2", "g-3"]
        nodes = Counter(node for _, node in group.placed)
        assert nodes.keys() <= group.placement.nodes
        assert max(nodes.values()) <= 2


def test_scores_of_any_range_can_be_normalized() -> None:
    largest = lambda scores: [100 * score // max(scores) for score in scores]  # noqa: E731
    assert placed_in(lambda group: 1000 * len(group.placement.nodes), largest) == ["large"]


@pytest.mark.parametrize(
    ("score", "normalize", "told"),
    [
        (lambda group: 1 // 0, None, "ZeroDivisionError"),
        (lambda group: "high", None, "score_placement returned str 'high', use a whole number"),
        (lambda group: 101, None, "score_placement returned 101, use 0 to 100, or write normalize"),
        (lambda group: -1, None, "score_placement returned -1, use 0 to 100, or write normalize"),
        (lambda group: 1, lambda scores: [1], "normalize returned no list of 2 scores"),
    ],
)
def test_a_plugin_that_is_wrong_is_named_and_nobody_is_placed(score: Any, normalize: Any, told: str) -> None:
    why = placed_in(score, normalize)
    assert 'running PlacementScore plugins: plugin "Judge" failed with' in why
    assert told in why


def test_a_class_without_the_method_is_not_loaded() -> None:
    with pytest.raises(PluginLoadError, match="lacks the method score_placement"):
        in_tree_registry().add_class(type("Judge", (PlacementScorePlugin,), {}), "test")


JUDGED = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- plugins:
    multiPoint: {enabled: [{name: Judge}]}
    placementScore: {enabled: [{name: Judge, weight: 100}]}
"""


@pytest.mark.parametrize(("score", "expected"), [(large, ["large"]), (lambda group: 1 // 0, [])])
def test_pod_groups_of_kubernetes_are_judged_as_well(score: Any, expected: list[str]) -> None:
    world = group_worlds.GroupWorld(racks(SIZES), group_worlds.TOPOLOGY, JUDGED, judging(score))
    group = group_worlds.pod_group("g", 4, RACK)
    placed = world.run(group, *group_worlds.members("g", 4, cpu="2"))
    assert sorted({node.split("-")[0] for node in placed.values()}) == expected
    if not expected:
        assert 'plugin "Judge" failed with' in world.told("g")[2]
