"""Which nodes required affinity and anti-affinity leave."""

from __future__ import annotations

from typing import Any

import pytest

from moorage.framework.cycle_state import CycleState
from moorage.framework.status import Code
from moorage.plugins.cycle_reads import MissingState
from moorage.testing import make_pod
from tests.plugins.affinity_cases import (
    DELETING,
    HOST,
    NOT_NEAR,
    TOO_NEAR,
    UNWELCOME,
    ZONE,
    Document,
    passing,
    pod_with,
    term,
    zones,
)
from tests.plugins.helpers import filtered

BAD: Document = {"matchExpressions": [{"key": "a", "operator": "In"}]}


# Required affinity


def test_near_a_matching_pod() -> None:
    plugin = zones(pod_with(app="a", name="p", node="a"))
    assert filtered(plugin, pod_with(near=[term()])) == {"a": None, "b": None, "c": NOT_NEAR, "x": NOT_NEAR}
    assert passing(plugin, pod_with(near=[term(key=HOST)])) == "a"


def test_one_pod_must_match_all_terms() -> None:
    """Different terms cannot be satisfied by different pods."""
    both = [term("a"), {"topologyKey": ZONE, "labelSelector": {"matchLabels": {"tier": "t"}}}]
    apart = [make_pod("p", node="a", labels={"app": "a"}), make_pod("q", node="a", labels={"tier": "t"})]
    assert passing(zones(*apart), pod_with(near=both)) == ""
    together = make_pod("p", node="a", labels={"app": "a", "tier": "t"})
    assert passing(zones(together), pod_with(near=both)) == "ab"


def test_every_term_asks_for_its_own_topology() -> None:
    plugin = zones(pod_with(app="a", name="p", node="a"))
    assert passing(plugin, pod_with(near=[term(), term(key=HOST)])) == "a"


def test_terminating_pods_count() -> None:
    plugin = zones(pod_with(app="a", name="p", node="a", metadata=DELETING))
    assert passing(plugin, pod_with(near=[term()])) == "ab"
    assert passing(plugin, pod_with(far=[term()])) == "cx"


@pytest.mark.parametrize(
    ("app", "placed", "passed"),
    [
        ("a", "", "abc"),
        ("b", "", ""),
        ("a", "c", "c"),
        ("a", "x", "abc"),
    ],
    ids=["first of its kind", "does not match itself", "not the first", "others only where no zone is"],
)
def test_the_first_pod_of_a_group(app: str, placed: str, passed: str) -> None:
    """It may go anywhere with the topology; what counts is the map, not the pods."""
    placed_pods = [pod_with(app="a", name="p", node=placed)] if placed else []
    assert passing(zones(*placed_pods), pod_with(app=app, near=[term()])) == passed


def test_the_first_pod_rule_wants_all_own_terms_matched() -> None:
    pod = pod_with(app="a", near=[term("a"), term("b")])
    assert passing(zones(), pod) == ""


def test_a_null_selector_matches_nobody_and_an_empty_one_everybody() -> None:
    plugin = zones(make_pod("p", node="a"))
    assert passing(plugin, pod_with(near=[term(None)])) == ""
    assert passing(plugin, pod_with(near=[term(None, labelSelector={})])) == "ab"
    assert passing(plugin, pod_with(far=[term(None)])) == "abcx"
    assert passing(plugin, pod_with(far=[term(None, labelSelector={})])) == "cx"


# Required anti-affinity


def test_away_from_matching_pods() -> None:
    plugin = zones(pod_with(app="a", name="p", node="a"))
    assert filtered(plugin, pod_with(far=[term()])) == {"a": TOO_NEAR, "b": TOO_NEAR, "c": None, "x": None}
    assert passing(plugin, pod_with(far=[term("b"), term(key=HOST)])) == "bcx"


def test_placed_pods_keep_others_away() -> None:
    plugin = zones(pod_with(name="p", node="a", far=[term("new")]))
    keeps_off = {"a": UNWELCOME, "b": UNWELCOME, "c": None, "x": None}
    assert filtered(plugin, make_pod("in", labels={"app": "new"})) == keeps_off
    assert passing(plugin, make_pod("in", labels={"app": "other"})) == "abcx"


def test_a_placed_pod_on_a_node_without_the_topology_keeps_nobody_away() -> None:
    plugin = zones(pod_with(name="p", node="x", far=[term("new")]))
    answer = plugin.pre_filter(CycleState(), make_pod("in", labels={"app": "new"}))
    assert answer is not None and answer.code is Code.SKIP


def test_the_order_of_reasons() -> None:
    """Affinity, own anti-affinity, that of placed pods."""
    placed = pod_with(app="a", name="p", node="a", far=[term("new")])
    plugin = zones(placed)
    pod = pod_with(app="new", near=[term("nobody")], far=[term()])
    assert set(filtered(plugin, pod).values()) == {NOT_NEAR}
    pod = pod_with(app="new", far=[term()])
    assert filtered(plugin, pod)["a"] == TOO_NEAR
    assert filtered(plugin, pod_with(app="new"))["a"] == UNWELCOME


def test_the_list_of_a_placed_pod_with_an_invalid_selector_is_dropped() -> None:
    plugin = zones(pod_with(name="p", node="a", far=[term("new"), term(None, labelSelector=BAD)]))
    assert passing(plugin, make_pod("in", labels={"app": "new"})) == "abcx"


@pytest.mark.parametrize("kind", ["near", "far", "prefer", "avoid"])
def test_an_invalid_selector_of_the_pod_itself_is_final(kind: str) -> None:
    bad: Any = [term(None, labelSelector=BAD)]
    terms: Document = {kind: bad if kind in ("near", "far") else [(1, bad[0])]}
    pod = pod_with(**terms)
    plugin = zones()
    answer = plugin.pre_filter(CycleState(), pod)
    assert answer is not None and answer.code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE
    assert answer.message.startswith("parsing pod: ")
    answer = plugin.pre_score(CycleState(), pod, plugin.handle.nodes)
    assert answer is not None and answer.code is Code.ERROR, "where PreFilter is disabled"
    assert answer.message.startswith("failed to parse pod: ")


def test_nothing_to_do_skips() -> None:
    for plugin in (zones(), zones(pod_with(name="p", node="a", near=[term()], prefer=[(1, term())]))):
        answer = plugin.pre_filter(CycleState(), make_pod("in", labels={"app": "a"}))
        assert answer is not None and answer.code is Code.SKIP


def test_without_its_earlier_point() -> None:
    plugin = zones()
    nodes = plugin.handle.nodes
    with pytest.raises(
        MissingState, match=r'^error reading "PreFilterInterPodAffinity" from cycleState: not found$'
    ):
        plugin.filter_nodes(CycleState(), make_pod("in"), nodes)
    with pytest.raises(
        MissingState, match=r'^failed to read "PreScoreInterPodAffinity" from cycleState: not found$'
    ):
        plugin.score_nodes(CycleState(), make_pod("in"), nodes)
