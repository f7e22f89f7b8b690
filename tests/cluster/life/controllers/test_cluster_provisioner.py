from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from moorage.cluster.base.data_file import DataFile
from moorage.cluster.base.store import Document
from moorage.cluster.life.controllers.volumes.claims import CLAIMS, CLASSES, SELECTED_NODE, VOLUMES
from moorage.cluster.life.controllers.volumes.provisioner import DRIVERS, PROVISIONER
from tests import fake_time
from tests.cluster.api_worlds import World
from tests.cluster.life.controllers.living_worlds import CLAIM_PATH, Cluster, in_cluster

PODS = "/api/v1/namespaces/default/pods"


def claimed(name: str) -> Document:
    return {"name": "v", "persistentVolumeClaim": {"claimName": name}}


def ephemeral(size: str = "1Gi") -> Document:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}}
    template = {"metadata": {"labels": {"of": "pod"}}, "spec": spec}
    return {"name": "scratch", "ephemeral": {"volumeClaimTemplate": template}}


def test_a_claim_of_the_default_class_gets_a_volume_of_its_pods_node() -> None:
    async def test(cluster: Cluster) -> None:
        cluster.node = "node-2"
        cluster.create_claim("data", "3Gi", storageClassName=None)
        await asyncio.sleep(1)
        assert cluster.phase(CLAIMS, "data") == "Pending"
        cluster.create_pod("p", claimed("data"))
        await asyncio.sleep(2)

        claim = cluster.get(CLAIMS, "data")
        assert claim.spec["storageClassName"] == "standard"
        assert claim.status["phase"] == "Bound"
        [name] = cluster.names(VOLUMES)
        assert name == f"pvc-{claim.uid}"
        volume = cluster.get(VOLUMES, name)
        assert volume.annotations == {"pv.kubernetes.io/provisioned-by": PROVISIONER}
        assert volume.spec["csi"] == {"driver": PROVISIONER, "volumeHandle": name}
        assert volume.spec["capacity"] == {"storage": "3Gi"}
        [term] = volume.spec["nodeAffinity"]["required"]["nodeSelectorTerms"]
        assert term == {
            "matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": ["node-2"]}]
        }
        assert [reason for reason, _ in cluster.events("data")] == [
            "WaitForFirstConsumer",
            "WaitForPodScheduled",
            "ExternalProvisioning",
            "Provisioning",
            "ProvisioningSucceeded",
        ]
        assert cluster.phase("pods", "p") == "Running"

        cluster.delete(f"{CLAIM_PATH}/data")
        await asyncio.sleep(1)
        assert cluster.names(CLAIMS) == ["data"], "a pod uses it"
        cluster.delete(f"{PODS}/p")
        await asyncio.sleep(2)
        assert cluster.names(CLAIMS) == cluster.names(VOLUMES) == []

    in_cluster(test)


def test_a_claim_that_does_not_wait_gets_a_volume_for_all_nodes() -> None:
    async def test(cluster: Cluster) -> None:
        zones = [{"matchLabelExpressions": [{"key": "zone", "values": ["a", "b"]}]}]
        cluster.create_class("now", PROVISIONER, reclaimPolicy="Retain")
        cluster.create_class("zoned", PROVISIONER, allowedTopologies=zones, mountOptions=["noatime"])
        for name in ("now", "zoned"):
            cluster.create_claim(name, storageClassName=name)
        await asyncio.sleep(0.1)
        volumes = {each.spec["storageClassName"]: each.spec for each in cluster.store.iterate(VOLUMES)}
        assert "nodeAffinity" not in volumes["now"]
        assert volumes["now"]["persistentVolumeReclaimPolicy"] == "Retain"
        assert volumes["zoned"]["nodeAffinity"]["required"]["nodeSelectorTerms"] == [
            {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a", "b"]}]}
        ]
        assert volumes["zoned"]["mountOptions"] == ["noatime"]
        cluster.delete(f"{CLAIM_PATH}/now")
        cluster.delete(f"{CLAIM_PATH}/zoned")
        await asyncio.sleep(0.1)
        [left] = cluster.store.objects(VOLUMES)
        assert (left.spec["storageClassName"], left.status["phase"]) == ("now", "Released")

    in_cluster(test)


def test_a_volume_for_pods_of_many_nodes_is_bound_to_none() -> None:
    async def test(cluster: Cluster) -> None:
        cluster.create_claim("data", storageClassName=None, accessModes=["ReadWriteMany"])
        cluster.create_pod("p", claimed("data"))
        await asyncio.sleep(2)
        [volume] = cluster.store.objects(VOLUMES)
        assert "nodeAffinity" not in volume.spec
        assert volume.status["phase"] == "Bound"

    in_cluster(test)


def test_another_node_can_be_chosen_when_the_first_is_gone() -> None:
    async def test(cluster: Cluster) -> None:
        cluster.node = None
        cluster.create_claim("data", storageClassName=None)
        cluster.annotate(cluster.get(CLAIMS, "data"), SELECTED_NODE, "gone")
        await asyncio.sleep(0.1)
        assert SELECTED_NODE not in cluster.get(CLAIMS, "data").annotations
        failure = ("ProvisioningFailed", 'failed to get target node: nodes "gone" not found')
        assert failure in cluster.events("data")
        assert cluster.names(VOLUMES) == []
        cluster.annotate(cluster.get(CLAIMS, "data"), SELECTED_NODE, "node-1")
        await asyncio.sleep(0.1)
        assert cluster.phase(CLAIMS, "data") == "Bound"

    in_cluster(test)


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ({"selector": {"matchLabels": {"a": "b"}}}, "leave spec.selector out"),
        ({"volumeMode": "Block"}, "use volumeMode Filesystem"),
        ({"dataSource": {"kind": "PersistentVolumeClaim", "name": "x"}}, "leave spec.dataSource and"),
    ],
)
def test_volumes_that_cannot_be_made(spec: Document, why: str) -> None:
    async def test(cluster: Cluster) -> None:
        cluster.create_class("now", PROVISIONER)
        cluster.create_claim("data", storageClassName="now", **spec)
        await asyncio.sleep(5)
        reason, text = cluster.events("data")[-1]
        assert reason == "ProvisioningFailed"
        assert text.startswith('failed to provision volume with StorageClass "now": ')
        assert why in text
        assert cluster.phase(CLAIMS, "data") == "Pending"

    in_cluster(test)


def test_classes_of_others_are_left_to_them() -> None:
    async def test(cluster: Cluster) -> None:
        cluster.create_class("in-tree", "kubernetes.io/glusterfs")
        cluster.create_class("theirs", "disks.example.com")
        for name in ("in-tree", "theirs"):
            cluster.create_claim(name, storageClassName=name)
        await asyncio.sleep(1)
        text = "no volume plugin matched name: kubernetes.io/glusterfs"
        assert cluster.events("in-tree") == [("ProvisioningFailed", text)]
        text = (
            "Waiting for a volume to be created either by the external provisioner 'disks.example.com' or "
            "manually by the system administrator. If volume creation is delayed, please verify that the "
            "provisioner is running and correctly registered."
        )
        assert cluster.events("theirs") == [("ExternalProvisioning", text)]
        assert cluster.names(VOLUMES) == []
        # Their provisioner makes a volume, and deletes it.
        claim = cluster.get(CLAIMS, "theirs")
        reference = {"namespace": "default", "name": "theirs", "uid": claim.uid}
        cluster.create_volume(
            "made",
            storageClassName="theirs",
            claimRef=reference,
            persistentVolumeReclaimPolicy="Delete",
            annotations={"pv.kubernetes.io/provisioned-by": "disks.example.com"},
        )
        await asyncio.sleep(0.1)
        assert cluster.phase(CLAIMS, "theirs") == "Bound"
        cluster.delete(f"{CLAIM_PATH}/theirs")
        await asyncio.sleep(0.1)
        assert cluster.phase(VOLUMES, "made") == "Released"

    in_cluster(test)


def test_volumes_that_a_pod_brings_along_go_with_it() -> None:
    async def test(cluster: Cluster) -> None:
        cluster.create_pod("p", ephemeral())
        await asyncio.sleep(2)
        claim = cluster.get(CLAIMS, "p-scratch")
        assert claim.labels == {"of": "pod"}
        [owner] = claim.owners
        assert (owner["kind"], owner["name"], owner["controller"]) == ("Pod", "p", True)
        assert cluster.phase("pods", "p") == "Running"
        cluster.delete(f"{PODS}/p")
        await asyncio.sleep(2)
        assert cluster.names(CLAIMS) == cluster.names(VOLUMES) == []

    in_cluster(test)


def test_a_pod_does_not_take_somebody_elses_claim_for_its_own() -> None:
    async def test(cluster: Cluster) -> None:
        cluster.node = None
        cluster.create_claim("p-scratch")
        cluster.create_pod("p", ephemeral())
        await asyncio.sleep(1)
        text = (
            "ephemeral volume scratch: PVC default/p-scratch was not created for pod default/p "
            "(pod is not owner)"
        )
        assert cluster.events("p") == [("FailedBinding", text)]
        cluster.delete(f"{CLAIM_PATH}/p-scratch")
        await asyncio.sleep(1)
        assert cluster.get(CLAIMS, "p-scratch").owners[0]["name"] == "p"

    in_cluster(test)


def test_the_default_class_is_made_once(tmp_path: Path) -> None:
    """Who deletes it does not find it again after a restart."""

    async def run(delete: bool) -> list[str]:
        data = DataFile(tmp_path / "data")
        world = World(data=data, folder=tmp_path)
        await world.cluster.start_unheard()
        found = [each.name for each in (*world.store.objects(CLASSES), *world.store.objects(DRIVERS))]
        if delete:
            world.done("DELETE", "/apis/storage.k8s.io/v1/storageclasses/standard")
            world.done("DELETE", f"/apis/storage.k8s.io/v1/csidrivers/{PROVISIONER}")
        await world.cluster.stop()
        data.close()
        return found

    assert fake_time.run(run(delete=False)) == ["standard", PROVISIONER]
    assert fake_time.run(run(delete=True)) == ["standard", PROVISIONER]
    assert fake_time.run(run(delete=False)) == []
