"""Plans as they are written: configuration, node selectors, shares."""

from __future__ import annotations

from typing import Any

import pytest

from moorage.plugins.devices.allocation.failures import AllocationFailed
from tests.plugins.devices.device_objects import (
    DRIVER,
    Cluster,
    claim,
    device_class,
    exactly,
    first_of,
    held,
    node,
    resource_slice,
)

Document = dict[str, Any]


def document(cluster: Cluster, *claims: Document) -> Document:
    plans = cluster.allocator(*claims).allocate(node())
    assert plans is not None
    return plans[0].document


def opaque(name: str) -> Document:
    return {"opaque": {"driver": DRIVER, "parameters": {"name": name}}}


def test_configuration_of_a_class_is_there_once_and_that_of_the_claim_for_each_request() -> None:
    cluster = Cluster(
        [resource_slice("s", ["a", "b", "c"])],
        [device_class("gpu", config=[opaque("class")]), device_class("plain")],
    )
    config = [
        {"requests": [], **opaque("all")},
        {"requests": ["r", "s/x"], **opaque("two")},
        {"requests": ["s/y"], **opaque("other")},
    ]
    ways = first_of("s", {"name": "x"}, {"name": "y"})
    wanted = claim(exactly("r"), ways, exactly("t", deviceClassName="plain"), config=config)
    assert document(cluster, wanted)["devices"]["config"] == [
        {"source": "FromClass", "requests": ["r", "s/x"], **opaque("class")},
        {"source": "FromClaim", **opaque("all")},
        {"source": "FromClaim", "requests": ["r", "s/x"], **opaque("two")},
        {"source": "FromClaim", "requests": ["r", "s/x"], **opaque("two")},
    ]


def selector(*terms: Document) -> Document:
    return {"nodeSelectorTerms": list(terms)}


def zone(*values: str) -> Document:
    return {"key": "zone", "operator": "In", "values": list(values)}


class TestNodeSelector:
    def test_one_device_of_the_node_ties_all_to_it(self) -> None:
        cluster = Cluster(
            [resource_slice("s", ["a"], pool="p", allNodes=True), resource_slice("t", ["b"], pool="q")]
        )
        expected = selector({"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]})
        assert document(cluster, claim(exactly(count=2)))["nodeSelector"] == expected
        assert "nodeSelector" not in document(cluster, claim(exactly()))

    def test_so_does_one_that_binds_to_its_node(self) -> None:
        cluster = Cluster([resource_slice("s", [{"name": "a", "bindsToNode": True}], allNodes=True)])
        assert document(cluster, claim(exactly()))["nodeSelector"]["nodeSelectorTerms"][0]["matchFields"]

    def test_what_several_ask_for_comes_together(self) -> None:
        first, second = {"key": "a", "operator": "Exists"}, {"key": "b", "operator": "DoesNotExist"}
        cluster = Cluster(
            [
                resource_slice(
                    "s", ["a"], pool="p", nodeSelector=selector({"matchExpressions": [zone("x", "y")]})
                ),
                resource_slice(
                    "t",
                    [{"name": "b", "nodeSelector": selector({"matchExpressions": [zone("y", "x"), first]})}],
                    pool="q",
                    perDeviceNodeSelection=True,
                ),
                resource_slice("u", ["c"], pool="r", nodeSelector=selector({"matchExpressions": [second]})),
            ]
        )
        plans = cluster.allocator(claim(exactly(count=3))).allocate(node(zone="x", a="1"))
        assert plans is not None
        expected = selector({"matchExpressions": [zone("x", "y"), first, second]})
        assert plans[0].document["nodeSelector"] == expected

    def test_more_than_one_term_is_an_error(self) -> None:
        terms = selector({"matchExpressions": [zone("x")]}, {"matchExpressions": [zone("y")]})
        cluster = Cluster([resource_slice("s", ["a"], nodeSelector=terms)])
        with pytest.raises(AllocationFailed) as raised:
            cluster.allocator(claim(exactly())).allocate(node(zone="y"))
        assert str(raised.value) == (
            "create NodeSelector for claim c: unsupported ResourceSlice.NodeSelector with 2 terms"
        )


def test_what_a_result_says_about_a_device_and_its_request() -> None:
    device = {"name": "a", "bindingConditions": ["ready"], "bindingFailureConditions": ["broken"]}
    toleration = {"key": "k", "operator": "Exists", "effect": "NoSchedule", "tolerationSeconds": 5}
    cluster = Cluster([resource_slice("s", [device])])
    found = document(cluster, claim(exactly(tolerations=[toleration])))
    assert found["devices"]["results"] == [
        {
            "request": "r",
            "driver": DRIVER,
            "pool": "n1",
            "device": "a",
            "tolerations": [toleration],
            "bindingConditions": ["ready"],
            "bindingFailureConditions": ["broken"],
        }
    ]


def test_a_claim_without_requests_gets_an_empty_allocation() -> None:
    assert document(Cluster(), claim()) == {"devices": {}}


def shared(**capacity: Document) -> Cluster:
    device = {"name": "a", "allowMultipleAllocations": True, "capacity": capacity}
    return Cluster([resource_slice("s", [device])])


def consumed(cluster: Cluster, **requests: str) -> Document | None:
    plans = cluster.allocator(claim(exactly(capacity={"requests": requests}))).allocate(node())
    if plans is None:
        return None
    result = plans[0].document["devices"]["results"][0]
    assert result["shareID"] == "share"
    amounts: Document = result["consumedCapacity"]
    return amounts


STEPS = {"default": "1Gi", "validRange": {"min": "1Gi", "max": "8Gi", "step": "512Mi"}}
VALUES = {"default": "1", "validValues": ["1", "2", "4"]}


@pytest.mark.parametrize(
    ("capacity", "asked", "taken"),
    [
        ({"value": "10Gi"}, {}, "10Gi"),
        ({"value": "10Gi"}, {"memory": "2000Mi"}, "2000Mi"),
        ({"value": "10Gi"}, {"memory": "11Gi"}, None),
        ({"value": "10Gi"}, {"lanes": "1"}, None),
        ({"value": "10Gi", "requestPolicy": STEPS}, {}, "1Gi"),
        ({"value": "10Gi", "requestPolicy": STEPS}, {"memory": "1"}, "1Gi"),
        ({"value": "10Gi", "requestPolicy": STEPS}, {"memory": "1100Mi"}, "1536Mi"),
        ({"value": "10Gi", "requestPolicy": STEPS}, {"memory": "1073741824500m"}, "1536Mi"),
        ({"value": "10Gi", "requestPolicy": STEPS}, {"memory": "9Gi"}, None),
        ({"value": "9", "requestPolicy": VALUES}, {"memory": "3"}, "4"),
        ({"value": "9", "requestPolicy": VALUES}, {"memory": "500m"}, "1"),
        ({"value": "9", "requestPolicy": VALUES}, {"memory": "5"}, None),
        ({"value": "9", "requestPolicy": {"default": "1"}}, {"memory": "5"}, "5"),
    ],
)
def test_how_much_a_share_takes(capacity: Document, asked: dict[str, str], taken: str | None) -> None:
    assert consumed(shared(memory=capacity), **asked) == (None if taken is None else {"memory": taken})


def test_shares_of_others_leave_less() -> None:
    share = {"request": "r", "driver": DRIVER, "pool": "n1", "device": "a", "shareID": "1"}
    cluster = shared(memory={"value": "10Gi"})
    taken = Cluster(claims=[held({**share, "consumedCapacity": {"memory": "8Gi"}})])
    cluster.in_use = taken.in_use
    assert consumed(cluster, memory="4Gi") is None
    assert consumed(cluster, memory="2Gi") == {"memory": "2Gi"}


def test_requests_of_one_claim_share_a_device_but_one_request_takes_it_once() -> None:
    cluster = shared(memory={"value": "10Gi"})
    half: Document = {"capacity": {"requests": {"memory": "5Gi"}}}
    third: Document = {"capacity": {"requests": {"memory": "4Gi"}}}
    assert cluster.devices(claim(exactly("r", **half), exactly("s", **half))) is not None
    assert cluster.devices(claim(exactly("r", **half), exactly("s", **half), exactly("t", **third))) is None
    assert cluster.devices(claim(exactly("r", 2, **third))) is None
