from __future__ import annotations

from typing import Any

import pytest

from moorage.cluster.base.errors import Refusal
from moorage.cluster.base.store import Document, Store
from moorage.cluster.kinds.service_allocation import allocate_service
from moorage.cluster.kinds.services import ServiceStrategy


def service(name: str = "web", **spec: Any) -> Document:
    document: Document = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "namespace": "team"},
        "spec": {"ports": [{"port": 80}], **spec},
    }
    ServiceStrategy().default(document)
    return document


def stored(store: Store, document: Document) -> Document:
    allocate_service(document, store)
    return store.create("services", "team", document["metadata"]["name"], document).document


def refused(document: Document, store: Store, old: Document | None = None) -> str:
    with pytest.raises(Refusal) as refusal:
        allocate_service(document, store, old)
    assert refusal.value.code == 422
    return refusal.value.message


def test_every_service_gets_an_address_of_its_own() -> None:
    store = Store()

    addresses = [stored(store, service(f"web-{number}"))["spec"]["clusterIP"] for number in range(3)]

    assert addresses == ["10.96.1.1", "10.96.1.2", "10.96.1.3"]


def test_an_address_is_free_again_after_its_service_is_gone() -> None:
    store = Store()
    stored(store, service("a"))
    found = store.get("services", "team", "a")
    assert found is not None
    store.delete("services", found)

    assert stored(store, service("b"))["spec"]["clusterIP"] == "10.96.1.1"


def test_an_address_can_be_asked_for_once() -> None:
    store = Store()
    assert stored(store, service("dns", clusterIP="10.96.0.10"))["spec"]["clusterIPs"] == ["10.96.0.10"]

    assert refused(service("other", clusterIP="10.96.0.10"), store) == (
        'Service "other" is invalid: spec.clusterIPs: Invalid value: ["10.96.0.10"]: '
        "failed to allocate IP 10.96.0.10: provided IP is already allocated"
    )


@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("1.2.3.4", "the provided network does not match the current range"),
        ("10.96.0.0", "the provided network does not match the current range"),
        ("10.96.255.255", "the provided network does not match the current range"),
    ],
)
def test_addresses_outside_the_range_are_refused(address: str, why: str) -> None:
    assert refused(service(clusterIP=address), Store()) == (
        f'Service "web" is invalid: spec.clusterIPs: Invalid value: ["{address}"]: '
        f"failed to allocate IP {address}: {why}"
    )


def test_node_ports_are_given_and_shared_by_protocols_of_one_port() -> None:
    ports = [
        {"port": 53, "name": "tcp"},
        {"port": 53, "name": "udp", "protocol": "UDP"},
        {"port": 80, "name": "http"},
    ]

    document = stored(Store(), service(type="NodePort", ports=ports))

    assert [port["nodePort"] for port in document["spec"]["ports"]] == [30086, 30086, 30087]


def test_a_node_port_that_is_asked_for_is_shared_too() -> None:
    ports = [{"port": 80, "name": "a", "nodePort": 31999}, {"port": 80, "name": "b", "protocol": "UDP"}]

    document = stored(Store(), service(type="NodePort", ports=ports))

    assert [port["nodePort"] for port in document["spec"]["ports"]] == [31999, 31999]


def test_node_ports_that_cannot_be_had_are_refused() -> None:
    store = Store()
    stored(store, service("one", type="NodePort", ports=[{"port": 80, "nodePort": 31999}]))

    assert refused(service("two", type="NodePort", ports=[{"port": 80, "nodePort": 31999}]), store) == (
        'Service "two" is invalid: spec.ports[0].nodePort: Invalid value: 31999: '
        "provided port is already allocated"
    )
    assert refused(service("two", type="NodePort", ports=[{"port": 80, "nodePort": 80}]), store) == (
        'Service "two" is invalid: spec.ports[0].nodePort: Invalid value: 80: provided port is not in the '
        "valid range. The range of valid ports is 30000-32767"
    )


def test_local_load_balancers_get_a_port_for_health_checks() -> None:
    store = Store()
    document = stored(store, service(type="LoadBalancer", externalTrafficPolicy="Local"))
    assert document["spec"]["healthCheckNodePort"] == 30087
    assert document["spec"]["ports"][0]["nodePort"] == 30086

    assert stored(store, service("b", type="NodePort"))["spec"]["ports"][0]["nodePort"] == 30088


def test_an_update_need_not_repeat_what_was_given() -> None:
    store = Store()
    old = stored(store, service(type="NodePort"))
    new = service(type="NodePort", ports=[{"port": 81}])

    allocate_service(new, store, old)

    assert new["spec"]["clusterIPs"] == old["spec"]["clusterIPs"]
    assert new["spec"]["ports"][0]["nodePort"] == old["spec"]["ports"][0]["nodePort"]


def test_asking_twice_changes_nothing() -> None:
    store = Store()
    document = service(type="NodePort")
    allocate_service(document, store)
    first = {**document["spec"]}

    allocate_service(document, store)

    assert document["spec"] == first
