"""Advice for all recorded scenarios in which the pod does not fit."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import pytest

from moorage.insight.advice.advising import advise
from moorage.insight.advice.scenarios import evaluate_and_advise
from moorage.plugins.catalog import in_tree_registry
from moorage.what_if.scenario import evaluate, read_scenario
from tests.golden.test_recorded_decisions import SUBJECTS, recorded
from tests.insight.advice.carrying_out import broken_promises
from tests.insight.advice.exhaustive import helping

Document = dict[str, Any]

EACH = 12
"""Of so many scenarios one is searched, unless time is no matter."""


def pending(subject: str) -> Iterator[Document]:
    """The scenarios in which the pod does not fit."""
    return (scenario for scenario, expected in recorded(subject) if not expected.get("feasible"))


@pytest.mark.parametrize("subject", SUBJECTS)
def test_what_is_promised_comes_true(subject: str) -> None:
    registry = in_tree_registry()
    problems: list[str] = []
    given = 0
    for scenario in pending(subject):
        result = evaluate_and_advise(scenario, registry)
        given += len(result["advice"])
        problems += broken_promises(scenario, result["advice"], registry)
    assert given
    assert not problems, f"{len(problems)} of {given} are broken\n" + "\n".join(problems[:5])


@pytest.mark.parametrize("subject", SUBJECTS)
def test_trying_leaves_no_trace(subject: str) -> None:
    """Afterwards every decision is as before, and neither documents nor objects have changed."""
    registry = in_tree_registry()
    for scenario in list(pending(subject))[:40]:
        before = copy.deepcopy(scenario)
        built, pod = read_scenario(scenario, registry)
        first = built.evaluate(pod).document()
        others = [item for item in built.services.door.pods() if item.spec.node_name][:3]
        expected = [built.evaluate(_waiting(other)).document() for other in others]
        advise(built.services, built.profile, pod)
        assert built.evaluate(pod).document() == first, scenario["id"]
        assert [built.evaluate(_waiting(other)).document() for other in others] == expected, scenario["id"]
        assert scenario == before, scenario["id"]
        assert not built.services.state.trials


def _waiting(pod: Any) -> Any:
    """A pod of the same template that has no node yet."""
    from moorage.api.decoding import from_document
    from moorage.api.pods import Pod

    document = copy.deepcopy(pod.raw)
    document["metadata"] |= {"name": f"{pod.name}-again", "uid": f"{pod.uid}-again"}
    document["spec"].pop("nodeName")
    return from_document(Pod, document)


@pytest.mark.soak
def test_where_a_single_change_helps_there_is_advice(soak: bool) -> None:
    """At least 19 of 20; a slow search says where one helps."""
    registry = in_tree_registry()
    helped = given = 0
    missed: list[str] = []
    for subject in SUBJECTS:
        for scenario in list(pending(subject))[:: 1 if soak else EACH]:
            found = helping(scenario, registry)
            if found is None:
                continue
            helped += 1
            if evaluate_and_advise(scenario, registry)["advice"]:
                given += 1
            else:
                missed.append(f"{scenario['id']}: {found}")
    assert helped
    assert given >= 0.95 * helped, f"{given} of {helped}; none for " + ", ".join(missed)


def test_a_pod_that_fits_gets_no_advice() -> None:
    registry = in_tree_registry()
    scenario = next(scenario for scenario, expected in recorded("resources") if expected["feasible"])
    assert "advice" not in evaluate_and_advise(scenario, registry)
    assert evaluate_and_advise(scenario, registry) == evaluate(scenario, registry)
