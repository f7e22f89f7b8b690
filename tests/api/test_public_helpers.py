"""What plugin authors use of quantities, selectors, requests and tolerations, held to what the plugins do."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import moorage
from moorage import (
    LabelSelector,
    NodeSelectorTerm,
    Resources,
    SelectorError,
    Taint,
    parse_label_selector,
    parse_node_selector,
    parse_quantity,
    parse_resources,
    quantity_milli_value,
    quantity_value,
)
from moorage.api.selectors import Requirement
from moorage.testing import FakeHandle, make_node, make_pod, run

PROPERTY = settings(max_examples=60, deadline=None)
LABELS = {"app": "web", "tier": "front"}


@pytest.mark.parametrize(
    ("quantity", "exact", "whole", "milli"),
    [
        ("1500m", Fraction(3, 2), 2, 1500),
        ("1Gi", 2**30, 2**30, 2**30 * 1000),
        ("1.5Gi", 3 * 2**29, 3 * 2**29, 3 * 2**29 * 1000),
        ("100n", Fraction(1, 10**7), 1, 1),
        (2, 2, 2, 2000),
        (0.5, Fraction(1, 2), 1, 500),
        ("12e6", 12_000_000, 12_000_000, 12_000_000_000),
        ("-1", -1, -1, -1000),
    ],
)
def test_quantities(quantity: moorage.Quantity, exact: Fraction, whole: int, milli: int) -> None:
    assert parse_quantity(quantity) == exact
    assert quantity_value(quantity) == whole
    assert quantity_milli_value(quantity) == milli


@pytest.mark.parametrize("wrong", ["", "1.5 GB", "1gb", "abc", "٣", True, None, ["1"], float("nan")])
def test_what_is_no_quantity(wrong: Any) -> None:
    for read in (parse_quantity, quantity_value, quantity_milli_value):
        with pytest.raises(ValueError, match="is not a quantity: use a number"):
            read(wrong)


def test_resources_of_a_mapping() -> None:
    asked = parse_resources({"cpu": "1500m", "memory": "1Gi", "example.com/gpu": 2})
    assert asked == {"cpu": 1500, "memory": 2**30, "example.com/gpu": 2}
    assert asked["example.com/other"] == 0
    with pytest.raises(ValueError, match="memory: '1GB' is not a quantity"):
        parse_resources({"cpu": "1", "memory": "1GB"})
    with pytest.raises(ValueError, match=r"^disk: no resource that a scheduler counts"):
        parse_resources({"disk": "1"})


def test_sums_and_differences_of_resources() -> None:
    one, two = Resources(cpu=100), Resources(cpu=50, memory=5)
    assert one + two == {"cpu": 150, "memory": 5}
    assert one - two == {"cpu": 50, "memory": -5}
    assert sum([one, two, two], Resources()) == {"cpu": 200, "memory": 10}
    assert isinstance(one + two, Resources) and isinstance(one - two, Resources)
    assert one == {"cpu": 100} and two == {"cpu": 50, "memory": 5}
    assert (one + two)["example.com/gpu"] == 0


amounts = st.fixed_dictionaries(
    {}, optional={"cpu": st.integers(0, 5), "memory": st.integers(0, 5), "example.com/gpu": st.integers(0, 3)}
)


@PROPERTY
@given(asked=amounts, running=st.lists(amounts, max_size=2), room=amounts)
def test_what_fits_is_what_the_filter_lets_pass(
    asked: dict[str, int], running: list[dict[str, int]], room: dict[str, int]
) -> None:
    pods = [make_pod(f"p{i}", requests=each, node="node") for i, each in enumerate(running)]
    node = make_node(cpu=room.get("cpu", 0), memory=room.get("memory", 0), allocatable=room)
    pod = make_pod(requests=asked)
    info = FakeHandle([node, *pods]).node("node")
    assert info is not None
    free = info.allocatable - info.requested
    placed = sum((each.placed_requests for each in pods), Resources())
    assert info.requested == {name: amount for name, amount in placed.items() if amount}
    assert pod.requests.fits_in(free) == (run([], pod, [node], pods=pods).node == "node")


def test_requests_of_a_pod_with_all_that_counts() -> None:
    def container(name: str, cpu: str, **more: Any) -> dict[str, Any]:
        return {"name": name, "resources": {"requests": {"cpu": cpu}}, **more}

    pod = make_pod(
        containers=[container("a", "100m"), container("b", "200m")],
        initContainers=[container("sidecar", "50m", restartPolicy="Always"), container("init", "1")],
        overhead={"cpu": "10m"},
        status={"containerStatuses": [{"name": "a", "resources": {"requests": {"cpu": "2"}}}]},
    )
    assert pod.requests == {"cpu": 1060}
    assert pod.placed_requests == {"cpu": 2260}
    assert make_pod().nonzero_requests == {"cpu": 100, "memory": 200 * 2**20}
    level = make_pod(cpu="1", resources={"requests": {"cpu": "3"}})
    assert level.requests == {"cpu": 3000}


@pytest.mark.parametrize(
    ("selector", "matches"),
    [
        ("app=web", True),
        ("app in (web, db),tier!=back", True),
        ("!tier", False),
        ("", True),
        (None, False),
        ({}, True),
        ({"matchLabels": {"app": "web"}}, True),
        ({"matchExpressions": [{"key": "tier", "operator": "NotIn", "values": ["front"]}]}, False),
        (LabelSelector(match_labels={"app": "db"}), False),
        (LabelSelector(match_expressions=(Requirement("app", "Exists"),)), True),
    ],
)
def test_label_selectors(selector: LabelSelector | Mapping[str, Any] | str | None, matches: bool) -> None:
    assert parse_label_selector(selector).matches(LABELS) is matches


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ("app in web", r"selector 'app in web': unable to parse requirement: found 'web' expected: '\('"),
        ("a,,b", "selector 'a,,b': found ',', expected: identifier after ','"),
        ({"app": "web"}, "'app' is no field of a label selector: it has matchLabels and matchExpressions"),
        ({"matchLabels": ["app"]}, "a label selector cannot be read: Expected `object`, got `array`"),
        (
            {"matchExpressions": [{"key": "a", "operator": "Equals"}]},
            "'Equals' is not a valid selector operator",
        ),
        (7, "a label selector is a text such as app=web, a mapping or a LabelSelector, not int"),
    ],
)
def test_what_is_no_label_selector(wrong: Any, why: str) -> None:
    with pytest.raises(SelectorError, match=why):
        parse_label_selector(wrong)


SSD = {"matchExpressions": [{"key": "disk", "operator": "In", "values": ["ssd"]}]}
NAMED = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["a"]}]}


@pytest.mark.parametrize(
    ("selector", "matches"),
    [
        (SSD, True),
        (NAMED, True),
        ({**SSD, "matchFields": [{"key": "metadata.name", "operator": "NotIn", "values": ["a"]}]}, False),
        ({"nodeSelectorTerms": [{"matchExpressions": [{"key": "x", "operator": "Exists"}]}, NAMED]}, True),
        ({"matchExpressions": [{"key": "cores", "operator": "Gt", "values": ["8"]}]}, False),
        (NodeSelectorTerm(match_expressions=(Requirement("disk", "Exists"),)), True),
        ({}, False),
    ],
)
def test_node_selectors(selector: NodeSelectorTerm | Mapping[str, Any], matches: bool) -> None:
    assert parse_node_selector(selector).matches({"disk": "ssd", "cores": "8"}, "a") is matches


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"disk": "ssd"}, "'disk' is no field of a node selector term"),
        (
            {"matchExpressions": [{"key": "n", "operator": "Gt", "values": ["x"]}]},
            "n: Gt needs exactly one integer",
        ),
        ("disk=ssd", "a node selector is a mapping, a NodeSelector or a NodeSelectorTerm, not str"),
    ],
)
def test_what_is_no_node_selector(wrong: Any, why: str) -> None:
    with pytest.raises(SelectorError, match=why):
        parse_node_selector(wrong)


taints = st.builds(
    Taint,
    st.sampled_from(["a", "b"]),
    st.sampled_from(["", "x"]),
    st.sampled_from(["NoSchedule", "NoExecute", "PreferNoSchedule"]),
)
tolerations = st.fixed_dictionaries(
    {},
    optional={
        "key": st.sampled_from(["a", "b"]),
        "operator": st.sampled_from(["Exists", "Equal"]),
        "value": st.sampled_from(["", "x"]),
        "effect": st.sampled_from(["NoSchedule", "NoExecute"]),
    },
)


@PROPERTY
@given(on_node=st.lists(taints, max_size=3), of_pod=st.lists(tolerations, max_size=2))
def test_what_is_tolerated_is_what_the_filter_lets_pass(
    on_node: list[Taint], of_pod: list[dict[str, str]]
) -> None:
    pod = make_pod(tolerations=of_pod)
    node = make_node(taints=[f"{each.key}={each.value}:{each.effect}" for each in on_node])
    in_the_way = pod.untolerated_taint(on_node)
    assert (in_the_way is None) == (run([], pod, [node]).node == "node")
    if in_the_way is not None:
        assert not pod.tolerates(in_the_way)
    for taint in on_node:
        expected = run([], pod, [make_node(taints=[f"{taint.key}={taint.value}:{taint.effect}"])]).node != ""
        if taint.effect != "PreferNoSchedule":
            assert pod.tolerates(taint) is expected
