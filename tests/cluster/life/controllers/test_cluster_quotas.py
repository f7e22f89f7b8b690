from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moorage.api import quantities
from moorage.cluster.base.store import Document
from moorage.cluster.objects.admission.usage import QUOTAS
from tests.cluster.api_worlds import Reply
from tests.cluster.life.controllers.living_worlds import CLAIM_PATH, Cluster, in_cluster

NAMESPACE = "/api/v1/namespaces/default"
PODS = f"{NAMESPACE}/pods"
CLASS = ".storageclass.storage.k8s.io/"


def create_quota(cluster: Cluster, hard: Document, name: str = "q", **spec: Any) -> None:
    metadata = {"name": name}
    document = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": metadata,
        "spec": {"hard": hard, **spec},
    }
    cluster.world.create(f"{NAMESPACE}/resourcequotas", document)


def used(cluster: Cluster, name: str = "q") -> Document:
    found: Document = cluster.get(QUOTAS, name).status["used"]
    return found


def pod(name: str, requests: Document | None = None, limits: Document | None = None, **spec: Any) -> Document:
    resources = {"requests": requests or {}, "limits": limits or {}}
    container = {"name": "main", "image": "x", "resources": resources}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {"containers": [container], **spec},
    }


def create(cluster: Cluster, document: Document) -> Reply:
    return cluster.world.ask("POST", f"{NAMESPACE}/{document['kind'].lower()}s", document)


def why(reply: Reply) -> str:
    """Why something was refused; "" if it was not."""
    assert reply.code in (201, 200, 403), reply
    return reply.message if reply.code == 403 else ""


def service(name: str, kind: str = "ClusterIP", ports: int = 1) -> Document:
    spec = {"type": kind, "ports": [{"name": f"p{each}", "port": 80 + each} for each in range(ports)]}
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": spec}


def test_the_status_tells_what_is_used() -> None:
    async def test(cluster: Cluster) -> None:
        create(cluster, pod("before", {"cpu": "100m", "memory": "64Mi"}))
        hard = {
            "pods": "9",
            "requests.cpu": "1",
            "memory": "1Gi",
            "limits.cpu": "2",
            "requests.example.com/gpu": "3",
            "persistentvolumeclaims": "4",
            "requests.storage": "10Gi",
            f"fast{CLASS}requests.storage": "5Gi",
            f"slow{CLASS}persistentvolumeclaims": "1",
            "services": "5",
            "services.nodeports": "6",
            "services.loadbalancers": "1",
            "configmaps": "10",
            "count/deployments.apps": "2",
        }
        create_quota(cluster, hard)
        await asyncio.sleep(0.1)
        quota = cluster.get(QUOTAS, "q")
        assert quota.status["hard"] == hard
        zeros = dict.fromkeys(hard, "0")
        before = {"pods": "1", "requests.cpu": "100m", "memory": "64Mi", "services": "1", "configmaps": "1"}
        assert quota.status["used"] == zeros | before

        gpus = {"example.com/gpu": "2"}
        requests = {"cpu": "400m", "memory": "64Mi", **gpus}
        assert why(create(cluster, pod("more", requests, {"cpu": "1", **gpus}))) == ""
        cluster.create_claim("c", "1500Mi", storageClassName="fast")
        create(cluster, service("s", "NodePort", 2))
        create(cluster, service("b", "LoadBalancer"))
        with_more = {
            "pods": "2",
            "requests.cpu": "500m",
            "memory": "128Mi",
            "limits.cpu": "1",
            "requests.example.com/gpu": "2",
            "persistentvolumeclaims": "1",
            "requests.storage": "1500Mi",
            f"fast{CLASS}requests.storage": "1500Mi",
            "services": "3",
            "services.nodeports": "3",
            "services.loadbalancers": "1",
        }
        assert used(cluster) == zeros | before | with_more, "admission has counted it already"
        await asyncio.sleep(0.1)
        assert used(cluster) == zeros | before | with_more

        cluster.delete(f"{PODS}/more")
        cluster.delete(f"{NAMESPACE}/services/b")
        cluster.delete(f"{CLAIM_PATH}/c")
        await asyncio.sleep(5)
        assert used(cluster) == zeros | before | {"services": "2", "services.nodeports": "2"}

    in_cluster(test)


def test_a_quota_of_nothing_has_no_status() -> None:
    async def test(cluster: Cluster) -> None:
        cluster.world.create(f"{NAMESPACE}/resourcequotas", {"metadata": {"name": "q"}, "spec": {}})
        await asyncio.sleep(1)
        assert cluster.world.get(f"{NAMESPACE}/resourcequotas/q")["status"] == {}

    in_cluster(test)


def test_what_is_too_much_is_refused() -> None:
    async def test(cluster: Cluster) -> None:
        hard = {"pods": "2", "requests.cpu": "1", "limits.memory": "1Gi"}
        create_quota(cluster, hard)
        await asyncio.sleep(0.1)
        assert why(create(cluster, pod("bare"))) == (
            'pods "bare" is forbidden: failed quota: q: must specify limits.memory for: main; '
            "requests.cpu for: main"
        )
        assert why(create(cluster, pod("one", {"cpu": "600m"}, {"memory": "256Mi"}))) == ""
        assert why(create(cluster, pod("two", {"cpu": "600m"}, {"memory": "900Mi"}))) == (
            'pods "two" is forbidden: exceeded quota: q, requested: limits.memory=900Mi,requests.cpu=600m, '
            "used: limits.memory=256Mi,requests.cpu=600m, limited: limits.memory=1Gi,requests.cpu=1"
        )
        assert why(create(cluster, pod("two", {"cpu": "100m"}, {"memory": "1Mi"}))) == ""
        assert why(create(cluster, pod("three", {"cpu": "100m"}, {"memory": "1Mi"}))) == (
            'pods "three" is forbidden: exceeded quota: q, requested: pods=1, used: pods=2, limited: pods=2'
        )
        cluster.patch(f"{PODS}/one/status", {"status": {"phase": "Succeeded"}})
        await asyncio.sleep(0.1)
        assert used(cluster) == {"pods": "1", "requests.cpu": "100m", "limits.memory": "1Mi"}
        assert why(create(cluster, pod("three", {"cpu": "100m"}, {"memory": "1Mi"}))) == ""

    in_cluster(test)


def test_a_burst_cannot_get_past_a_quota() -> None:
    """Nothing waits for the status between two creations."""

    async def test(cluster: Cluster) -> None:
        create_quota(cluster, {"pods": "3"})
        await asyncio.sleep(0.1)
        made = [create(cluster, pod(f"p{number}")).code for number in range(5)]
        assert made == [201, 201, 201, 403, 403]

    in_cluster(test)


def test_what_was_not_made_after_all_is_not_counted() -> None:
    async def test(cluster: Cluster) -> None:
        create_quota(cluster, {"pods": "5", "configmaps": "5"})
        await asyncio.sleep(0.1)
        create(cluster, pod("p"))
        assert create(cluster, pod("p")).code == 409
        broken = pod("broken", {"cpu": "2"}, {"cpu": "1"})
        assert create(cluster, broken).code == 422
        assert cluster.world.ask("POST", PODS, pod("dry"), dryRun="All").code == 201
        await asyncio.sleep(0.1)
        assert used(cluster)["pods"] == "1"

    in_cluster(test)


def test_changes_are_charged_too() -> None:
    async def test(cluster: Cluster) -> None:
        create_quota(cluster, {"services.nodeports": "2"})
        await asyncio.sleep(0.1)
        create(cluster, service("s", ports=3))
        change = {"spec": {"type": "NodePort"}}
        kind = "application/merge-patch+json"
        reply = cluster.world.ask("PATCH", f"{NAMESPACE}/services/s", change, content_type=kind)
        assert why(reply) == (
            'services "s" is forbidden: exceeded quota: q, requested: services.nodeports=3, '
            "used: services.nodeports=0, limited: services.nodeports=2"
        )

    in_cluster(test)


AFFINITY = {
    "podAntiAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [
            {"topologyKey": "zone", "namespaceSelector": {}, "labelSelector": {}}
        ]
    }
}


@pytest.mark.parametrize(
    ("scope", "inside", "outside"),
    [
        ({"scopes": ["BestEffort"]}, {}, {"requests": {"cpu": "1m"}}),
        ({"scopes": ["NotBestEffort"]}, {"requests": {"cpu": "1m"}}, {}),
        ({"scopes": ["Terminating"]}, {"activeDeadlineSeconds": 5}, {}),
        ({"scopes": ["NotTerminating"]}, {}, {"activeDeadlineSeconds": 5}),
        ({"scopes": ["CrossNamespacePodAffinity"]}, {"affinity": AFFINITY}, {}),
        (
            {"scopes": ["NotTerminating", "NotBestEffort"]},
            {"requests": {"cpu": "1m"}},
            {"requests": {"cpu": "1m"}, "activeDeadlineSeconds": 5},
        ),
        (("In", ["system-node-critical"]), {"priorityClassName": "system-node-critical"}, {}),
        (("NotIn", ["system-node-critical"]), {}, {"priorityClassName": "system-node-critical"}),
        (("Exists", []), {"priorityClassName": "system-cluster-critical"}, {}),
        (("DoesNotExist", []), {}, {"priorityClassName": "system-cluster-critical"}),
    ],
)
def test_scopes_say_which_pods_are_counted(scope: Any, inside: Document, outside: Document) -> None:
    async def test(cluster: Cluster) -> None:
        spec = scope
        if isinstance(scope, tuple):
            operator, values = scope
            expression = {"scopeName": "PriorityClass", "operator": operator, "values": values}
            spec = {"scopeSelector": {"matchExpressions": [expression]}}
        create_quota(cluster, {"pods": "1"}, **spec)
        await asyncio.sleep(0.1)
        assert why(create(cluster, pod("out", **outside))) == ""
        assert why(create(cluster, pod("in", **inside))) == ""
        assert used(cluster) == {"pods": "1"}
        assert why(create(cluster, pod("more-out", **outside))) == ""
        assert "exceeded quota: q, requested: pods=1, used: pods=1" in why(
            create(cluster, pod("late", **inside))
        )
        await asyncio.sleep(0.1)
        assert used(cluster) == {"pods": "1"}

    in_cluster(test)


@st.composite
def steps(draw: st.DrawFn) -> list[tuple[str, int, Document]]:
    sizes = st.sampled_from(["100m", "1", "64Mi", "1Gi", "500M"])
    found = []
    for _ in range(draw(st.integers(1, 12))):
        what = draw(st.sampled_from(["pod", "pod", "claim", "delete", "end", "quota"]))
        found.append((what, draw(st.integers(0, 4)), {"cpu": "100m", "memory": draw(sizes)}))
    return found


@settings(max_examples=25, deadline=None)
@given(steps())
def test_what_is_counted_with_every_change_is_what_a_count_of_everything_says(
    script: list[tuple[str, int, Document]],
) -> None:
    async def test(cluster: Cluster) -> None:
        hard = {"pods": "50", "requests.memory": "100Gi", "requests.storage": "90Gi", "count/pods": "70"}
        create_quota(cluster, hard)
        for what, number, sizes in script:
            if what == "pod":
                create(cluster, pod(f"p{number}", sizes))
            elif what == "claim":
                cluster.world.ask("POST", CLAIM_PATH, _claim(f"c{number}", sizes["memory"]))
            elif what == "delete":
                cluster.world.ask("DELETE", f"{PODS}/p{number}")
                cluster.world.ask("DELETE", f"{CLAIM_PATH}/c{number}")
            elif what == "end":
                change = {"status": {"phase": "Failed"}}
                kind = "application/merge-patch+json"
                cluster.world.ask("PATCH", f"{PODS}/p{number}/status", change, content_type=kind)
            else:
                await asyncio.sleep(number)
        await asyncio.sleep(5)
        kept = used(cluster)
        create_quota(cluster, hard, "fresh")
        await asyncio.sleep(0.1)
        counted = used(cluster, "fresh")
        assert {name: _nanos(each) for name, each in kept.items()} == {
            name: _nanos(each) for name, each in counted.items()
        }

    in_cluster(test)


def _claim(name: str, size: str) -> Document:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name}, "spec": spec}


def _nanos(text: str) -> int:
    return quantities.parse(text)
