"""Which constraints apply to a pod that has none, and whom their selector counts."""

from __future__ import annotations

from typing import Any

import pytest

from moorage.api.decoding import from_document
from moorage.api.meta import Object
from moorage.api.workloads import ReplicaSet, ReplicationController, Service, StatefulSet
from moorage.plugins.spread.constraints import derived_selector
from moorage.testing import make_pod
from tests.plugins.helpers import cluster, filtered, scored
from tests.plugins.spread.spread_cases import (
    MISSING,
    SERVICE,
    SKEWED,
    Document,
    constraint,
    pod_with,
    served,
    spread,
)


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
