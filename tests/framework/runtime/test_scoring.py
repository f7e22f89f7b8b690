from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moorage.framework.cycle_state import CycleState
from moorage.framework.extension_points import Plugin
from moorage.framework.runtime.scoring import best, pre_score, score
from moorage.framework.status import Code, Status
from tests.framework.scripted import POD, FastScores, PreScores, Scores, World, plugin

# PreScore


def pre_score_error(text: str) -> Status:
    return Status.error(f'running PreScore plugin "A": {text}').by("A")


@pytest.mark.parametrize(
    ("answer", "status", "skipped"),
    [
        (None, None, set()),
        (Status.success(), None, set()),
        (Status.skip(), None, {"A"}),
        (Status.unschedulable("no"), pre_score_error("no"), set()),
        (Status.unresolvable("never"), pre_score_error("never"), set()),
        (Status.pending("later"), pre_score_error("later"), set()),
        (Status.error("broken"), pre_score_error("broken"), set()),
        (Status(Code.WAIT, "wait"), pre_score_error("wait"), set()),
        (ValueError("broken"), pre_score_error("ValueError: broken"), set()),
        (5, pre_score_error("pre_score returned int 5, use None or a Status"), set()),
    ],
)
def test_pre_score(answer: Any, status: Status | None, skipped: set[str]) -> None:
    after = plugin(PreScores, "B")
    world, cycle = World(plugin(PreScores, "A", answer), after), CycleState()
    assert pre_score(world.profile, world.profile.plans.general, cycle, POD, world.nodes) == status
    assert cycle.skip_score == skipped
    assert after.calls == ([] if status else [["n0", "n1", "n2"]])


# Score


def by_name(**scores: Any) -> Any:
    return lambda cycle, pod, node: scores[node.name]


def array(*scores: Any, dtype: Any = np.int64) -> Any:
    return lambda cycle, pod, nodes: np.array(scores, dtype=dtype)


def scored(*plugins: type[Plugin], weights: dict[str, int] | None = None, skip: str = "") -> Any:
    """The totals, or the text of the error."""
    world, cycle = World(*plugins, weights=weights), CycleState()
    cycle.skip_score |= {skip}
    result = score(world.profile, world.profile.plans.general, cycle, POD, world.nodes)
    if result.status is not None:
        assert result.status.code is Code.ERROR
        assert result.status.plugin == "A"
        return result.status.message
    return result.totals.tolist()


def test_the_total_is_the_weighted_sum() -> None:
    a = plugin(Scores, "A", by_name(n0=1, n1=50, n2=100))
    b = plugin(FastScores, "B", array(7, 0, 9))
    assert scored(a) == [1, 50, 100]
    assert scored(a, b) == [8, 50, 109]
    assert scored(a, b, weights={"A": 3, "B": 10}) == [73, 150, 390]
    assert scored(a, b, skip="B") == [1, 50, 100]
    assert scored() == [0, 0, 0]


def test_the_scores_of_each_plugin_are_kept_without_the_weight() -> None:
    world = World(plugin(FastScores, "A", array(1, 2, 3)), weights={"A": 5})
    result = score(world.profile, world.profile.plans.general, CycleState(), POD, world.nodes)
    assert {name: scores.tolist() for name, scores in result.by_plugin.items()} == {"A": [1, 2, 3]}


@pytest.mark.parametrize("number", [7, np.int8(7), np.int32(7), np.int64(7), np.uint64(7)])
def test_whole_numbers_of_any_type_are_scores(number: Any) -> None:
    assert scored(plugin(Scores, "A", number)) == [7, 7, 7]


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.uint64, np.int64])
def test_arrays_of_any_whole_number_type_are_scores(dtype: Any) -> None:
    assert scored(plugin(FastScores, "A", array(1, 2, 3, dtype=dtype))) == [1, 2, 3]


def test_every_second_row_of_an_array_is_an_array() -> None:
    assert scored(plugin(FastScores, "A", array(1, 9, 2, 9, 3, 9)(None, None, None)[::2])) == [1, 2, 3]


FAILED = 'running Score plugins: plugin "A" failed with: '


@pytest.mark.parametrize(
    ("base", "answer", "text"),
    [
        (Scores, ValueError("broken"), "ValueError: broken"),
        (Scores, ValueError(), "ValueError"),
        (Scores, True, "score returned bool True for node n0, use a whole number"),
        (Scores, np.True_, "score returned bool True for node n0, use a whole number"),
        (Scores, 7.0, "score returned float 7.0 for node n0, use a whole number"),
        (Scores, math.nan, "score returned float nan for node n0, use a whole number"),
        (Scores, np.float64(7), "score returned float64 np.float64(7.0) for node n0, use a whole number"),
        (Scores, None, "score returned NoneType None for node n0, use a whole number"),
        (Scores, by_name(n0=1, n1="7"), "score returned str '7' for node n1, use a whole number"),
        (
            Scores,
            Status.unschedulable("no"),
            "score returned Status <Status Unschedulable: no> for node n0, use a whole number",
        ),
        (FastScores, ValueError("broken"), "ValueError: broken"),
        (FastScores, [1, 2, 3], "score_nodes returned list, use an array of whole numbers"),
        (FastScores, None, "score_nodes returned NoneType, use an array of whole numbers"),
        (FastScores, array(1, 2), "score_nodes returned (2,) scores for 3 nodes"),
        (FastScores, array([1, 2, 3]), "score_nodes returned (1, 3) scores for 3 nodes"),
        (
            FastScores,
            array(1, 2, 3, dtype=np.float64),
            "score_nodes returned an array of float64, use whole numbers (int64)",
        ),
        (
            FastScores,
            array(1, 0, 1, dtype=np.bool_),
            "score_nodes returned an array of bool, use whole numbers (int64)",
        ),
    ],
)
def test_a_wrong_score_is_an_error(base: type[Any], answer: Any, text: str) -> None:
    after = plugin(Scores, "B", 1)
    assert scored(plugin(base, "A", answer), after) == FAILED + text.replace("bool True", _shown(answer))
    assert after.calls == []


def _shown(answer: Any) -> str:
    return f"{type(answer).__name__} {answer!r}"


@pytest.mark.parametrize("wrong", [-1, 101, 1000, -(2**63), 2**63 - 1])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_scores_beyond_the_range_are_an_error(wrong: int, place: int) -> None:
    scores = [0, 100, 50]
    scores[place] = wrong
    assert scored(plugin(FastScores, "A", array(*scores))) == (
        f'applying score defaultWeights on Score plugins: plugin "A" returns an invalid score {wrong}, '
        "it should in the range of [0, 100] after normalizing"
    )


# NormalizeScore


def normalizing(answer: Any) -> type[Plugin]:
    """Scores 10, 20 and 400 before normalizing."""

    def normalize(self: Any, cycle: Any, pod: Any, scores: Any) -> Any:
        if isinstance(answer, Exception):
            raise answer
        return answer(scores) if callable(answer) else answer

    return plugin(FastScores, "A", array(10, 20, 400), normalize_scores=normalize)


def test_the_range_is_checked_after_normalizing() -> None:
    assert scored(normalizing(lambda scores: scores // 4)) == [2, 5, 100]
    assert "invalid score 400" in scored(normalizing(lambda scores: scores))


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (ValueError("broken"), "ValueError: broken"),
        (None, "normalize_scores returned NoneType, use an array of whole numbers"),
        (
            lambda scores: scores / 4,
            "normalize_scores returned an array of float64, use whole numbers (int64)",
        ),
        (lambda scores: scores[:2], "normalize_scores returned (2,) scores for 3 nodes"),
    ],
)
def test_a_failure_to_normalize_is_an_error(answer: Any, text: str) -> None:
    expected = f'running Normalize on Score plugins: plugin "A" failed with: {text}'
    assert scored(normalizing(answer)) == expected


# The choice


def slow_best(totals: list[int]) -> int:
    """The first node with the highest total that a walk through the implicit tree meets."""
    highest = max(totals)

    def walk(place: int) -> int | None:
        if place >= len(totals):
            return None
        if totals[place] == highest:
            return place
        left = walk(2 * place + 1)
        return left if left is not None else walk(2 * place + 2)

    found = walk(0)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("totals", "winner"),
    [
        ([5], 0),
        ([5, 9], 1),
        ([9, 9, 9], 0),
        ([5, 9, 9, 7, 9], 1),
        ([5, 7, 9, 9, 9], 3),
        ([0, 0, 7, 0, 0, 0, 7], 2),
        ([-3, -1, -1], 1),
    ],
)
def test_the_highest_total_wins_and_a_walk_through_the_tree_breaks_ties(
    totals: list[int], winner: int
) -> None:
    assert slow_best(totals) == winner
    assert best(np.array(totals)) == winner


@settings(deadline=None)
@given(st.lists(st.integers(0, 3), min_size=1, max_size=70))
def test_ties_are_broken_as_the_slow_reference_does(totals: list[int]) -> None:
    assert best(np.array(totals)) == slow_best(totals)


@settings(deadline=None)
@given(st.sets(st.integers(0, 4999), min_size=1, max_size=20))
def test_ties_are_broken_as_the_slow_reference_does_among_many_nodes(tied: set[int]) -> None:
    totals = [int(place in tied) for place in range(5000)]
    assert best(np.array(totals)) == slow_best(totals)
