from __future__ import annotations

from typing import Any

import pytest

from moorage.api import decoding
from moorage.api.meta import Object
from moorage.api.selectors import LabelSelector
from moorage.api.workloads import (
    Namespace,
    PodDisruptionBudget,
    PriorityClass,
    ReplicaSet,
    ReplicationController,
    Service,
    StatefulSet,
)
from tests.api.complete import METADATA, assert_complete

SELECTOR = {"matchLabels": {"a": "b"}, "matchExpressions": [{"key": "c", "operator": "In", "values": ["d"]}]}


@pytest.mark.parametrize(
    ("kind", "version", "fields"),
    [
        (Namespace, "v1", {}),
        (Service, "v1", {"spec": {"selector": {"a": "b"}}}),
        (ReplicationController, "v1", {"spec": {"selector": {"a": "b"}}}),
        (ReplicaSet, "apps/v1", {"spec": {"selector": SELECTOR}}),
        (StatefulSet, "apps/v1", {"spec": {"selector": SELECTOR}}),
        (
            PodDisruptionBudget,
            "policy/v1",
            {
                "spec": {"selector": SELECTOR},
                "status": {"disruptionsAllowed": 1, "disruptedPods": {"p": "2026-01-01T00:00:00Z"}},
            },
        ),
        (
            PriorityClass,
            "scheduling.k8s.io/v1",
            {"value": 1000, "globalDefault": True, "preemptionPolicy": "Never"},
        ),
    ],
)
def test_every_field(kind: type[Object], version: str, fields: dict[str, Any]) -> None:
    assert_complete(kind, {"apiVersion": version, "kind": kind.kind, "metadata": METADATA, **fields})


def test_an_empty_selector_is_kept_apart_from_an_absent_one() -> None:
    assert decoding.decode(ReplicaSet, b'{"spec": {"selector": {}}}').spec.selector == LabelSelector()
    assert decoding.decode(ReplicaSet, b'{"spec": {}}').spec.selector is None


def test_priorities_may_be_negative() -> None:
    assert decoding.decode(PriorityClass, b'{"value": -2147483648}').value == -(2**31)
