"""EndpointSlices and Endpoints of Services."""

from __future__ import annotations

import asyncio
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from moorage.cluster.base.store import Document, Stored
from moorage.cluster.life.controllers.services.endpoint_slices import packed
from moorage.cluster.life.controllers.services.endpoints import cut
from tests.cluster.life.controllers.living_worlds import Cluster, in_cluster

SERVICES = "/api/v1/namespaces/default/services"
PODS = "/api/v1/namespaces/default/pods"
SLICES = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"
ENDPOINTS = "/api/v1/namespaces/default/endpoints"
SETTLED = 3.0


def service(cluster: Cluster, name: str = "web", **spec: Any) -> Document:
    usual = {"selector": {"app": "web"}, "ports": [{"name": "http", "port": 80, "targetPort": "main"}]}
    document = {"metadata": {"name": name, "labels": {"team": "a"}}, "spec": {**usual, **spec}}
    return cluster.world.create(SERVICES, document)


def pod(cluster: Cluster, name: str, *, port: int = 8080, ready: str = "true") -> Document:
    container = {"name": "c", "image": "x", "ports": [{"name": "main", "containerPort": port}]}
    metadata = {"name": name, "labels": {"app": "web"}, "annotations": {"moorage/ready": ready}}
    return cluster.world.create(PODS, {"metadata": metadata, "spec": {"containers": [container]}})


def slices(cluster: Cluster) -> list[Document]:
    found: list[Document] = cluster.world.get(SLICES)["items"]
    return found


def ready(endpoint: Document) -> tuple[bool, bool, bool]:
    conditions = endpoint["conditions"]
    return conditions["ready"], conditions["serving"], conditions["terminating"]


def test_a_slice_tells_of_the_pods_of_a_service() -> None:
    async def test(cluster: Cluster) -> None:
        made = service(cluster)
        await asyncio.sleep(SETTLED)
        [empty] = slices(cluster)
        assert (empty["endpoints"], empty["ports"]) == (None, None)
        first = pod(cluster, "a")
        pod(cluster, "b", ready="false")
        await asyncio.sleep(SETTLED)
        [found] = slices(cluster)
        assert found["metadata"]["name"] == empty["metadata"]["name"]  # the same one is filled
        assert found["metadata"]["labels"] == {
            "team": "a",
            "kubernetes.io/service-name": "web",
            "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
        }
        [owner] = found["metadata"]["ownerReferences"]
        assert (owner["kind"], owner["uid"]) == ("Service", made["metadata"]["uid"])
        assert found["ports"] == [{"name": "http", "port": 8080, "protocol": "TCP"}]
        one, other = sorted(found["endpoints"], key=lambda each: each["targetRef"]["name"])
        address = cluster.world.get(f"{PODS}/a")["status"]["podIP"]
        assert one == {
            "addresses": [address],
            "conditions": {"ready": True, "serving": True, "terminating": False},
            "nodeName": "node-1",
            "zone": "zone-a",
            "targetRef": {
                "kind": "Pod",
                "namespace": "default",
                "name": "a",
                "uid": first["metadata"]["uid"],
            },
        }
        assert ready(other) == (False, False, False)
        [endpoints] = cluster.world.get(ENDPOINTS)["items"]
        [subset] = endpoints["subsets"]
        assert [each["ip"] for each in subset["addresses"]] == [address]
        assert [each["targetRef"]["name"] for each in subset["notReadyAddresses"]] == ["b"]
        assert subset["ports"] == [{"name": "http", "port": 8080, "protocol": "TCP"}]

    in_cluster(test)


def test_it_follows_the_pods_until_they_and_the_service_are_gone() -> None:
    async def test(cluster: Cluster) -> None:
        service(cluster)
        pod(cluster, "a", ready="false")
        await asyncio.sleep(SETTLED)
        note = {"metadata": {"annotations": {"moorage/ready": "true"}}}
        merge = "application/merge-patch+json"
        cluster.world.done("PATCH", f"{PODS}/a", note, content_type=merge)
        await asyncio.sleep(SETTLED)
        [found] = slices(cluster)
        assert [ready(each) for each in found["endpoints"]] == [(True, True, False)]
        cluster.world.done("PATCH", f"{PODS}/a", {"metadata": {"labels": {"app": "x"}}}, content_type=merge)
        await asyncio.sleep(SETTLED)
        [found] = slices(cluster)
        assert found["endpoints"] is None
        assert "subsets" not in cluster.world.get(f"{ENDPOINTS}/web")
        cluster.world.done("DELETE", f"{SERVICES}/web")
        await asyncio.sleep(SETTLED)
        assert (slices(cluster), cluster.world.get(ENDPOINTS)["items"]) == ([], [])

    in_cluster(test)


def test_pods_with_other_ports_are_in_another_slice() -> None:
    async def test(cluster: Cluster) -> None:
        service(cluster)
        pod(cluster, "a", port=1)
        pod(cluster, "b", port=2)
        await asyncio.sleep(SETTLED)
        assert sorted(each["ports"][0]["port"] for each in slices(cluster)) == [1, 2]
        assert sorted(
            each["ports"][0]["port"] for each in cluster.world.get(f"{ENDPOINTS}/web")["subsets"]
        ) == [
            1,
            2,
        ]

    in_cluster(test)


def test_headless_services_unready_addresses_and_hints() -> None:
    async def test(cluster: Cluster) -> None:
        service(
            cluster, clusterIP="None", publishNotReadyAddresses=True, trafficDistribution="PreferSameNode"
        )
        pod(cluster, "a", ready="false")
        await asyncio.sleep(SETTLED)
        [found] = slices(cluster)
        assert found["metadata"]["labels"]["service.kubernetes.io/headless"] == ""
        [endpoint] = found["endpoints"]
        assert ready(endpoint) == (True, False, False)
        assert endpoint["hints"] == {"forZones": [{"name": "zone-a"}], "forNodes": [{"name": "node-1"}]}
        [subset] = cluster.world.get(f"{ENDPOINTS}/web")["subsets"]
        assert "notReadyAddresses" not in subset

    in_cluster(test)


def test_services_without_a_selector_are_left_alone() -> None:
    async def test(cluster: Cluster) -> None:
        service(cluster, selector=None)
        service(cluster, "outside", type="ExternalName", externalName="a.b", ports=[])
        pod(cluster, "a")
        await asyncio.sleep(SETTLED)
        assert (slices(cluster), cluster.world.get(ENDPOINTS)["items"]) == ([], [])

    in_cluster(test)


def endpoint(number: int) -> Document:
    return {"addresses": [f"10.0.{number // 256}.{number % 256}"], "targetRef": {"uid": str(number)}}


def stored(number: int, members: list[int]) -> Stored:
    document = {"metadata": {"name": f"s{number}"}, "endpoints": [endpoint(each) for each in members]}
    return Stored("default", f"s{number}", document, 1)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.integers(0, 349), unique=True), st.integers(1, 120), st.sets(st.integers(0, 399)))
def test_every_endpoint_is_in_one_slice_and_stays_there(
    before: list[int], size: int, wanted: set[int]
) -> None:
    size = min(size, 100)
    groups = [before[start : start + size] for start in range(0, len(before), size)]
    known = [stored(number, group) for number, group in enumerate(groups)]
    found = packed([], [endpoint(each) for each in sorted(wanted)], known)
    held = [[int(each["targetRef"]["uid"]) for each in slice_.endpoints] for slice_ in found]
    assert sorted(each for members in held for each in members) == sorted(wanted)
    assert all(0 < len(each) <= 100 for each in held)
    for slice_, members in zip(found, held, strict=True):
        if slice_.known is not None:
            kept = {int(each["targetRef"]["uid"]) for each in slice_.known.document["endpoints"]} & wanted
            assert kept <= set(members)
    assert packed([], [endpoint(each) for each in sorted(wanted)], known) == found


def test_an_object_holds_a_thousand_addresses_ready_ones_first() -> None:
    subsets = [
        {"addresses": [{"ip": str(each)} for each in range(600)], "notReadyAddresses": [{"ip": "x"}] * 300},
        {"addresses": [{"ip": str(each)} for each in range(300)], "notReadyAddresses": [{"ip": "y"}] * 300},
    ]
    found, is_cut = cut(subsets)
    assert is_cut
    assert [(len(each["addresses"]), len(each.get("notReadyAddresses", ()))) for each in found] == [
        (600, 100),
        (300, 0),
    ]
    assert cut([{"addresses": [{"ip": "x"}]}]) == ([{"addresses": [{"ip": "x"}]}], False)
