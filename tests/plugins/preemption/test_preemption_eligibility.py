"""Who may preempt."""

from __future__ import annotations

import pytest

from moorage.api.pods import Pod
from moorage.framework.node_statuses import NodeStatuses
from moorage.framework.status import Code, Status
from moorage.testing import make_node, make_pod
from tests.plugins.preemption.preemption_cases import (
    Document,
    candidates,
    decide,
    on_n,
    preemption,
    preemptor,
    scenario,
)

BEING_PREEMPTED: Document = {
    "type": "DisruptionTarget",
    "status": "True",
    "reason": "PreemptionByScheduler",
}


def test_preemption_policy_never() -> None:
    world = scenario(make_node("n"), on_n("p", "4"))
    decision = decide(world, preemptor(preemptionPolicy="Never"))
    assert decision.post_filtered is not None
    assert decision.post_filtered.nominated_node is None, "the nomination stays as it is"
    assert "preemption: not eligible due to preemptionPolicy=Never." in decision.post_filtered.status.reasons
    assert candidates(world, preemptor(preemptionPolicy="PreemptLowerPriority")) == {"n": ("p", 0)}


def terminating(priority: int = 0, *conditions: Document, deleting: bool = True) -> Pod:
    metadata = {"deletionTimestamp": "2026-01-01T00:00:00Z"} if deleting else {}
    status = {"conditions": list(conditions or (BEING_PREEMPTED,))}
    return make_pod("p", node="n", priority=priority, metadata=metadata, status=status)


TERMINATING = "not eligible due to a terminating pod on the nominated node."


@pytest.mark.parametrize(
    ("there", "nominated", "code", "reason"),
    [
        (terminating(), "n", Code.UNSCHEDULABLE, TERMINATING),
        (terminating(9), "n", Code.UNSCHEDULABLE, TERMINATING),
        (terminating(), "", Code.UNSCHEDULABLE, ""),
        (terminating(), "gone", Code.UNSCHEDULABLE, ""),
        (terminating(), "n", Code.UNSCHEDULABLE_AND_UNRESOLVABLE, ""),
        (terminating(), "n", None, ""),
        (terminating(10), "n", Code.UNSCHEDULABLE, ""),
        (terminating(deleting=False), "n", Code.UNSCHEDULABLE, ""),
        (terminating(0, {**BEING_PREEMPTED, "status": "False"}), "n", Code.UNSCHEDULABLE, ""),
        (terminating(0, {**BEING_PREEMPTED, "reason": "EvictionByTaint"}), "n", Code.UNSCHEDULABLE, ""),
        (terminating(0, {"type": "Ready", "status": "True"}), "n", Code.UNSCHEDULABLE, ""),
    ],
    ids=[
        "terminating",
        "just below",
        "not nominated",
        "nominated node is gone",
        "final there",
        "no status there",
        "same priority",
        "not deleted yet",
        "condition False",
        "deleted by somebody else",
        "no condition",
    ],
)
def test_eligibility(there: Pod, nominated: str, code: Code | None, reason: str) -> None:
    world = scenario(make_node("n"), there)
    statuses = NodeStatuses(world.services.state.table)
    if code is not None:
        statuses.set_row(0, Status(code, "because"))
    pod = preemptor(status={"nominatedNodeName": nominated})
    assert preemption(world).not_eligible(pod, statuses) == reason


def test_the_newest_version_of_the_pod_counts() -> None:
    world = scenario(make_node("n"), on_n("p", "4"))
    world.services.find_pod = lambda pod: preemptor(preemptionPolicy="Never")
    decision = decide(world, preemptor())
    assert decision.failure is not None
    assert "preemptionPolicy=Never" in decision.failure.message
    world.services.find_pod = lambda pod: None
    answer = preemption(world).post_filter(decision.cycle, preemptor(), decision.statuses)
    assert isinstance(answer, Status)
    assert (answer.code, answer.message) == (Code.ERROR, 'preemption: pod "in" not found')
