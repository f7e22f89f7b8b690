"""Definitions made of Python classes, on both kinds of cluster."""

import json
from typing import Any

import pytest
import yaml

from moorage.api.custom_resources.definitions import custom_resource_definition
from tests.api.licenses import License
from tests.seeds.common import Cluster, Document


@pytest.fixture(scope="module")
def licenses(cluster: Cluster) -> Cluster:
    said = cluster.kubectl("create", "-f", "-", input=yaml.safe_dump(custom_resource_definition(License)))
    assert said.strip() == "customresourcedefinition.apiextensions.k8s.io/licenses.shop.example.com created"
    cluster.kubectl("wait", "--for=condition=Established", "crd/licenses.shop.example.com", "--timeout=20s")
    return cluster


def a_license(name: str, **spec: Any) -> Document:
    meta = {"name": name, "namespace": "default"}
    return {"apiVersion": "shop.example.com/v1", "kind": "License", "metadata": meta, "spec": spec}


def test_nothing_is_wrong_with_the_schema(licenses: Cluster) -> None:
    found = json.loads(licenses.kubectl("get", "crd", "licenses.shop.example.com", "-o", "json"))
    conditions = {each["type"]: each["status"] for each in found["status"]["conditions"]}
    assert conditions.get("NonStructuralSchema", "False") == "False"
    assert conditions["NamesAccepted"] == "True"


def test_defaults_are_filled_in(licenses: Cluster) -> None:
    licenses.create(a_license("plain", seats=3))
    found = json.loads(licenses.kubectl("get", "licenses", "plain", "-o", "json"))["spec"]
    assert found == {
        "seats": 3,
        "tier": "silver",
        "code": "AB",
        "ratio": 0.5,
        "trial": False,
        "memory": "1Gi",
        "port": 80,
    }


def test_what_the_class_allows_is_taken(licenses: Cluster) -> None:
    spec: Document = {
        "seats": 1000,
        "tier": "gold",
        "region": "eu",
        "memory": 5,
        "port": "http",
        "holders": [{"userName": "a", "since": "now"}],
        "tags": ["a", "b"],
        "limits": {"x": 0},
        "anything": {"goes": [1, {"here": None}]},
        "holder": {"userName": "b"},
        "renewed": "2026-01-02T03:04:05Z",
    }
    licenses.create(a_license("full", **spec))
    found = json.loads(licenses.kubectl("get", "lic", "full", "-o", "json"))["spec"]
    assert {key: found[key] for key in spec} == spec


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        ({}, "spec.seats: Required value"),
        (
            {"seats": 0},
            "spec.seats: Invalid value: 0: spec.seats in body should be greater than or equal to 1",
        ),
        ({"seats": "1"}, 'spec.seats: Invalid value: "string": spec.seats in body must be of type integer'),
        (
            {"seats": 1, "tier": "lead"},
            'spec.tier: Unsupported value: "lead": supported values: "gold", "silver"',
        ),
        ({"seats": 1, "region": "mars"}, 'spec.region: Unsupported value: "mars"'),
        ({"seats": 1, "code": "ab"}, "spec.code: Invalid value"),
        ({"seats": 1, "code": "A"}, "spec.code"),
        ({"seats": 1, "ratio": 1}, "spec.ratio: Invalid value: 1: spec.ratio in body should be less than 1"),
        ({"seats": 1, "memory": "much"}, "spec.memory: Invalid value"),
        ({"seats": 1, "tags": ["a", "a"]}, 'spec.tags[1]: Duplicate value: "a"'),
        ({"seats": 1, "limits": {"x": -1}}, "spec.limits.x: Invalid value"),
        ({"seats": 1, "holders": [{}]}, "spec.holders[0].userName: Required value"),
        ({"seats": 1, "renewed": "soon"}, "spec.renewed: Invalid value"),
    ],
)
def test_what_the_class_forbids_is_refused(licenses: Cluster, spec: Document, reason: str) -> None:
    refusal = licenses.try_to("create", a_license("wrong", **spec))
    assert refusal.code != 0
    assert 'License "wrong" is invalid' in refusal.errors
    assert reason in refusal.errors


def test_names_columns_and_status(licenses: Cluster) -> None:
    licenses.create(a_license("shown", seats=7))
    header, row = licenses.kubectl("get", "lic", "shown", "-o", "wide").splitlines()
    assert (header.split(), row.split()) == (["NAME", "SEATS", "TIER"], ["shown", "7", "silver"])
    assert "license.shop.example.com/shown" in licenses.kubectl("get", "shop", "-o", "name")
    patch = '{"status":{"used":4},"spec":{"seats":9}}'
    licenses.kubectl("patch", "license", "shown", "--subresource=status", "--type=merge", "-p", patch)
    found = json.loads(licenses.kubectl("get", "license", "shown", "-o", "json"))
    assert (found["status"], found["spec"]["seats"]) == ({"used": 4}, 7)
