"""How preferences of the pod, and the terms of placed pods, score nodes."""

from __future__ import annotations

import numpy as np
import pytest

from moorage.api.pods import Pod
from moorage.framework.cycle_state import CycleState
from moorage.plugins.inter_pod_affinity import InterPodAffinity
from moorage.testing import make_pod
from tests.plugins.affinity_cases import DELETING, HOST, pod_with, term, zones
from tests.plugins.helpers import scored


def final(raw: list[int]) -> list[int]:
    plugin = zones()
    scores = plugin.normalize_scores(CycleState(), make_pod("in"), np.array(raw, dtype=np.int64))
    return [int(score) for score in scores]


@pytest.mark.parametrize(
    ("raw", "normalized"),
    [
        ([-10, 0, 19], [0, 34, 100]),
        ([0, 29, 100], [0, 28, 100]),
        ([0, 57, 58, 100], [0, 56, 57, 100]),
        ([5, 5], [0, 0]),
        ([-7, -7, -7], [0, 0, 0]),
    ],
)
def test_normalisation_divides_first(raw: list[int], normalized: list[int]) -> None:
    """So 29 of 100 is 28."""
    assert final(raw) == normalized


def raws(plugin: InterPodAffinity, pod: Pod) -> dict[str, int]:
    return scored(plugin, pod, raw=True)


def test_preferences_of_the_pod_itself() -> None:
    plugin = zones(
        pod_with(app="a", name="p", node="a"),
        pod_with(app="a", name="q", node="b", metadata=DELETING),
        pod_with(app="b", name="r", node="c"),
    )
    pod = pod_with(prefer=[(5, term()), (2, term(key=HOST))], avoid=[(3, term("b"))])
    assert raws(plugin, pod) == {"a": 12, "b": 12, "c": -3, "x": 0}
    assert scored(plugin, pod) == {"a": 100, "b": 100, "c": 0, "x": 20}


@pytest.mark.parametrize(("weight", "score"), [(1, 1), (100, 100), (0, None)])
def test_required_affinity_of_placed_pods(weight: int, score: int | None) -> None:
    plugin = zones(pod_with(name="p", node="a", near=[term("new")]), hard_pod_affinity_weight=weight)
    found = raws(plugin, make_pod("in", labels={"app": "new"}))
    assert found == ({} if score is None else {"a": score, "b": score, "c": 0, "x": 0})


def test_preferences_of_placed_pods() -> None:
    plugin = zones(
        pod_with(name="p", node="a", prefer=[(5, term("new")), (5, term("new"))]),
        pod_with(name="q", node="c", avoid=[(3, term("new"))], far=[term("other")]),
    )
    assert raws(plugin, make_pod("in", labels={"app": "new"})) == {"a": 10, "b": 10, "c": -3, "x": 0}
    assert raws(plugin, make_pod("in", labels={"app": "old"})) == {}, "nobody speaks of it: skipped"


def test_preferences_of_placed_pods_can_be_ignored() -> None:
    placed = pod_with(name="p", node="a", app="a", prefer=[(5, term("new"))])
    plugin = zones(placed, ignore_preferred_terms_of_existing_pods=True)
    assert raws(plugin, make_pod("in", labels={"app": "new"})) == {}
    own = pod_with(app="new", prefer=[(1, term("nobody"))])
    assert raws(plugin, own) == {"a": 5, "b": 5, "c": 0, "x": 0}, "not if the pod has preferences itself"


def test_what_cancels_out_does_not_skip() -> None:
    plugin = zones(pod_with(app="a", name="p", node="a"))
    pod = pod_with(prefer=[(5, term())], avoid=[(5, term())])
    assert scored(plugin, pod) == {"a": 0, "b": 0, "c": 0, "x": 0}
    assert scored(plugin, pod_with(prefer=[(5, term("nobody"))])) == {}
    assert scored(zones(pod_with(app="a", name="p", node="x")), pod) == {}, "no topology, no contribution"
