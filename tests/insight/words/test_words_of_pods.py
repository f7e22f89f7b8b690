"""Sentences about pods that a scheduler knows, for every state and every cause."""

from __future__ import annotations

from typing import Any

import pytest

from moorage.insight.words import words_for_pod

Document = dict[str, Any]

NOW = 1_700_000_180.0

DETAIL: Document = {
    "number": 7,
    "time": NOW - 20,
    "try": 7,
    "wokenBy": "NodeAdd",
    "outcome": "unschedulable",
    "node": "",
    "message": "0/15 nodes are available: 12 Insufficient cpu, 3 node(s) had untolerated taint(s).",
    "plugins": ["NodeResourcesFit", "TaintToleration"],
    "nodes": 15,
    "lookedAt": 15,
    "feasible": 0,
    "filters": [
        {
            "plugin": "TaintToleration",
            "rejected": 3,
            "reasons": {"node(s) had untolerated taint(s)": 3},
            "skipped": False,
        },
        {"plugin": "NodeResourcesFit", "rejected": 12, "reasons": {"Insufficient cpu": 12}, "skipped": False},
    ],
    "preFilter": {"status": "", "plugin": "", "reasons": [], "narrowedTo": None},
}
CHOSEN: Document = {
    "number": 8,
    "time": NOW - 12,
    "try": 1,
    "wokenBy": "",
    "outcome": "bound",
    "node": "node-7",
    "nodes": 5,
    "lookedAt": 5,
    "feasible": 3,
    "ties": 1,
    "score": 312,
    "second": {"node": "node-9", "score": 310, "by": 2},
    "tippedBy": {"plugin": "NodeResourcesFit", "weight": 1, "newWeight": 0.33, "then": "node-9"},
    "scores": [
        {"plugin": "NodeResourcesFit", "weight": 1, "skipped": False, "chosen": 93, "best": 93, "worst": 10}
    ],
    "after": {"time": NOW - 11.993, "seconds": 0.007, "by": "", "message": ""},
}


def document(state: str = "pending", **more: Any) -> Document:
    return {"pod": {"namespace": "default", "name": "web-1"}, "state": state, "since": NOW - 180, **more}


def said(*args: Any, **more: Any) -> str:
    return " ".join(words_for_pod(document(*args, **more), now=NOW))


def test_pending_with_causes_and_advice() -> None:
    closest = {"node": "node-7", "resource": "cpu", "short": "300m", "taints": {"gpu=true:NoSchedule": 3}}
    advice = [
        {"text": "its cpu request were 1200m or less (node-7)", "then": "fits"},
        {"text": "it tolerated gpu=true:NoSchedule (node-2, node-9)", "then": "fits"},
        {"text": "default/batch-7 (priority 0) left node-7", "then": "fits"},
    ]
    assert said(tries=7, last=DETAIL, closest=closest, advice=advice) == (
        "Pending for 3 min, tried 7 times. 12 of 15 nodes lack cpu (closest: node-7, short by 300m); "
        "3 have the taint gpu=true:NoSchedule. It would fit if: its cpu request were 1200m or less (node-7) "
        "· it tolerated gpu=true:NoSchedule (node-2, node-9) · default/batch-7 (priority 0) left node-7."
    )


def test_suggestions_name_the_template_and_those_that_preempt_stand_apart() -> None:
    where = {"kind": "Deployment", "namespace": "default", "name": "web", "path": "spec.template"}
    advice = [
        {"text": "it asked for less", "then": "fits", "where": where},
        {"text": "its priority were 1", "then": "preempts"},
    ]
    assert said(tries=1, last=DETAIL, advice=advice).endswith(
        "It would fit if: it asked for less. It would preempt others if: its priority were 1. "
        "What concerns the pod belongs in spec.template of Deployment default/web."
    )


def test_taints_that_do_not_add_up_are_only_named() -> None:
    closest = {"taints": {"a:NoSchedule": 1, "b:NoExecute": 1}}
    text = "3 have taints that it does not tolerate (a:NoSchedule and b:NoExecute)"
    assert text in said(tries=2, last=DETAIL, closest=closest)


def test_a_shortage_of_several_resources_and_a_request_too_large_for_any_node() -> None:
    closest = {"node": "n", "resource": "cpu", "short": "2", "also": {"memory": "1.5Gi"}, "tooLarge": "4"}
    assert (
        "12 of 15 nodes lack cpu (closest: n, short by 2 and 1.5Gi of memory; the largest has only 4, even "
        "when empty)"
    ) in said(tries=1, last=DETAIL, closest=closest)


PRE_FILTER = {
    "pod has unbound immediate PersistentVolumeClaims": "A claim of it has no persistent volume yet",
    'persistentvolumeclaim "data" not found': 'Its persistent volume claim "data" does not exist.',
    "pod affinity terms conflict": "The node names in its node affinity contradict one another.",
    "node(s) didn't satisfy plugin(s) [A B] simultaneously": "No node is left by all of A and B together.",
    "node(s) didn't satisfy plugin NodeAffinity": "NodeAffinity leaves no node that exists.",
}


@pytest.mark.parametrize("reason", PRE_FILTER)
def test_what_rules_out_the_pod_as_a_whole(reason: str) -> None:
    pre = {"status": "UnschedulableAndUnresolvable", "plugin": "P", "reasons": [reason]}
    assert PRE_FILTER[reason] in said(tries=1, last={**DETAIL, "filters": [], "preFilter": pre})


def test_others_plugins_are_quoted() -> None:
    pre = {"status": "Unschedulable", "plugin": "Quiet", "reasons": ["too loud"]}
    assert 'Quiet says "too loud".' in said(tries=1, last={**DETAIL, "preFilter": pre})
    filters = [{"plugin": "Quiet", "rejected": 15, "reasons": {"node is noisy": 15}}]
    text = 'All 15 nodes are rejected by Quiet ("node is noisy").'
    assert text in said(tries=1, last={**DETAIL, "filters": filters})


PREEMPTION = {
    "preemption: not eligible due to preemptionPolicy=Never.": "It may not preempt others",
    "preemption: not eligible due to a terminating pod on the nominated node.": "are still ending",
    "preemption: 0/15 nodes are available: 15 No preemption victims found for incoming pod.": "none is pre",
    "preemption: 0/15 nodes are available: 3 Preemption is not helpful for scheduling.": "",
}


@pytest.mark.parametrize("message", PREEMPTION)
def test_why_nobody_makes_room(message: str) -> None:
    text = said(tries=1, last={**DETAIL, "message": f"{DETAIL['message']} {message}"})
    assert PREEMPTION[message] in text
    assert "preemption:" not in text


def test_an_error_a_refusal_and_a_nomination() -> None:
    failed = {**DETAIL, "outcome": "error", "plugins": ["Mine"], "message": "boom"}
    assert "Mine failed: boom. That is no fault of the pod: it is tried again." in said(tries=1, last=failed)
    refused = {**CHOSEN, "outcome": "refused", "after": {"by": "Gang", "message": "too few"}}
    assert "node-7 was chosen, and then Gang refused: too few." in said(tries=1, last=refused)
    preemption = {
        "candidates": [{"node": "node-3", "victims": ["default/a", "default/b"], "pdbViolations": 1}],
        "nominated": "node-3",
    }
    nominated = {**DETAIL, "outcome": "nominated", "node": "node-3", "preemption": preemption}
    assert (
        "Preemption makes room on node-3: default/a and default/b must go (against 1 disruption budget), then"
    ) in said(tries=1, last=nominated)


def test_what_happens_next() -> None:
    queue = {"where": "unschedulable", "waitsFor": ["NodeAdd", "AssignedPodDelete", "NodeAdd"]}
    assert said(tries=1, last=DETAIL, queue=queue).endswith(
        "It is tried again when a node is added; a placed pod goes."
    )
    assert said(tries=1, last=DETAIL, queue={"where": "backoff", "backoffUntil": NOW + 4.5}).endswith(
        "It is tried again in 4 s."
    )
    assert said(tries=0, queue={"where": "active"}) == (
        "Pending for 3 min, not tried yet. It waits for its turn. It is in line for the next try."
    )


def test_gated() -> None:
    queue = {"gatedBy": "SchedulingGates", "message": "waiting for scheduling gates: [a.b/c d]"}
    assert said("gated", queue=queue) == (
        "Held back for 3 min, not in the queue. "
        "Held back by its scheduling gates a.b/c and d: it is tried when they are removed."
    )


def test_placed() -> None:
    assert said("placed", node="node-7", last=CHOSEN) == (
        "Placed on node-7, 12 s ago, at the first try. 3 of 5 nodes fit; node-7 scored highest with 312, and "
        "node-9 came second with 310 (2 less). NodeResourcesFit tipped the scale: if it weighed less than "
        "0.33 instead of 1, node-9 would have won. NodeResourcesFit spoke most for it: 83 points more than "
        "for the worst node. It was bound 7 ms after the decision."
    )


def test_placed_among_equals_and_as_the_only_one() -> None:
    equals = {**CHOSEN, "ties": 3, "second": {"node": "b", "score": 312, "by": 0}, "tippedBy": None}
    assert "node-7 was taken among equals: 2 others had the same best score, 312." in said(
        "placed", node="node-7", last=equals
    )
    only = {**CHOSEN, "feasible": 1, "lookedAt": 500, "nodes": 5000}
    assert "node-7 was the only node of the 500 that were looked at that fits." in said(
        "placed", node="node-7", last=only
    )
    all_seen = {**CHOSEN, "feasible": 500, "lookedAt": 500, "nodes": 5000}
    assert "All 500 nodes that were looked at fit (there are 5000); node-7 scored highest" in said(
        "placed", node="node-7", last=all_seen
    )
    later = {**CHOSEN, "try": 3, "wokenBy": "NodeAdd"}
    assert "at try 3, woken when a node is added." in said("placed", node="node-7", last=later)


def test_without_a_record() -> None:
    assert "There is no record of why" in said("placed", node="node-1", last=None)
    assert "There is no record of why" in said("placed", node="node-1", last=CHOSEN)
    assert "it belongs to another scheduler" in said("unknown")
    assert said("unknown", schedulerName="other") == (
        "It belongs to another scheduler: its spec.schedulerName is other."
    )
    assert "What the last try found is no longer in the log." in said(tries=3, queue={"message": ""})
    assert said("unknown", last=CHOSEN).startswith("It was placed on node-7 12 s ago")


def test_binding() -> None:
    text = said("binding", node="node-7", last={**CHOSEN, "outcome": "assumed", "after": None})
    assert text.startswith("node-7 is chosen, and binding it there has been under way for 12 s.")
