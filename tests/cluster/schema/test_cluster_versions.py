"""The tables of other forms fit the recorded types, and what their words mean."""

from __future__ import annotations

from pathlib import Path

import pytest

from moorage.cluster.base.store import Document
from moorage.cluster.schema import versions
from moorage.cluster.schema.versions import VERSIONS, from_stored, to_stored

FILES = sorted(VERSIONS.glob("*.txt"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_block_that_is_named_is_there(file: Path) -> None:
    blocks = versions._blocks(file.stem)
    named = {line.block for lines in blocks.values() for line in lines}
    assert named - {""} <= blocks.keys()


METRIC = "autoscaling.v1.MetricSpec"
STORED: Document = {
    "type": "Object",
    "object": {
        "describedObject": {"kind": "K", "name": "n"},
        "metric": {"name": "m"},
        "target": {"value": "1"},
    },
}
OTHER: Document = {
    "type": "Object",
    "object": {"target": {"kind": "K", "name": "n"}, "metricName": "m", "targetValue": "1"},
}


def test_fields_stand_where_the_table_says() -> None:
    assert from_stored(METRIC, STORED) == OTHER
    assert to_stored(METRIC, OTHER) == STORED


def test_the_other_form_says_what_the_stored_one_leaves_out() -> None:
    assert from_stored(METRIC, {"pods": {}}) == {
        "type": "",
        "pods": {"metricName": "", "targetAverageValue": "0"},
    }
    policies = from_stored("autoscaling.v1.HPAScalingRules", {"policies": [{"type": "Pods"}]})
    assert policies == {
        "StabilizationWindowSeconds": None,
        "SelectPolicy": None,
        "Policies": [{"Type": "Pods"}],
        "Tolerance": None,
    }


@pytest.mark.parametrize("odd", ["text", 1, [1], {"metricName": {}, "more": 1}])
def test_what_does_not_fit_is_left_out(odd: object) -> None:
    found = to_stored(METRIC, {"type": "Pods", "pods": odd, "unknown": 1})
    assert found in ({"type": "Pods"}, {"type": "Pods", "pods": {"metric": {"name": {}}}})
