"""Which nodes hard spread constraints leave."""

from __future__ import annotations

import numpy as np
import pytest

from moorage.api.pods import Pod
from moorage.framework.cycle_state import CycleState
from moorage.framework.handle import Handle
from moorage.framework.status import Code
from moorage.plugins.cycle_reads import MissingState
from moorage.testing import make_node, make_pod
from tests.plugins.helpers import cluster, filtered
from tests.plugins.spread.spread_cases import (
    APP,
    DELETING,
    HOST,
    MISSING,
    RACK,
    SKEWED,
    ZONE,
    Document,
    apps,
    constraint,
    pod_with,
    spread,
    zones,
)


def passing(handle: Handle, pod: Pod) -> str:
    """The zones that pass."""
    answers = filtered(spread(handle), pod)
    return "".join(name.removeprefix("n-") for name, status in sorted(answers.items()) if status is None)


@pytest.mark.parametrize(
    ("counts", "rest", "passed"),
    [
        ({"a": 2, "b": 0, "c": 1}, {}, "b"),
        ({"a": 1, "b": 1}, {"minDomains": 3}, ""),
        ({"a": 1, "b": 1}, {"minDomains": 2}, "ab"),
        ({"a": 1, "b": 1}, {"minDomains": 1}, "ab"),
        ({"a": 0, "b": 0}, {"minDomains": 3}, "ab"),
        ({"a": 2, "b": 0, "c": 1}, {"skew": 2}, "bc"),
        ({"a": 2, "b": 0, "c": 1}, {"skew": 3}, "abc"),
        ({"a": 4, "b": 4}, {}, "ab"),
    ],
)
def test_skew(counts: dict[str, int], rest: Document, passed: str) -> None:
    """Matching pods of the domain, and this one, less the least in any domain."""
    assert passing(zones(**counts), pod_with(constraint(**rest))) == passed


def test_a_pod_that_does_not_match_its_own_selector_does_not_count_itself() -> None:
    handle = zones(a=2, b=0, c=1)
    assert passing(handle, pod_with(constraint(), labels={"app": "other"})) == "bc"


@pytest.mark.parametrize(
    ("selector", "label_keys", "labels", "passed"),
    [
        (None, (), {"app": "a"}, "ab"),
        (None, ("app",), {"app": "a"}, "ab"),
        ({}, (), {"app": "a"}, "ab"),
        ({}, ("app",), {"app": "a"}, "b"),
        ({}, ("other",), {"app": "a"}, "ab"),
        (APP, ("version",), {"app": "a", "version": "2"}, "ab"),
        (APP, ("version",), {"app": "a"}, "b"),
        (APP, (), {"app": "a", "version": "2"}, "b"),
    ],
    ids=[
        "null selects nothing",
        "null stays nothing",
        "{} counts nobody",
        "{} with a key of the pod",
        "{} with a key the pod lacks",
        "a key narrows",
        "a key the pod lacks is ignored",
        "plain",
    ],
)
def test_selectors(
    selector: Document | None, label_keys: tuple[str, ...], labels: dict[str, str], passed: str
) -> None:
    pod = pod_with(constraint(selector=selector, matchLabelKeys=list(label_keys)), labels=labels)
    assert passing(zones(a=2, b=0), pod) == passed


def test_an_empty_selector_counts_nobody_but_matches_the_pod_itself() -> None:
    pod = pod_with(constraint(selector={}, skew=1, minDomains=5))
    assert passing(zones(a=3, b=0), pod) == "ab", "0 + 1 - 0 is not more than 1"
    assert passing(zones(a=3, b=0), pod_with(constraint(selector={}, skew=0, minDomains=5))) == ""
    assert passing(zones(a=3, b=0), pod_with(constraint(selector=None, skew=0, minDomains=5))) == "ab"


def test_only_pods_of_the_own_namespace_that_are_not_terminating_count() -> None:
    nodes = [make_node("n-a", labels={ZONE: "a"}), make_node("n-b", labels={ZONE: "b"})]
    others = apps("n-a", 3, namespace="other") + apps("n-a", 3, metadata=DELETING)
    assert passing(cluster(nodes, others), pod_with(constraint())) == "ab"


def test_a_pod_that_begins_to_terminate_no_longer_counts() -> None:
    handle = zones(a=1, b=0)
    assert passing(handle, pod_with(constraint())) == "b"
    handle.state.add_pod(make_pod("n-a-0", node="n-a", labels={"app": "a"}, metadata=DELETING))
    assert passing(handle, pod_with(constraint())) == "ab"


def test_nodes_without_the_label_are_rejected_for_good() -> None:
    handle = cluster([make_node("with", labels={ZONE: "a"}), make_node("without")])
    assert filtered(spread(handle), pod_with(constraint())) == {"with": None, "without": MISSING}


def test_a_node_that_lacks_another_hard_key_counts_nowhere() -> None:
    """Its pods are not counted and its domain is not registered."""
    nodes = [
        make_node("full", labels={ZONE: "a", RACK: "1"}),
        make_node("no-rack", labels={ZONE: "b"}),
        make_node("other", labels={ZONE: "c", RACK: "1"}),
    ]
    handle = cluster(nodes, apps("full", 1) + apps("other", 1))
    both = pod_with(constraint(), constraint(RACK, skew=5))
    assert filtered(spread(handle), both) == {"full": None, "no-rack": MISSING, "other": None}
    zone_only = pod_with(constraint())
    assert filtered(spread(handle), zone_only) == {"full": SKEWED, "no-rack": None, "other": SKEWED}


def test_the_first_constraint_that_fails_decides() -> None:
    handle = cluster([make_node("n", labels={ZONE: "a"}), make_node("m", labels={ZONE: "b", RACK: "1"})])
    for pod in apps("m", 2):
        handle.state.add_pod(pod)
    rack_first = pod_with(constraint(RACK), constraint(minDomains=5))
    assert filtered(spread(handle), rack_first)["n"] == MISSING
    zone_first = pod_with(constraint(minDomains=5, skew=0), constraint(RACK))
    assert filtered(spread(handle), zone_first)["n"] == SKEWED


def test_two_nodes_with_one_hostname_label_are_one_domain_for_hard_constraints() -> None:
    nodes = [make_node("x", labels={HOST: "same"}), make_node("y", labels={HOST: "same"}), make_node("z")]
    handle = cluster(nodes, apps("x", 1))
    assert filtered(spread(handle), pod_with(constraint(HOST))) == {"x": SKEWED, "y": SKEWED, "z": None}


@pytest.mark.parametrize(
    ("policies", "passed"),
    [
        ({}, "bc"),
        ({"nodeAffinityPolicy": "Honor", "nodeTaintsPolicy": "Ignore"}, "bc"),
        ({"nodeAffinityPolicy": "Ignore"}, "c"),
        ({"nodeAffinityPolicy": "Ignore", "nodeTaintsPolicy": "Honor"}, "bc"),
        ({"nodeTaintsPolicy": "Honor"}, "abc"),
    ],
)
def test_which_nodes_take_part(policies: Document, passed: str) -> None:
    """Zone b is tainted, zone c is not where the pod wants to be; a domain that is left out counts 0.

    A cordon makes no difference.
    """
    nodes = [
        make_node("n-a", labels={ZONE: "a", "want": "yes"}, unschedulable=True),
        make_node("n-b", labels={ZONE: "b", "want": "yes"}, taints=["t:NoSchedule"]),
        make_node("n-c", labels={ZONE: "c"}),
    ]
    handle = cluster(nodes, apps("n-a", 2) + apps("n-b", 1))
    assert passing(handle, pod_with(constraint(**policies), nodeSelector={"want": "yes"})) == passed


def test_tolerated_and_preferred_taints_leave_a_node_in() -> None:
    nodes = [
        make_node("n-a", labels={ZONE: "a"}, taints=["t=1:NoSchedule", "p:PreferNoSchedule"]),
        make_node("n-b", labels={ZONE: "b"}),
    ]
    handle = cluster(nodes, apps("n-b", 1))
    honors = constraint(nodeTaintsPolicy="Honor")
    assert passing(handle, pod_with(honors)) == "ab", "zone a is left out: the least is 1 in zone b"
    tolerant = [{"key": "t", "value": "1"}]
    assert passing(handle, pod_with(honors, tolerations=tolerant)) == "a"


def test_no_domain_at_all() -> None:
    handle = zones(a=1)
    pod = pod_with(constraint(), nodeSelector={"nowhere": "x"})
    assert passing(handle, pod) == "a", "the domain of the node is not registered: 0 + 1 - 0"


def test_no_hard_constraint_skips() -> None:
    plugin = spread(zones(a=1))
    for pod in (pod_with(), pod_with(constraint(hard=False))):
        answer = plugin.pre_filter(CycleState(), pod)
        assert answer is not None and answer.code is Code.SKIP


def test_an_invalid_selector_is_an_error() -> None:
    bad = {"matchExpressions": [{"key": "a", "operator": "In"}]}
    plugin = spread(zones(a=1))
    answer = plugin.pre_filter(CycleState(), pod_with(constraint(selector=bad)))
    assert answer is not None and answer.code is Code.ERROR
    prefix = "get constraints from pod: obtaining pod's hard topology spread constraints: "
    assert answer.message.startswith(prefix)
    answer = plugin.pre_score(
        CycleState(), pod_with(constraint(selector=bad, hard=False)), plugin.handle.nodes
    )
    assert answer is not None and answer.code is Code.ERROR


def test_without_its_earlier_point() -> None:
    plugin = spread(zones(a=1, b=1))
    with pytest.raises(
        MissingState, match=r'^reading "PreFilterPodTopologySpread" from cycleState: not found$'
    ):
        plugin.filter_nodes(CycleState(), pod_with(constraint()), plugin.handle.nodes)
    wanted = r'^error reading "PreScorePodTopologySpread" from cycleState: not found$'
    with pytest.raises(MissingState, match=wanted):
        plugin.score_nodes(CycleState(), pod_with(constraint(hard=False)), plugin.handle.nodes)
    with pytest.raises(MissingState, match=wanted):
        plugin.normalize_scores(CycleState(), pod_with(), np.zeros(2, dtype=np.int64))
