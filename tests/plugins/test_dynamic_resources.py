from __future__ import annotations

import pytest

from moorage.framework.cycle_state import CycleState, NothingWritten
from moorage.framework.events import (
    DEVICE_CLASS,
    NODE,
    POD,
    RESOURCE_CLAIM,
    RESOURCE_SLICE,
    Action,
)
from moorage.framework.node_statuses import NodeStatuses
from moorage.framework.status import Code, Status
from moorage.plugins.catalog import in_tree_registry
from moorage.plugins.devices.dynamic_resources import DynamicResources
from moorage.testing import make_node, make_pod
from moorage.what_if.scenario import Scenario
from tests.plugins.helpers import cluster, registered

REFUSED = "pod uses resource claims, which this version of Moorage does not support"


def plugin() -> DynamicResources:
    return DynamicResources(None, cluster([make_node("n")]))


def test_pods_without_claims_do_not_concern_it() -> None:
    made, pod, cycle = plugin(), make_pod("p"), CycleState()
    assert made.pre_enqueue(pod) is None
    assert made.pre_filter(cycle, pod).code is Code.SKIP
    assert made.filter_nodes(cycle, pod, made.handle.nodes).codes is None
    assert made.score_nodes(cycle, pod, made.handle.nodes).tolist() == [0]
    assert made.reserve(cycle, pod, "n") is None
    made.unreserve(cycle, pod, "n")
    assert made.pre_bind_pre_flight(cycle, pod, "n").code is Code.SKIP
    assert made.pre_bind(cycle, pod, "n") is None


def test_pods_with_claims_are_refused_with_the_reason() -> None:
    pod = make_pod("p", resourceClaims=[{"name": "gpu", "resourceClaimName": "gpu"}])
    answer = plugin().pre_filter(CycleState(), pod)
    assert (answer.code, answer.message) == (Code.UNSCHEDULABLE_AND_UNRESOLVABLE, REFUSED)
    told = Scenario([make_node("n")], in_tree_registry()).evaluate(pod).document()
    assert (told["feasible"], told["preFilter"]["plugin"]) == ([], "DynamicResources")
    assert told["message"].startswith(f"0/1 nodes are available: {REFUSED}.")


def test_it_frees_no_claims_after_a_failed_attempt() -> None:
    made, cycle = plugin(), CycleState()
    statuses = NodeStatuses(made.handle.state.table)
    made.pre_filter(cycle, make_pod("p"))
    answer = made.post_filter(cycle, make_pod("p"), statuses)
    assert answer == Status.unschedulable("no new claims to deallocate")


def test_without_its_earlier_point() -> None:
    made, pod = plugin(), make_pod("p")
    with pytest.raises(NothingWritten, match=r"^not found$"):
        made.score_nodes(CycleState(), pod, made.handle.nodes)
    with pytest.raises(NothingWritten):
        made.filter_nodes(CycleState(), pod, made.handle.nodes)
    answer = made.post_filter(CycleState(), pod, NodeStatuses(made.handle.state.table))
    assert answer == Status.error("not found")


def test_registered_events() -> None:
    of_nodes = Action.ADD | Action.UPDATE_NODE_LABEL | Action.UPDATE_NODE_ALLOCATABLE
    assert registered(plugin()) == [
        (NODE, of_nodes, False),
        (RESOURCE_CLAIM, Action.ADD | Action.UPDATE, False),
        (POD, Action.UPDATE_POD_GENERATED_RESOURCE_CLAIM, False),
        (DEVICE_CLASS, Action.ADD | Action.UPDATE, False),
        (RESOURCE_SLICE, Action.ADD | Action.UPDATE, False),
    ]
