from __future__ import annotations

import pytest

from moorage.framework.diagnosis import NO_NODES, nodes_available

VICTIMS = "No preemption victims found for incoming pod"
NOT_HELPFUL = "Preemption is not helpful for scheduling"
CLAIMS = "no new claims to deallocate"
AFFINITY = "node(s) didn't match Pod's node affinity/selector"


@pytest.mark.parametrize(
    ("total", "reasons", "pre_filter", "post_filter", "text"),
    [
        (3, {}, "", "", "0/3 nodes are available:"),
        (3, {}, "", "after", "0/3 nodes are available: after"),
        (3, {"a": 3}, "", "", "0/3 nodes are available: 3 a."),
        (12, {"x": 2, "y": 10}, "", "", "0/12 nodes are available: 10 y, 2 x."),
        (2, {"b": 2, "a": 2}, "", "", "0/2 nodes are available: 2 a, 2 b."),
        (2, {"é": 1, "z": 1}, "", "", "0/2 nodes are available: 1 z, 1 é."),
        (3, {"a": 3}, "pre", "", "0/3 nodes are available: pre."),
        (3, {"a": 3}, "pre", "after.", "0/3 nodes are available: pre. after."),
        (1, {"REASON": 1}, "", "", "0/1 nodes are available: 1 REASON."),
        (
            1,
            {},
            "pod has unbound immediate PersistentVolumeClaims",
            "not found",
            "0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims. not found",
        ),
    ],
)
def test_the_text_of_a_pod_that_fits_nowhere(
    total: int, reasons: dict[str, int], pre_filter: str, post_filter: str, text: str
) -> None:
    assert nodes_available(total, reasons, pre_filter=pre_filter, post_filter=post_filter) == text


@pytest.mark.parametrize(
    ("total", "reasons", "dry_run", "text"),
    [
        (
            3,
            {"Insufficient cpu": 3},
            {VICTIMS: 3},
            "0/3 nodes are available: 3 Insufficient cpu. no new claims to deallocate, preemption: "
            "0/3 nodes are available: 3 No preemption victims found for incoming pod.",
        ),
        (
            3,
            {"Insufficient memory": 2, "node(s) had untolerated taint(s)": 1},
            {VICTIMS: 2, NOT_HELPFUL: 1},
            "0/3 nodes are available: 1 node(s) had untolerated taint(s), 2 Insufficient memory. "
            "no new claims to deallocate, preemption: 0/3 nodes are available: "
            "1 Preemption is not helpful for scheduling, 2 No preemption victims found for incoming pod.",
        ),
        (
            2,
            {AFFINITY: 2},
            {NOT_HELPFUL: 2},
            "0/2 nodes are available: 2 node(s) didn't match Pod's node affinity/selector. "
            "no new claims to deallocate, preemption: 0/2 nodes are available: "
            "2 Preemption is not helpful for scheduling.",
        ),
    ],
)
def test_the_text_with_what_preemption_said(
    total: int, reasons: dict[str, int], dry_run: dict[str, int], text: str
) -> None:
    after = f"{CLAIMS}, preemption: {nodes_available(total, dry_run)}"
    assert nodes_available(total, reasons, post_filter=after) == text


def test_the_text_for_a_cluster_without_nodes() -> None:
    assert NO_NODES == "no nodes available to schedule pods"
