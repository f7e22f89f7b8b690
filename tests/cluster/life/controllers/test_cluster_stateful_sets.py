from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moorage.cluster.base.store import Change, Document
from moorage.cluster.life.controllers.volumes.claims import CLAIMS, VOLUMES
from moorage.cluster.life.controllers.workloads.stateful_sets import STATEFUL_SETS
from moorage.cluster.life.controllers.workloads.template_history import REVISIONS
from tests.cluster.life.controllers.living_worlds import CLAIM_PATH, SETS_PATH, Cluster, in_cluster

PODS = "/api/v1/namespaces/default/pods"
LABELS = {"app": "db"}


def create_set(cluster: Cluster, replicas: int = 3, *, claims: bool = False, **spec: Any) -> None:
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    templates = [{"metadata": {"name": "data"}, "spec": claim}] if claims else []
    document = {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": "db"},
        "spec": {
            "serviceName": "dbs",
            "replicas": replicas,
            "selector": {"matchLabels": LABELS},
            "template": template("one"),
            "volumeClaimTemplates": templates,
            **spec,
        },
    }
    cluster.world.create(SETS_PATH, document)


def template(image: str) -> Document:
    spec = {"containers": [{"name": "c", "image": image}], "terminationGracePeriodSeconds": 1}
    return {"metadata": {"labels": LABELS}, "spec": spec}


def change_set(cluster: Cluster, **spec: Any) -> None:
    cluster.patch(f"{SETS_PATH}/db", {"spec": spec})


def images(cluster: Cluster) -> list[str]:
    return [each.spec["containers"][0]["image"] for each in cluster.store.objects("pods")]


def watch_pods(cluster: Cluster) -> list[str]:
    """What happens to pods from now on: made, ready, told to end, gone."""
    seen: list[str] = []

    def hear(change: Change) -> None:
        name, new, old = change.new.name, change.new, change.old
        if change.type == "ADDED":
            seen.append(f"+{name}")
        elif change.type == "DELETED":
            seen.append(f"-{name}")
        elif old is not None and new.is_deleted and not old.is_deleted:
            seen.append(f"~{name}")
        elif old is not None and new.status.get("phase") == "Running" != old.status.get("phase"):
            seen.append(f"!{name}")

    cluster.store.listen("pods", hear)
    return seen


def status(cluster: Cluster) -> Document:
    return cluster.get(STATEFUL_SETS, "db").status


def test_pods_come_one_by_one_and_go_in_reverse() -> None:
    async def test(cluster: Cluster) -> None:
        seen = watch_pods(cluster)
        create_set(cluster, 3)
        await asyncio.sleep(10)
        assert seen == ["+db-0", "!db-0", "+db-1", "!db-1", "+db-2", "!db-2"]
        pod = cluster.get("pods", "db-1")
        revision = status(cluster)["updateRevision"]
        assert {name: pod.labels[name] for name in pod.labels if "topology" not in name} == {
            **LABELS,
            "apps.kubernetes.io/pod-index": "1",
            "controller-revision-hash": revision,
            "statefulset.kubernetes.io/pod-name": "db-1",
        }
        assert (pod.spec["hostname"], pod.spec["subdomain"]) == ("db-1", "dbs")
        assert status(cluster) == {
            "observedGeneration": 1,
            "replicas": 3,
            "readyReplicas": 3,
            "currentReplicas": 3,
            "updatedReplicas": 3,
            "availableReplicas": 3,
            "currentRevision": revision,
            "updateRevision": revision,
            "collisionCount": 0,
        }
        seen.clear()
        change_set(cluster, replicas=1)
        await asyncio.sleep(10)
        assert seen == ["~db-2", "-db-2", "~db-1", "-db-1"]
        told = [text for _, text in cluster.events("db")]
        assert told[:2] == [
            "Create Pod db-0 in StatefulSet db successful",
            "Create Pod db-1 in StatefulSet db successful",
        ]
        assert told[-1] == "Delete Pod db-1 in StatefulSet db successful"

    in_cluster(test)


def test_a_pod_that_does_not_get_ready_holds_up_the_next() -> None:
    async def test(cluster: Cluster) -> None:
        cluster.node = None
        create_set(cluster, 2)
        await asyncio.sleep(5)
        assert cluster.names("pods") == ["db-0"]
        assert status(cluster)["replicas"] == 1

    in_cluster(test)


def test_pods_may_all_come_and_go_at_once() -> None:
    async def test(cluster: Cluster) -> None:
        seen = watch_pods(cluster)
        create_set(cluster, 3, podManagementPolicy="Parallel")
        await asyncio.sleep(3)
        assert seen[:3] == ["+db-0", "+db-1", "+db-2"]
        seen.clear()
        change_set(cluster, replicas=0)
        await asyncio.sleep(3)
        assert seen[:3] == ["~db-2", "~db-1", "~db-0"]
        assert cluster.names("pods") == []

    in_cluster(test)


def test_numbers_may_start_anywhere() -> None:
    async def test(cluster: Cluster) -> None:
        create_set(cluster, 2, ordinals={"start": 5})
        await asyncio.sleep(5)
        assert cluster.names("pods") == ["db-5", "db-6"]
        change_set(cluster, ordinals={"start": 6})
        await asyncio.sleep(10)
        assert cluster.names("pods") == ["db-6", "db-7"]

    in_cluster(test)


def test_a_new_template_is_rolled_out_from_the_highest_number_on() -> None:
    async def test(cluster: Cluster) -> None:
        create_set(cluster, 3)
        await asyncio.sleep(10)
        first = status(cluster)["currentRevision"]
        seen = watch_pods(cluster)
        change_set(cluster, template=template("two"))
        await asyncio.sleep(1.5)
        assert status(cluster)["currentRevision"] == first != status(cluster)["updateRevision"]
        await asyncio.sleep(20)
        assert seen == [
            *("~db-2", "-db-2", "+db-2", "!db-2"),
            *("~db-1", "-db-1", "+db-1", "!db-1"),
            *("~db-0", "-db-0", "+db-0", "!db-0"),
        ]
        assert images(cluster) == ["two"] * 3
        assert status(cluster)["currentRevision"] == status(cluster)["updateRevision"] != first

        change_set(cluster, template=template("one"))
        await asyncio.sleep(20)
        assert images(cluster) == ["one"] * 3
        assert status(cluster)["updateRevision"] == first, "an old revision comes back"
        numbers = {each.name: each.document["revision"] for each in cluster.store.objects(REVISIONS)}
        assert len(numbers) == 2
        assert numbers[first] == 3

    in_cluster(test)


def test_a_partition_keeps_lower_numbers_as_they_were() -> None:
    async def test(cluster: Cluster) -> None:
        create_set(cluster, 3, updateStrategy={"rollingUpdate": {"partition": 2}})
        await asyncio.sleep(10)
        change_set(cluster, template=template("two"))
        await asyncio.sleep(10)
        assert images(cluster) == ["one", "one", "two"]
        assert (status(cluster)["currentReplicas"], status(cluster)["updatedReplicas"]) == (2, 1)
        cluster.delete(f"{PODS}/db-0")
        await asyncio.sleep(5)
        assert images(cluster) == ["one", "one", "two"]
        change_set(cluster, updateStrategy={"rollingUpdate": {"partition": 0}})
        await asyncio.sleep(20)
        assert images(cluster) == ["two"] * 3

    in_cluster(test)


def test_pods_may_be_replaced_by_hand_only() -> None:
    async def test(cluster: Cluster) -> None:
        create_set(cluster, 2, updateStrategy={"type": "OnDelete"})
        await asyncio.sleep(10)
        change_set(cluster, template=template("two"))
        await asyncio.sleep(10)
        assert images(cluster) == ["one", "one"]
        cluster.delete(f"{PODS}/db-0")
        await asyncio.sleep(5)
        assert images(cluster) == ["two", "one"]

    in_cluster(test)


def test_only_so_many_revisions_are_remembered() -> None:
    async def test(cluster: Cluster) -> None:
        create_set(cluster, 1, revisionHistoryLimit=1)
        await asyncio.sleep(5)
        for number in range(4):
            change_set(cluster, template=template(f"image-{number}"))
            await asyncio.sleep(5)
        numbers = sorted(each.document["revision"] for each in cluster.store.objects(REVISIONS))
        assert numbers == [4, 5]

    in_cluster(test)


def test_pods_count_as_available_after_a_while() -> None:
    async def test(cluster: Cluster) -> None:
        create_set(cluster, 2, minReadySeconds=10)
        await asyncio.sleep(5)
        assert cluster.names("pods") == ["db-0"]
        assert (status(cluster)["readyReplicas"], status(cluster)["availableReplicas"]) == (1, 0)
        await asyncio.sleep(10)
        assert cluster.names("pods") == ["db-0", "db-1"]
        await asyncio.sleep(15)
        assert status(cluster)["availableReplicas"] == 2

    in_cluster(test)


def test_a_pod_that_has_ended_is_replaced() -> None:
    async def test(cluster: Cluster) -> None:
        create_set(cluster, 1)
        await asyncio.sleep(3)
        before = cluster.get("pods", "db-0")
        cluster.patch(f"{PODS}/db-0/status", {"status": {"phase": "Failed"}})
        await asyncio.sleep(3)
        after = cluster.get("pods", "db-0")
        assert after.uid != before.uid
        assert after.status["phase"] == "Running"

    in_cluster(test)


def test_pods_of_the_right_name_are_adopted_and_mended() -> None:
    async def test(cluster: Cluster) -> None:
        for name in ("db-0", "db-x"):
            pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, **template("old")}
            pod["metadata"] = {"name": name, "labels": LABELS}
            cluster.world.create(PODS, pod)
        await asyncio.sleep(2)
        create_set(cluster, 1, updateStrategy={"type": "OnDelete"})
        await asyncio.sleep(2)
        mine, other = cluster.get("pods", "db-0"), cluster.get("pods", "db-x")
        assert [owner["name"] for owner in mine.owners] == ["db"]
        assert mine.labels["statefulset.kubernetes.io/pod-name"] == "db-0"
        assert other.owners == []
        cluster.patch(f"{PODS}/db-0", {"metadata": {"labels": {"app": None}}})
        await asyncio.sleep(1)
        assert cluster.get("pods", "db-0").owners == [], "it is let go"

    in_cluster(test)


def test_every_pod_has_claims_of_its_own_and_finds_them_again() -> None:
    async def test(cluster: Cluster) -> None:
        create_set(cluster, 2, claims=True)
        await asyncio.sleep(10)
        assert cluster.names(CLAIMS) == ["data-db-0", "data-db-1"]
        claim = cluster.get(CLAIMS, "data-db-0")
        assert (claim.labels, claim.owners) == (LABELS, [])
        [volume] = (each for each in cluster.get("pods", "db-0").spec["volumes"] if each["name"] == "data")
        assert volume["persistentVolumeClaim"] == {"claimName": "data-db-0"}
        told = [text for _, text in cluster.events("db")]
        assert told[0] == "Create Claim data-db-0 Pod db-0 in StatefulSet db success"
        cluster.delete(f"{PODS}/db-0")
        change_set(cluster, replicas=1)
        await asyncio.sleep(10)
        assert cluster.names("pods") == ["db-0"]
        assert cluster.names(CLAIMS) == ["data-db-0", "data-db-1"]
        assert cluster.get(CLAIMS, "data-db-0").uid == claim.uid
        cluster.delete(f"{SETS_PATH}/db")
        await asyncio.sleep(5)
        assert cluster.names("pods") == []
        assert len(cluster.names(CLAIMS)) == len(cluster.names(VOLUMES)) == 2

    in_cluster(test)


@pytest.mark.parametrize(
    ("deleted", "scaled", "after_scaling", "after_deletion"),
    [
        ("Delete", "Retain", 2, 0),
        ("Retain", "Delete", 1, 1),
        ("Delete", "Delete", 1, 0),
    ],
)
def test_claims_go_when_they_are_told_to(
    deleted: str, scaled: str, after_scaling: int, after_deletion: int
) -> None:
    async def test(cluster: Cluster) -> None:
        policy = {"whenDeleted": deleted, "whenScaled": scaled}
        create_set(cluster, 2, claims=True, persistentVolumeClaimRetentionPolicy=policy)
        await asyncio.sleep(10)
        owners = [owner["kind"] for owner in cluster.get(CLAIMS, "data-db-0").owners]
        assert owners == (["StatefulSet"] if deleted == "Delete" else [])
        change_set(cluster, replicas=1)
        await asyncio.sleep(10)
        assert len(cluster.names(CLAIMS)) == after_scaling
        change_set(cluster, replicas=2)
        await asyncio.sleep(10)
        assert cluster.names("pods") == ["db-0", "db-1"]
        change_set(cluster, replicas=1)
        await asyncio.sleep(10)
        cluster.delete(f"{SETS_PATH}/db")
        await asyncio.sleep(10)
        assert len(cluster.names(CLAIMS)) == len(cluster.names(VOLUMES)) == after_deletion

    in_cluster(test)


def test_a_pod_waits_for_a_claim_that_is_on_its_way_out() -> None:
    async def test(cluster: Cluster) -> None:
        create_set(cluster, 1, claims=True)
        await asyncio.sleep(5)
        before = cluster.get(CLAIMS, "data-db-0")
        cluster.delete(f"{CLAIM_PATH}/data-db-0")
        await asyncio.sleep(5)
        assert cluster.get(CLAIMS, "data-db-0").is_deleted
        cluster.delete(f"{PODS}/db-0")
        await asyncio.sleep(5)
        after = cluster.get(CLAIMS, "data-db-0")
        assert after.uid != before.uid
        assert cluster.phase("pods", "db-0") == "Running"

    in_cluster(test)


def test_a_refused_pod_is_told_of_and_tried_again() -> None:
    async def test(cluster: Cluster) -> None:
        quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q"}}
        path = "/api/v1/namespaces/default/resourcequotas"
        cluster.world.create(path, {**quota, "spec": {"hard": {"pods": "1"}}})
        await asyncio.sleep(0.1)
        create_set(cluster, 2)
        await asyncio.sleep(5)
        assert cluster.names("pods") == ["db-0"]
        assert cluster.events("db")[-1] == (
            "FailedCreate",
            'Create Pod db-1 in StatefulSet db failed error: pods "db-1" is forbidden: exceeded quota: q, '
            "requested: pods=1, used: pods=1, limited: pods=1",
        )
        cluster.patch(f"{path}/q", {"spec": {"hard": {"pods": "2"}}})
        await asyncio.sleep(60)
        assert cluster.names("pods") == ["db-0", "db-1"]

    in_cluster(test)


@st.composite
def turmoil(draw: st.DrawFn) -> list[tuple[str, int]]:
    deeds = ["scale", "template", "delete pod", "end pod", "delete claim", "wait", "wait"]
    return draw(st.lists(st.tuples(st.sampled_from(deeds), st.integers(0, 4)), min_size=2, max_size=12))


@settings(max_examples=20, deadline=None)
@given(turmoil(), st.sampled_from(["OrderedReady", "Parallel"]), st.sampled_from(["Retain", "Delete"]))
def test_in_the_end_all_is_as_the_set_says(
    script: list[tuple[str, int]], management: str, scaled: str
) -> None:
    async def test(cluster: Cluster) -> None:
        policy = {"whenScaled": scaled}
        create_set(
            cluster,
            2,
            claims=True,
            podManagementPolicy=management,
            persistentVolumeClaimRetentionPolicy=policy,
        )
        replicas, image = 2, "one"
        for deed, number in script:
            if deed == "scale":
                replicas = number
                change_set(cluster, replicas=number)
            elif deed == "template":
                image = f"image-{number}"
                change_set(cluster, template=template(image))
            elif deed == "delete pod":
                cluster.world.ask("DELETE", f"{PODS}/db-{number}")
            elif deed == "end pod":
                change = {"status": {"phase": "Failed"}}
                kind = "application/merge-patch+json"
                cluster.world.ask("PATCH", f"{PODS}/db-{number}/status", change, content_type=kind)
            elif deed == "delete claim":
                cluster.world.ask("DELETE", f"{CLAIM_PATH}/data-db-{number}")
            else:
                await asyncio.sleep(number)
        await asyncio.sleep(120)
        assert cluster.names("pods") == [f"db-{number}" for number in range(replicas)]
        assert images(cluster) == [image] * replicas
        counts = ("replicas", "readyReplicas", "availableReplicas", "updatedReplicas", "currentReplicas")
        assert {status(cluster).get(name, 0) for name in counts} == {replicas}
        assert {f"data-db-{number}" for number in range(replicas)} <= set(cluster.names(CLAIMS))
        if scaled == "Delete":
            assert len(cluster.names(CLAIMS)) == replicas

    in_cluster(test)
