from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moorage.api.decoding import from_document
from moorage.api.meta import Object
from moorage.api.nodes import Node
from moorage.api.pods import Pod
from moorage.api.selectors import Selector
from moorage.api.workloads import ReplicaSet, ReplicationController, Service, StatefulSet
from moorage.config.args import PodTopologySpreadArgs
from moorage.framework.cycle_state import CycleState
from moorage.framework.events import ASSIGNED_POD, NODE, POD, UNSCHEDULABLE_POD, Action, Hint
from moorage.framework.handle import Handle
from moorage.framework.status import Code, Status
from moorage.plugins.cycle_reads import MissingState
from moorage.plugins.pod_topology_spread import PodTopologySpread
from moorage.plugins.spread_constraints import derived_selector
from moorage.testing import make_node, make_pod
from tests.plugins.helpers import cluster, filtered, hint, registered, scored, verdicts, views

Document = dict[str, Any]

ZONE, HOST, RACK = "topology.kubernetes.io/zone", "kubernetes.io/hostname", "rack"
MISSING = Status.unresolvable("node(s) didn't match pod topology spread constraints (missing required label)")
SKEWED = Status.unschedulable("node(s) didn't match pod topology spread constraints")
APP: Document = {"matchLabels": {"app": "a"}}
DELETING: Document = {"deletionTimestamp": "2026-01-01T00:00:00Z"}


def constraint(
    key: str = ZONE, selector: Document | None = APP, *, hard: bool = True, skew: int = 1, **rest: Any
) -> Document:
    return {
        "maxSkew": skew,
        "topologyKey": key,
        "whenUnsatisfiable": "DoNotSchedule" if hard else "ScheduleAnyway",
        **({} if selector is None else {"labelSelector": selector}),
        **rest,
    }


def pod_with(*constraints: Document, labels: Mapping[str, str] | None = None, **rest: Any) -> Pod:
    own = {"app": "a"} if labels is None else labels
    return make_pod("in", labels=own, topologySpreadConstraints=list(constraints), **rest)


def zones(**counts: int) -> Handle:
    """A node for each zone, with so many pods of app a."""
    nodes = [make_node(f"n-{zone}", labels={ZONE: zone}) for zone in counts]
    return cluster(nodes, [pod for zone, count in counts.items() for pod in apps(f"n-{zone}", count)])


def apps(node: str, count: int, **rest: Any) -> list[Pod]:
    return [make_pod(f"{node}-{i}", node=node, labels={"app": "a"}, **rest) for i in range(count)]


def spread(handle: Handle, **args: Any) -> PodTopologySpread:
    return PodTopologySpread(PodTopologySpreadArgs(**args) if args else None, handle)


def passing(handle: Handle, pod: Pod) -> str:
    """The zones that pass."""
    answers = filtered(spread(handle), pod)
    return "".join(name.removeprefix("n-") for name, status in sorted(answers.items()) if status is None)


# Filter


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


# AddPod and RemovePod


def changed(handle: Handle, pod: Pod, *changes: tuple[str, Pod, str]) -> set[str]:
    """The nodes that pass after these pods were added or removed."""
    plugin, cycle = spread(handle), CycleState()
    assert plugin.pre_filter(cycle, pod) is None
    clone = cycle.clone()
    for what, other, name in changes:
        node = handle.node(name)
        assert node is not None
        (plugin.add_pod if what == "add" else plugin.remove_pod)(clone, pod, other, node)
    before = verdicts(plugin, cycle, pod)
    assert before == filtered(plugin, pod), "the clone's changes are its own"
    return {name for name, status in verdicts(plugin, clone, pod).items() if status is None}


def other(labels: Mapping[str, str] | None = None, **rest: Any) -> Pod:
    return make_pod("other", labels={"app": "a"} if labels is None else labels, **rest)


def test_added_and_removed_pods_count() -> None:
    pod = pod_with(constraint())
    assert changed(zones(a=1, b=1), pod) == {"n-a", "n-b"}
    assert changed(zones(a=1, b=1), pod, ("add", other(), "n-a")) == {"n-b"}
    assert changed(zones(a=1, b=1), pod, ("remove", other(), "n-a")) == {"n-a"}
    assert changed(zones(a=1, b=1), pod, ("add", other(), "n-a"), ("remove", other(), "n-a")) == {
        "n-a",
        "n-b",
    }


@pytest.mark.parametrize(
    "ignored",
    [other(namespace="elsewhere"), other(labels={"app": "b"}), other(labels={})],
    ids=["another namespace", "another app", "no labels"],
)
def test_pods_that_do_not_match_change_nothing(ignored: Pod) -> None:
    assert changed(zones(a=1, b=1), pod_with(constraint()), ("add", ignored, "n-a")) == {"n-a", "n-b"}


def test_removing_a_terminating_pod_counts_although_it_was_never_counted() -> None:
    pod, gone = pod_with(constraint()), other(metadata=DELETING)
    assert changed(zones(a=1, b=1), pod, ("remove", gone, "n-a")) == {"n-a"}
    assert changed(zones(a=0, b=0), pod, ("remove", gone, "n-a"), ("add", other(), "n-b")) == {"n-a"}


def test_an_empty_selector_counts_added_pods() -> None:
    pod = pod_with(constraint(selector={}))
    assert changed(zones(a=3, b=0), pod) == {"n-a", "n-b"}
    assert changed(zones(a=3, b=0), pod, ("add", other(labels={}), "n-a")) == {"n-b"}


def test_nodes_that_take_no_part_change_nothing() -> None:
    nodes = [make_node("n-a", labels={ZONE: "a", "want": "yes"}), make_node("n-b", labels={ZONE: "b"})]
    nodes.append(make_node("bare"))
    handle = cluster(nodes)
    pod = pod_with(constraint(), nodeSelector={"want": "yes"})
    assert changed(handle, pod, ("add", other(), "n-b"), ("add", other(), "bare")) == {"n-a", "n-b"}


# Score


def normalized(handle: Handle, pod: Pod, **args: Any) -> list[int]:
    return list(scored(spread(handle, **args), pod).values())


def raw(handle: Handle, pod: Pod, **args: Any) -> list[int]:
    return list(scored(spread(handle, **args), pod, raw=True).values())


def test_own_hostname_constraint() -> None:
    """Weight ln 5."""
    handle = cluster([make_node(name) for name in "abc"], apps("b", 1) + apps("c", 3))
    pod = pod_with(constraint(HOST, hard=False))
    assert (raw(handle, pod), normalized(handle, pod)) == ([0, 2, 5], [100, 60, 0])


SERVICE = from_document(
    Service, {"metadata": {"name": "s", "namespace": "default"}, "spec": {"selector": {"app": "a"}}}
)


def served(nodes: Iterable[tuple[str, str | None, int]], *objects: Object) -> Handle:
    """Nodes with a zone and a number of pods of app a, and a service for these."""
    nodes = list(nodes)
    handle = cluster(
        [make_node(name, labels={} if zone is None else {ZONE: zone}) for name, zone, _ in nodes],
        [pod for name, _, count in nodes for pod in apps(name, count)],
    )
    for item in objects or (SERVICE,):
        handle.state.objects.of(type(item)).put(item)
    return handle


@pytest.mark.parametrize(
    ("zoned", "raws", "scores"),
    [
        (("a", "a", "b", "b"), [14, 12, 7, 9], [50, 64, 100, 85]),
        (("a", "a", "b", None), [14, 13, 6, 4], [28, 35, 85, 100]),
    ],
)
def test_system_defaults(zoned: tuple[str | None, ...], raws: list[int], scores: list[int]) -> None:
    counts = zip("1234", zoned, (2, 1, 0, 1), strict=True)
    handle = served(counts)
    by_name = {"raw": scored(spread(handle), make_pod("in", labels={"app": "a"}), raw=True)}
    by_name["final"] = scored(spread(handle), make_pod("in", labels={"app": "a"}))
    assert [by_name["raw"][name] for name in "1234"] == raws
    assert [by_name["final"][name] for name in "1234"] == scores


def test_system_defaults_an_empty_zone_and_no_zone_are_one_domain() -> None:
    """Both count as the empty string: the pods add up, and the number of domains is 2 and not 3.

    The node with the empty label has the zone term, the one without the label does not.
    """
    handle = served([("empty", "", 1), ("none", None, 2), ("a", "a", 0)])
    ln_hosts, ln_zones = math.log(3 + 2), math.log(2 + 2)
    expected = {
        "empty": round(1 * ln_hosts + 2 + 3 * ln_zones + 4),
        "none": round(2 * ln_hosts + 2),
        "a": round(0 * ln_hosts + 2 + 0 * ln_zones + 4),
    }
    assert scored(spread(handle), make_pod("in", labels={"app": "a"}), raw=True) == expected


def test_own_constraints_ignore_nodes_without_all_keys() -> None:
    nodes = [
        make_node("full", labels={ZONE: "a", RACK: "1"}),
        make_node("other", labels={ZONE: "b", RACK: "1"}),
        make_node("no-rack", labels={ZONE: "a"}),
    ]
    handle = cluster(nodes, apps("no-rack", 9) + apps("full", 1))
    pod = pod_with(constraint(hard=False), constraint(RACK, hard=False))
    scores = scored(spread(handle), pod)
    assert scores["no-rack"] == 0, "the worst"
    assert scores["other"] == 100, "and its pods count nowhere"
    assert scores["full"] == 100 * (2 + 1 - 2) // 2


def test_all_ignored_and_all_zero() -> None:
    handle = cluster([make_node("a"), make_node("b")])
    assert normalized(handle, pod_with(constraint(hard=False))) == [0, 0]
    handle = zones(a=0, b=0)
    assert normalized(handle, pod_with(constraint(hard=False))) == [100, 100]


def test_counts_come_from_every_node_but_sizes_from_the_feasible_ones() -> None:
    handle = zones(a=3, b=1, c=7)
    everything = handle.nodes
    asked = everything.subset(np.array([0, 1], dtype=np.intp))
    pod = pod_with(constraint(hard=False))
    weight = math.log(2 + 2)
    assert list(scored(spread(handle), pod, asked, raw=True).values()) == [round(3 * weight), round(weight)]
    handle.state.put_node(make_node("more", labels={ZONE: "a"}))
    for item in apps("more", 2):
        handle.state.add_pod(item)
    handle.state.table.refresh()
    feasible = [handle.nodes.index(name) for name in ("n-a", "n-b")]
    asked = handle.nodes.subset(np.array(feasible, dtype=np.intp))
    scores = scored(spread(handle), pod, asked, raw=True)
    assert scores["n-a"] == round(5 * weight), "the pods of a node that is not feasible count too"


def test_soft_hostname_counts_are_the_nodes_own() -> None:
    nodes = [make_node("x", labels={HOST: "same"}), make_node("y", labels={HOST: "same"})]
    handle = cluster(nodes, apps("x", 2))
    pod = pod_with(constraint(HOST, hard=False), nodeSelector={"no": "where"})
    assert raw(handle, pod) == [round(2 * math.log(4)), 0], "no policy is applied either"


def test_pre_score_skips_without_soft_constraints() -> None:
    plugin = spread(zones(a=1, b=1))
    for pod in (pod_with(), pod_with(constraint())):
        assert scored(plugin, pod) == {}
    empty = plugin.handle.nodes.subset(np.zeros(0, dtype=np.intp))
    answer = plugin.pre_score(CycleState(), pod_with(constraint(hard=False)), empty)
    assert answer is not None and answer.code is Code.SKIP


# Which constraints apply


def test_defaults_apply_only_to_pods_without_constraints_of_any_kind() -> None:
    handle = served([("1", "a", 2), ("2", "b", 0)])
    assert scored(spread(handle), make_pod("in", labels={"app": "a"})) != {}
    assert scored(spread(handle), pod_with(constraint())) == {}, "only a hard one: no soft default"


def test_defaults_do_not_apply_to_pods_that_belong_nowhere() -> None:
    handle = served([("1", "a", 2), ("2", "b", 0)])
    assert scored(spread(handle), make_pod("in", labels={"app": "other"})) == {}
    assert scored(spread(handle), make_pod("in", labels={"app": "a"}, namespace="other")) == {}


def list_defaults(*constraints: Document) -> Document:
    from moorage.api.pods import TopologySpreadConstraint

    made = [
        TopologySpreadConstraint(
            max_skew=item["maxSkew"],
            topology_key=item["topologyKey"],
            when_unsatisfiable=item["whenUnsatisfiable"],
            match_label_keys=tuple(item.get("matchLabelKeys", ())),
        )
        for item in constraints
    ]
    return {"defaulting_type": "List", "default_constraints": made}


def test_list_defaults() -> None:
    handle = served([("1", "a", 2), ("2", "b", 0), ("3", None, 0)])
    hard = list_defaults(constraint(selector=None, matchLabelKeys=["version"]))
    pod = make_pod("in", labels={"app": "a", "version": "7"})
    assert filtered(spread(handle, **hard), pod) == {"1": SKEWED, "2": None, "3": MISSING}
    assert scored(spread(handle, **hard), pod) == {}
    soft = list_defaults(constraint(selector=None, hard=False))
    assert scored(spread(handle, **soft), pod) == {"1": 0, "2": 100, "3": 0}, "all keys are called for"
    assert scored(spread(handle, **list_defaults()), pod) == {}


def owner(kind: str, name: str = "o", api_version: str = "apps/v1", controller: bool = True) -> Document:
    return {
        "ownerReferences": [
            {"apiVersion": api_version, "kind": kind, "name": name, "controller": controller, "uid": "x"}
        ]
    }


def made(kind: type[Object], selector: Any, name: str = "o", namespace: str = "default") -> Object:
    spec = {} if selector is None else {"selector": selector}
    return from_document(kind, {"metadata": {"name": name, "namespace": namespace}, "spec": spec})


@pytest.mark.parametrize(
    ("objects", "metadata", "matched", "unmatched"),
    [
        ([], {}, None, None),
        ([made(Service, {"app": "a"})], {}, {"app": "a"}, {"app": "b"}),
        ([made(Service, {"app": "other"})], {}, None, None),
        ([made(Service, None)], {}, None, None),
        ([made(Service, {})], {}, None, None),
        ([made(Service, {"app": "a"}, namespace="other")], {}, None, None),
        (
            [made(Service, {"app": "a"}, "s"), made(Service, {"tier": "x"}, "t")],
            {},
            {"app": "a", "tier": "x"},
            {"app": "a"},
        ),
        ([made(ReplicaSet, {"matchLabels": {"rs": "1"}})], owner("ReplicaSet"), {"rs": "1"}, {"app": "a"}),
        (
            [made(StatefulSet, {"matchExpressions": [{"key": "x", "operator": "Exists"}]})],
            owner("StatefulSet"),
            {"x": ""},
            {"app": "a"},
        ),
        (
            [made(ReplicationController, {"rc": "1"}), made(Service, {"app": "a"})],
            owner("ReplicationController", api_version="v1"),
            {"rc": "1", "app": "a"},
            {"app": "a"},
        ),
        ([made(ReplicaSet, {"matchLabels": {"rs": "1"}})], owner("ReplicaSet", "unknown"), None, None),
        ([made(ReplicaSet, {"matchLabels": {"rs": "1"}})], owner("ReplicaSet", controller=False), None, None),
        ([made(ReplicaSet, {"matchLabels": {"rs": "1"}})], owner("ReplicaSet", api_version="v1"), None, None),
        ([made(ReplicaSet, {"matchLabels": {"rs": "1"}})], owner("Job"), None, None),
        ([made(ReplicaSet, None)], owner("ReplicaSet"), None, None),
        ([made(ReplicaSet, {})], owner("ReplicaSet"), None, None),
        (
            [made(ReplicaSet, {"matchExpressions": [{"key": "x", "operator": "Bad"}]})],
            owner("ReplicaSet"),
            None,
            None,
        ),
    ],
)
def test_the_derived_selector(
    objects: list[Object],
    metadata: Document,
    matched: dict[str, str] | None,
    unmatched: dict[str, str] | None,
) -> None:
    """Services that match the pod, and its controller; `matched` None stands for an empty selector."""
    handle = cluster()
    for item in objects:
        handle.state.objects.of(type(item)).put(item)
    pod = make_pod("in", labels={"app": "a", "tier": "x"}, metadata=metadata)
    selector = derived_selector(pod, handle.state.objects)
    assert selector.empty == (matched is None)
    if matched is not None and unmatched is not None:
        assert selector.matches(matched)
        assert not selector.matches(unmatched)


def test_a_service_that_changes_changes_the_spreading() -> None:
    handle = served([("1", "a", 2), ("2", "b", 0)])
    plugin, pod = spread(handle), make_pod("in", labels={"app": "a"})
    assert scored(plugin, pod)["1"] < 100
    handle.state.objects.of(Service).remove(SERVICE)
    assert scored(plugin, pod) == {}


# The fast form against the words of the rules, node by node and pod by pod

SELECTORS: list[Document | None] = [
    None,
    {},
    APP,
    {"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["b"]}]},
    {"matchExpressions": [{"key": "app", "operator": "Exists"}]},
]
maybe = st.sampled_from

constraints = st.builds(
    lambda key, selector, hard, skew, domains, keys, affinity, taints: {
        **constraint(key, selector, hard=hard, skew=skew),
        **({"minDomains": domains} if domains and hard else {}),
        **({"matchLabelKeys": keys} if keys else {}),
        **({"nodeAffinityPolicy": affinity} if affinity else {}),
        **({"nodeTaintsPolicy": taints} if taints else {}),
    },
    maybe([ZONE, HOST, RACK]),
    maybe(SELECTORS),
    st.booleans(),
    st.integers(1, 3),
    maybe([None, 1, 2, 3]),
    maybe([[], ["app"], ["version", "app"]]),
    maybe([None, "Honor", "Ignore"]),
    maybe([None, "Honor", "Ignore"]),
)
node_labels = st.builds(
    lambda zone, host, rack, want: {**zone, **host, **rack, **want},
    maybe([{}, {ZONE: "a"}, {ZONE: "b"}, {ZONE: ""}]),
    maybe([{}, {HOST: "shared"}]),
    maybe([{}, {RACK: "1"}, {RACK: "2"}]),
    maybe([{}, {"want": "yes"}]),
)
pod_labels = maybe([{}, {"app": "a"}, {"app": "b"}, {"app": "a", "version": "1"}])


@st.composite
def worlds(draw: st.DrawFn) -> tuple[list[Node], list[Pod]]:
    nodes = [
        make_node(f"n{i}", labels=draw(node_labels), taints=draw(maybe([(), ("t:NoSchedule",)])))
        for i in range(draw(st.integers(1, 6)))
    ]
    placed = [
        make_pod(
            f"p{i}",
            node=f"n{draw(st.integers(0, len(nodes)))}",  # one of them does not exist
            namespace=draw(maybe(["default", "default", "other"])),
            labels=draw(pod_labels),
            metadata=draw(maybe([{}, {}, DELETING])),
        )
        for i in range(draw(st.integers(0, 10)))
    ]
    return nodes, placed


@st.composite
def incoming(draw: st.DrawFn) -> Pod:
    return make_pod(
        "in",
        labels=draw(pod_labels),
        topologySpreadConstraints=draw(st.lists(constraints, max_size=3)),
        tolerations=draw(maybe([[], [{"operator": "Exists"}]])),
        nodeSelector=draw(maybe([{}, {"want": "yes"}])),
    )


def matches(selector: Document | None, labels: Mapping[str, str]) -> bool:
    if selector is None:
        return False
    for item in selector.get("matchExpressions", ()):
        value = labels.get(item["key"])
        if item["operator"] == "Exists" and value is None:
            return False
        if item["operator"] == "NotIn" and value in item["values"]:
            return False
    return all(labels.get(key) == value for key, value in selector.get("matchLabels", {}).items())


class Rule:
    """One constraint, read from the document."""

    def __init__(self, document: Document, pod: Pod) -> None:
        self.key, self.skew = document["topologyKey"], document["maxSkew"]
        self.pod = pod
        self.document = document
        self.extra = {k: pod.labels[k] for k in document.get("matchLabelKeys", ()) if k in pod.labels}
        self.selector = document.get("labelSelector")
        self.counts_nobody = self.selector == {} and not self.extra

    def selects(self, labels: Mapping[str, str]) -> bool:
        return matches(self.selector, labels) and all(labels.get(k) == v for k, v in self.extra.items())

    def on(self, node: Node, placed: list[Pod]) -> int:
        return sum(
            pod.spec.node_name == node.name
            and not self.counts_nobody
            and pod.namespace == self.pod.namespace
            and not pod.deleting
            and self.selects(pod.labels)
            for pod in placed
        )

    def includes(self, node: Node) -> bool:
        wanted = self.pod.spec.node_selector or {}
        near = all(node.labels.get(key) == value for key, value in wanted.items())
        tolerated = not node.spec.taints or bool(self.pod.spec.tolerations)
        return (self.document.get("nodeAffinityPolicy") == "Ignore" or near) and (
            self.document.get("nodeTaintsPolicy") != "Honor" or tolerated
        )


Change = tuple[Pod, str, int]


def rules_of(pod: Pod, kind: str) -> list[Rule]:
    documents = pod.raw["spec"].get("topologySpreadConstraints", [])
    return [Rule(item, pod) for item in documents if item["whenUnsatisfiable"] == kind]


def reference_filter(
    nodes: list[Node], placed: list[Pod], pod: Pod, changes: Iterable[Change] = ()
) -> dict[str, Status | None]:
    rules = rules_of(pod, "DoNotSchedule")
    tables: list[dict[str, int]] = [{} for _ in rules]
    by_name = {node.name: node for node in nodes}

    def has_all(node: Node) -> bool:
        return all(rule.key in node.labels for rule in rules)

    for node in nodes:
        for rule, table in zip(rules, tables, strict=True):
            if has_all(node) and rule.includes(node):
                value = node.labels[rule.key]
                table[value] = table.get(value, 0) + rule.on(node, placed)
    for changed_pod, name, delta in changes:
        node = by_name[name]
        for rule, table in zip(rules, tables, strict=True):
            same = changed_pod.namespace == pod.namespace
            if same and has_all(node) and rule.selects(changed_pod.labels) and rule.includes(node):
                table[node.labels[rule.key]] += delta
    answers: dict[str, Status | None] = {}
    for node in nodes:
        answers[node.name] = None
        for rule, table in zip(rules, tables, strict=True):
            if rule.key not in node.labels:
                answers[node.name] = MISSING
                break
            least = min(table.values(), default=0)
            if len(table) < rule.document.get("minDomains", 1):
                least = 0
            if table.get(node.labels[rule.key], 0) + rule.selects(pod.labels) - least > rule.skew:
                answers[node.name] = SKEWED
                break
    return answers


def reference_scores(
    nodes: list[Node], feasible: list[Node], placed: list[Pod], pod: Pod, rules: list[Rule], needs_all: bool
) -> tuple[dict[str, int], dict[str, int]]:
    def lacks(node: Node) -> bool:
        return needs_all and any(rule.key not in node.labels for rule in rules)

    ignored = {node.name for node in feasible if lacks(node)}
    raws: dict[str, float] = {node.name: 0.0 for node in feasible}
    for rule in rules:
        seen = {node.labels.get(rule.key, "") for node in feasible if node.name not in ignored}
        size = len(feasible) - len(ignored) if rule.key == HOST else len(seen)
        weight = math.log(size + 2)
        for node in feasible:
            if node.name in ignored or rule.key not in node.labels:
                continue
            if rule.key == HOST:
                count = rule.on(node, placed)
            else:
                value = node.labels[rule.key]
                count = sum(
                    rule.on(other, placed)
                    for other in nodes
                    if not lacks(other) and rule.includes(other) and other.labels.get(rule.key, "") == value
                )
            raws[node.name] += count * weight + (rule.skew - 1)
    whole = {name: math.floor(value) + (value - math.floor(value) >= 0.5) for name, value in raws.items()}
    counted = [value for name, value in whole.items() if name not in ignored]
    most, least = max(counted, default=0), min(counted, default=0)
    final = {
        name: 0 if name in ignored else 100 if most == 0 else 100 * (most + least - value) // most
        for name, value in whole.items()
    }
    return whole, final


@settings(max_examples=100, deadline=None)
@given(worlds(), incoming())
def test_filter_equals_the_rules(world: tuple[list[Node], list[Pod]], pod: Pod) -> None:
    nodes, placed = world
    handle = cluster(nodes, placed)
    plugin = spread(handle)
    expected = reference_filter(nodes, placed, pod)
    for view in views(handle):
        answers = filtered(plugin, pod, view)
        if rules_of(pod, "DoNotSchedule"):
            assert answers == {name: expected[name] for name in view.names}
        else:
            assert not any(answers.values())


@settings(max_examples=80, deadline=None)
@given(worlds(), incoming(), st.data())
def test_changes_on_one_node_equal_the_rules(
    world: tuple[list[Node], list[Pod]], pod: Pod, data: st.DataObject
) -> None:
    nodes, placed = world
    handle = cluster(nodes, placed)
    plugin, cycle = spread(handle), CycleState()
    if plugin.pre_filter(cycle, pod) is not None:
        return
    name = data.draw(maybe([node.name for node in nodes]))
    node = handle.node(name)
    assert node is not None
    changes: list[Change] = []
    for item in list(node.pods):
        if data.draw(st.booleans()):
            plugin.remove_pod(cycle, pod, item, node)
            changes.append((item, name, -1))
    for number in range(data.draw(st.integers(0, 3))):
        item = make_pod(
            f"x{number}", labels=data.draw(pod_labels), namespace=data.draw(maybe(["default", "other"]))
        )
        plugin.add_pod(cycle, pod, item, node)
        changes.append((item, name, +1))
    assert verdicts(plugin, cycle, pod) == reference_filter(nodes, placed, pod, changes)


@settings(max_examples=100, deadline=None)
@given(worlds(), incoming(), st.data())
def test_scores_equal_the_rules(world: tuple[list[Node], list[Pod]], pod: Pod, data: st.DataObject) -> None:
    nodes, placed = world
    handle = cluster(nodes, placed)
    rules, needs_all = rules_of(pod, "ScheduleAnyway"), True
    if not pod.spec.topology_spread_constraints:
        handle.state.objects.of(Service).put(SERVICE)
        needs_all = False
        if pod.labels.get("app") == "a":
            defaults = (constraint(HOST, skew=3, hard=False), constraint(skew=5, hard=False))
            rules = [Rule(item, pod) for item in defaults]
    names = data.draw(st.lists(maybe([node.name for node in nodes]), unique=True, min_size=1))
    feasible = [node for node in nodes if node.name in names]
    places = [handle.nodes.index(node.name) for node in feasible]
    asked = handle.nodes.subset(np.array(places, dtype=np.intp))
    plugin = spread(handle)
    if not rules:
        assert scored(plugin, pod, asked) == {}
        return
    raws, final = reference_scores(nodes, feasible, placed, pod, rules, needs_all)
    assert scored(plugin, pod, asked, raw=True) == raws
    assert scored(plugin, pod, asked) == final


# Hints


def placed_pod(name: str = "other", **rest: Any) -> Pod:
    return make_pod(name, **{"node": "n", "labels": {"app": "a"}, **rest})


def ask(pod: Pod, action: Action, old: Any = None, new: Any = None, resource: str = ASSIGNED_POD) -> Hint:
    return hint(spread(cluster()), resource, action, pod, old, new)


def test_registered_events() -> None:
    of_pods = Action.ADD | Action.UPDATE_POD_LABEL | Action.UPDATE_POD_TOLERATION | Action.DELETE
    of_nodes = Action.ADD | Action.DELETE | Action.UPDATE_NODE_LABEL | Action.UPDATE_NODE_TAINT
    assert registered(spread(cluster())) == [(POD, of_pods, True), (NODE, of_nodes, True)]


@pytest.mark.parametrize(
    ("item", "queue"),
    [
        (placed_pod(), True),
        (placed_pod(labels={"app": "b"}), False),
        (placed_pod(namespace="other"), False),
        (make_pod("other", labels={"app": "a"}), False),
        (make_pod("other", labels={"app": "a"}, status={"nominatedNodeName": "n"}), True),
    ],
    ids=["match", "other app", "other namespace", "waiting", "nominated"],
)
def test_hints_for_added_and_deleted_pods(item: Pod, queue: bool) -> None:
    pod = pod_with(constraint())
    expected = Hint.QUEUE if queue else Hint.SKIP
    assert ask(pod, Action.ADD, None, item) is expected
    assert ask(pod, Action.DELETE, item, None) is expected


@pytest.mark.parametrize(
    ("old", "new", "queue"),
    [
        (placed_pod(), placed_pod(labels={"app": "b"}), True),
        (placed_pod(labels={"app": "b"}), placed_pod(), True),
        (placed_pod(), placed_pod(labels={"app": "a", "x": "y"}), False),
        (placed_pod(), placed_pod(), False),
        (placed_pod(labels={}, namespace="other"), placed_pod(namespace="other"), False),
        (make_pod("other"), placed_pod(), False),
    ],
    ids=["leaves", "joins", "still matches", "same labels", "other namespace", "was not placed"],
)
def test_hints_for_pods_whose_labels_change(old: Pod, new: Pod, queue: bool) -> None:
    found = ask(pod_with(constraint()), Action.UPDATE_POD_LABEL, old, new)
    assert found is (Hint.QUEUE if queue else Hint.SKIP)


@pytest.mark.parametrize(("policy", "queue"), [("Honor", True), ("Ignore", False)])
def test_hint_for_a_toleration_of_ones_own(policy: str, queue: bool) -> None:
    pod = pod_with(constraint(nodeTaintsPolicy=policy))
    newer = pod_with(constraint(nodeTaintsPolicy=policy), tolerations=[{"operator": "Exists"}])
    found = ask(pod, Action.UPDATE_POD_TOLERATION, pod, newer, UNSCHEDULABLE_POD)
    assert found is (Hint.QUEUE if queue else Hint.SKIP)
    somebody = placed_pod()
    tolerant = placed_pod(tolerations=[{"operator": "Exists"}])
    assert ask(pod, Action.UPDATE_POD_TOLERATION, somebody, tolerant) is Hint.SKIP


def test_hint_for_a_label_of_ones_own() -> None:
    pod, newer = pod_with(constraint()), pod_with(constraint(), labels={"app": "b"})
    assert ask(pod, Action.UPDATE_POD_LABEL, pod, newer, UNSCHEDULABLE_POD) is Hint.QUEUE


BOTH = pod_with(constraint(), constraint(RACK))


@pytest.mark.parametrize(
    ("old", "new", "queue"),
    [
        (None, make_node("n", labels={ZONE: "a", RACK: "1"}), True),
        (None, make_node("n", labels={ZONE: "a"}), False),
        (make_node("n", labels={ZONE: "a", RACK: "1"}), None, True),
        (make_node("n", labels={ZONE: "a"}), None, False),
        (make_node("n", labels={ZONE: "a"}), make_node("n", labels={ZONE: "a", RACK: "1"}), True),
        (make_node("n", labels={ZONE: "a", RACK: "1"}), make_node("n", labels={RACK: "1"}), True),
        (make_node("n", labels={ZONE: "a", RACK: "1"}), make_node("n", labels={ZONE: "b", RACK: "1"}), True),
        (make_node("n", labels={ZONE: "a"}), make_node("n", labels={ZONE: "b"}), False),
        (
            make_node("n", labels={ZONE: "a", RACK: "1"}),
            make_node("n", labels={ZONE: "a", RACK: "1", "x": "y"}),
            False,
        ),
        (
            make_node("n", labels={ZONE: "a", RACK: "1"}),
            make_node("n", labels={ZONE: "a", RACK: "1"}, taints=["t:NoSchedule"]),
            True,
        ),
        (
            make_node("n", labels={ZONE: "a"}),
            make_node("n", labels={ZONE: "a"}, taints=["t:NoSchedule"]),
            False,
        ),
    ],
)
def test_hints_for_nodes(old: Node | None, new: Node | None, queue: bool) -> None:
    action = Action.ADD if old is None else Action.DELETE if new is None else Action.UPDATE_NODE_LABEL
    assert ask(BOTH, action, old, new, NODE) is (Hint.QUEUE if queue else Hint.SKIP)


# No cycle walks over pods


def test_a_second_cycle_asks_no_selector_about_placed_pods(monkeypatch: pytest.MonkeyPatch) -> None:
    handle = cluster([make_node(f"n{i}", labels={ZONE: str(i % 3)}) for i in range(10)])
    plugin = spread(handle)
    pod = pod_with(constraint(), constraint(HOST, hard=False))
    asked = 0
    plain = Selector.matches

    def counting(self: Selector, labels: Mapping[str, str]) -> bool:
        nonlocal asked
        asked += 1
        return plain(self, labels)

    def cycle() -> int:
        nonlocal asked
        asked = 0
        filtered(plugin, pod)
        scored(plugin, pod)
        return asked

    monkeypatch.setattr(Selector, "matches", counting)
    cycle()
    without_pods = cycle()
    asked = 0
    for number in range(1000):
        handle.state.add_pod(make_pod(f"p{number}", node=f"n{number % 10}", labels={"app": "a"}))
    assert asked <= 10, "one question per kind of pod and count"
    assert cycle() == without_pods
