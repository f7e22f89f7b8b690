"""What members of a gang took is given back with their nodes: devices, volumes, and what plugins hold."""

from __future__ import annotations

from typing import Any

from moorage import CycleState, Pod, ReservePlugin, Status
from moorage.api.decoding import from_document
from moorage.api.devices import DeviceClass, ResourceClaim, ResourceSlice
from moorage.api.durations import Duration
from moorage.api.pods import ClaimVolumeSource, PodResourceClaim, Volume
from moorage.api.storage import PersistentVolume, PersistentVolumeClaim, StorageClass
from moorage.config.types import Extender
from moorage.framework.loading.registry import Entry
from moorage.plugins.catalog import in_tree_registry
from moorage.plugins.devices.devices import Devices
from moorage.testing import make_node
from tests.contrib.gang_worlds import GangWorld, members, pod_group
from tests.framework.extenders.server import ExtenderServer

DRIVER = "gpu.example.com"


def device_class() -> DeviceClass:
    selectors = [{"cel": {"expression": f'device.driver == "{DRIVER}"'}}]
    return from_document(DeviceClass, {"metadata": {"name": "gpu"}, "spec": {"selectors": selectors}})


def devices_of(node: str, number: int) -> ResourceSlice:
    spec = {
        "driver": DRIVER,
        "nodeName": node,
        "pool": {"name": node, "generation": 1, "resourceSliceCount": 1},
        "devices": [{"name": f"gpu-{place}"} for place in range(number)],
    }
    return from_document(ResourceSlice, {"metadata": {"name": f"{node}-gpus"}, "spec": spec})


def with_claim(pod: Pod) -> tuple[ResourceClaim, Pod]:
    pod.spec.resource_claims = (PodResourceClaim(name="gpu", resource_claim_name=pod.name),)
    exactly = {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1}
    names = {"name": pod.name, "namespace": pod.namespace, "uid": f"claim-{pod.name}", "resourceVersion": "1"}
    spec = {"devices": {"requests": [{"name": "gpu", "exactly": exactly}]}}
    return from_document(ResourceClaim, {"metadata": names, "spec": spec}), pod


def test_devices_are_free_again_when_the_gang_does_not_fit() -> None:
    world = GangWorld([make_node("n")])
    world.add(device_class(), devices_of("n", 3))
    gang = [item for pod in members("g", 4) for item in with_claim(pod)]
    assert world.run(pod_group("g", 4), *gang) == {}
    assert "3 of 4 members fit" in world.why("g-0")
    known = world.scheduler.services.shared[Devices]
    assert not known.in_use.exclusive
    claims = known.claims
    assert all(
        (claim := claims.get(f"g-{place}", "default")) is not None and claim.status.allocation is None
        for place in range(4)
    )
    smaller = [item for pod in members("h", 3) for item in with_claim(pod)]
    assert len(world.run(pod_group("h", 3), *smaller)) == 3
    assert len(known.in_use.exclusive) == 3


def volume(name: str, node: str) -> PersistentVolume:
    expression = {"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}
    affinity = {"required": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}}
    spec: dict[str, Any] = {
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "local",
        "nodeAffinity": affinity,
    }
    document = {"metadata": {"name": name}, "spec": spec, "status": {"phase": "Available"}}
    return from_document(PersistentVolume, document)


def with_volume(pod: Pod) -> tuple[PersistentVolumeClaim, Pod]:
    pod.spec.volumes = (Volume(name="data", persistent_volume_claim=ClaimVolumeSource(pod.name)),)
    spec = {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1Gi"}},
        "storageClassName": "local",
    }
    metadata = {"name": pod.name, "namespace": pod.namespace, "uid": f"claim-{pod.name}"}
    return from_document(PersistentVolumeClaim, {"metadata": metadata, "spec": spec}), pod


def test_volumes_are_free_again_when_the_gang_does_not_fit() -> None:
    world = GangWorld([make_node("n", labels={"kubernetes.io/hostname": "n"})])
    names = {"metadata": {"name": "local"}, "provisioner": "kubernetes.io/no-provisioner"}
    storage_class = from_document(StorageClass, {**names, "volumeBindingMode": "WaitForFirstConsumer"})
    world.add(storage_class, volume("v0", "n"), volume("v1", "n"))
    gang = [item for pod in members("g", 3) for item in with_volume(pod)]
    assert world.run(pod_group("g", 3), *gang) == {}
    assert "2 of 3 members fit" in world.why("g-0")
    single = members("single", 1)[0]
    single.metadata.labels = {}
    other = members("other", 1)[0]
    other.metadata.labels = {}
    reserved = [item for pod in (single, other) for item in with_volume(pod)]
    world.add(*reserved)
    world.scheduler.try_next()
    world.scheduler.try_next()
    assert {pod.name for pod in world.scheduler.state.pods} == {"single-0", "other-0"}


class Seats(ReservePlugin):
    """Has two seats."""

    taken: list[str] = []

    def reserve(self, cycle: CycleState, pod: Pod, node_name: str) -> Status | None:
        if len(self.taken) == 2:
            return Status.unschedulable("no seat is left")
        self.taken.append(pod.name)
        return None

    def unreserve(self, cycle: CycleState, pod: Pod, node_name: str) -> None:
        if pod.name in self.taken:
            self.taken.remove(pod.name)


def test_plugins_that_know_nothing_of_gangs_take_part() -> None:
    Seats.taken.clear()
    registry = in_tree_registry()
    registry.add(Entry("Seats", "test", lambda: Seats))
    world = GangWorld([make_node("n")], plugins=("Coscheduling", "Seats"), registry=registry)
    assert world.run(pod_group("g", 3), *members("g", 3)) == {}
    assert "no seat is left" in world.why("g-0") and Seats.taken == []
    assert len(world.run(pod_group("h", 2), *members("h", 2))) == 2
    assert sorted(Seats.taken) == ["h-0", "h-1"]


class Breaks(ReservePlugin):
    """Breaks for one member."""

    def reserve(self, cycle: CycleState, pod: Pod, node_name: str) -> Status | None:
        if pod.name.endswith("-1"):
            raise RuntimeError("a broken seat")
        return None

    def unreserve(self, cycle: CycleState, pod: Pod, node_name: str) -> None:
        pass


def test_what_breaks_for_one_member_ends_the_attempt_for_all() -> None:
    registry = in_tree_registry()
    registry.add(Entry("Breaks", "test", lambda: Breaks))
    world = GangWorld([make_node("n")], plugins=("Coscheduling", "Breaks"), registry=registry)
    assert world.run(pod_group("g", 2), *members("g", 2)) == {}
    assert world.assumed() == []
    assert "a broken seat" in world.why("g-1")
    assert world.why("g-0").startswith("failed to schedule other pod from a pod group: ")
    assert "a broken seat" in world.why("g-0")


def test_a_gang_that_extenders_are_asked_about_is_whole_or_not_at_all() -> None:
    with ExtenderServer() as server:
        server.answers["filter"] = lambda asked: {
            "NodeNames": [name for name in asked["NodeNames"] if name != "large"]
        }
        extender = Extender(
            url_prefix=server.url,
            filter_verb="filter",
            http_timeout=Duration.of_seconds(30),
            weight=1,
            node_cache_capable=True,
        )
        world = GangWorld([make_node("small", cpu="2"), make_node("large", cpu="8")], extenders=[extender])
        assert world.run(pod_group("g", 3), *members("g", 3, cpu="1")) == {}
        assert world.assumed() == [] and "2 of 3 members fit" in world.why("g-0")
        assert world.run(pod_group("h", 2), *members("h", 2, cpu="1")) == {"h-0": "small", "h-1": "small"}
