"""Disruption budgets: which victims they spare, and when they do not."""

from __future__ import annotations

import pytest

from moorage.api.workloads import PodDisruptionBudget
from moorage.testing import make_node
from tests.plugins.preemption.preemption_cases import budget, candidates, labelled, on_n, preemptor, scenario


@pytest.mark.parametrize(
    ("budgets", "found"),
    [
        ([], ("c d", 0)),
        ([budget(0)], ("d b", 0)),
        ([budget(1)], ("b d", 0)),
        ([budget(2)], ("c d", 0)),
        ([budget(0, {})], ("c d", 0)),
        ([budget(0, {"matchExpressions": [{"key": "app", "operator": "Bad"}]})], ("c d", 0)),
        ([budget(0, disruptedPods={"c": "2026-01-01T00:00:00Z"})], ("c d", 0)),
        ([budget(0, disruptedPods={"a": "2026-01-01T00:00:00Z"})], ("d b", 0)),
    ],
    ids=[
        "none",
        "protects a and c",
        "one may go: c is beyond that",
        "both may go",
        "an empty selector protects nobody",
        "nor does an invalid one",
        "a pod that is being disrupted already",
        "the other one is",
    ],
)
def test_budgets(budgets: list[PodDisruptionBudget], found: tuple[str, int]) -> None:
    """Protected pods are put back before all others. Of a, b, c, d in order of arrival two must go."""
    pods = [labelled("a"), labelled("b", app="x"), labelled("c"), labelled("d", app="x")]
    world = scenario(make_node("n"), *pods, *budgets)
    victims, violations = candidates(world, preemptor())["n"]
    assert (set(victims.split()), violations) == (set(found[0].split()), found[1])


def test_budgets_are_a_preference_and_no_veto() -> None:
    world = scenario(make_node("n"), *(labelled(name) for name in "abcd"), budget(0))
    assert candidates(world, preemptor()) == {"n": ("c d", 2)}
    world = scenario(make_node("n"), *(labelled(name) for name in "abcd"), budget(3))
    assert candidates(world, preemptor()) == {"n": ("b c", 0)}, "d is the fourth: it is put back first"


def test_victims_of_both_kinds_are_sorted_by_importance_again() -> None:
    pods = [labelled("low", "2", 1), labelled("high", "2", 5, app="x")]
    world = scenario(make_node("n"), *pods, budget(0))
    assert candidates(world, preemptor("4")) == {"n": ("high low", 1)}


def test_budgets_of_other_namespaces_and_pods_without_labels() -> None:
    elsewhere = budget(0)
    elsewhere.metadata.namespace = "other"
    anybody = budget(0, {"matchExpressions": [{"key": "x", "operator": "DoesNotExist"}]})
    assert candidates(scenario(make_node("n"), labelled("a", "4"), elsewhere), preemptor()) == {"n": ("a", 0)}
    assert candidates(scenario(make_node("n"), on_n("a", "4"), anybody), preemptor()) == {"n": ("a", 0)}
    assert candidates(scenario(make_node("n"), labelled("a", "4"), anybody), preemptor()) == {"n": ("a", 1)}


def test_every_matching_budget_is_used_up() -> None:
    """The first allows two, the second none: a violates the second, and the first counts a as well."""
    first, second = budget(2), budget(0, {"matchLabels": {"special": "yes"}})
    second.metadata.name = "second"
    special = on_n("a", "1", 0, 1, labels={"app": "a", "special": "yes"})
    world = scenario(
        make_node("n"), special, labelled("b"), labelled("c"), labelled("d", app="x"), first, second
    )
    assert candidates(world, preemptor("4")) == {"n": ("a c b d", 2)}
