"""A cluster in memory on which placements are tried and undone: real queue, real cycle, real plugins."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from types import TracebackType
from typing import Any, NamedTuple, Self

from moorage.api.decoding import from_document
from moorage.api.devices import ResourceClaim, ResourceClaimTemplate
from moorage.api.meta import Object
from moorage.api.nodes import Node
from moorage.api.pods import Pod, Volume, on_node
from moorage.api.storage import PersistentVolume, PersistentVolumeClaim
from moorage.config import KubeSchedulerConfiguration
from moorage.framework.loading.registry import Registry
from moorage.framework.runtime.profile import Profile
from moorage.state.cluster import ClusterState
from moorage.state.node_info import NodeInfo
from moorage.what_if.capacity.device_claims import DeviceClaims, concerns, freed
from moorage.what_if.scenario import Evaluation
from moorage.what_if.simulation import Result, Simulation

_WRITTEN_BY_BINDING = (PersistentVolume, PersistentVolumeClaim, ResourceClaim)


class Given(NamedTuple):
    """A cluster as it was read, and the scheduler that would act on it."""

    objects: Sequence[Object]
    config: KubeSchedulerConfiguration
    registry: Registry

    @property
    def nodes(self) -> list[Node]:
        return [each for each in self.objects if isinstance(each, Node)]

    @property
    def pods(self) -> list[Pod]:
        return [each for each in self.objects if isinstance(each, Pod)]

    @property
    def waiting(self) -> list[Pod]:
        """The pods that have no node, and that a profile of the configuration would place."""
        names = {profile.scheduler_name for profile in self.config.profiles}
        return [
            each
            for each in self.pods
            if not each.spec.node_name
            and not each.finished
            and not each.deleting
            and not each.status.nominated_node_name
            and each.spec.scheduler_name in names
        ]


class Snapshot(NamedTuple):
    """Pods by their keys, and claims and volumes."""

    pods: dict[str, Pod]
    claims: list[Object]


class World:
    """The nodes of a cluster and the pods on them, open for the length of a `with` block.

    Pods that wait are not in it. One that others are being evicted for is taken to be on its node already.
    Nobody is preempted here, as what is asked is what fits beside the others.
    """

    def __init__(self, given: Given) -> None:
        self.given = given
        self.simulation = Simulation(given.config, given.registry)
        self._device_claims = DeviceClaims(given.objects)
        for item in given.objects:
            if isinstance(item, ResourceClaimTemplate):
                continue
            if not isinstance(item, Pod) or item.spec.node_name:
                self.simulation.add(item)
            elif item.status.nominated_node_name and not item.finished:
                self.simulation.add(on_node(item, item.status.nominated_node_name))
        self._has_claims = any(isinstance(each, _WRITTEN_BY_BINDING) for each in given.objects)

    def __enter__(self) -> Self:
        self._runner = asyncio.Runner()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.simulation.scheduler.close()
        self._runner.close()

    @property
    def state(self) -> ClusterState:
        return self.simulation.scheduler.state

    @property
    def nodes(self) -> list[NodeInfo]:
        """In the order in which the scheduler looks at them."""
        self.state.table.refresh()
        return list(self.state.table.infos)

    @property
    def profiles(self) -> Mapping[str, Profile]:
        return self.simulation.scheduler.profiles

    def profile_of(self, pod: Pod) -> Profile:
        return self.profiles[pod.spec.scheduler_name]

    def has_filter(self, pod: Pod, name: str) -> bool:
        """Whether the filter of a plugin is asked for a pod."""
        return any(plugin.name == name for plugin, _ in self.profile_of(pod).filter)

    def schedule(self, pods: Iterable[Pod]) -> Result:
        """Has pods placed as the scheduler does it, in its order; what fits nowhere stays in the queue."""
        # Where the last search ended says nothing about the cluster.
        self.simulation.scheduler.chooser.start = 0
        modest_ones = [self._with_claims(modest(pod)) for pod in pods]
        return self._runner.run(self.simulation.run(modest_ones))

    def place(self, pod: Pod, node_name: str) -> None:
        """Has a pod on a node, whatever the scheduler thinks of it."""
        self.simulation.add(on_node(pod, node_name))

    def remove(self, pod: Pod) -> None:
        """Takes a pod away, from its node or from the queue."""
        known = self.simulation.client.pods.pop(pod.key, None)
        if known is not None:
            self.simulation.scheduler.door.remove(known)

    def evict(self, pod: Pod) -> None:
        """Takes a pod away from its node; the devices that only it has used are free then."""
        self.remove(pod)
        for claim in self.device_claims_of(pod):
            self.simulation.scheduler.door.remove(claim)
            left = freed(claim, pod)
            if left is not None:
                self.simulation.add(left)

    def device_claims_of(self, pod: Pod) -> list[ResourceClaim]:
        """The claims for devices that it uses, or that were made for it."""
        claims = self.state.objects.of(ResourceClaim).list(pod.namespace)
        return [claim for claim in claims if concerns(claim, pod)]

    def pod(self, key: str) -> Pod:
        """The pod of this name, as it is."""
        return self.simulation.client.pods[key]

    def put_node(self, node: Node) -> None:
        self.simulation.add(node)

    def evaluation(self, pod: Pod) -> Evaluation:
        """One real cycle for a pod over all nodes; nothing comes of it."""
        return Evaluation.of(self.profile_of(pod), self._with_claims(modest(pod)), preempts=False)

    def fitting(self, pod: Pod) -> list[str]:
        """The nodes on which a pod fits as they are."""
        decision = self.evaluation(pod).decision
        return [] if decision is None or decision.feasible is None else sorted(decision.feasible.names)

    def _with_claims(self, pod: Pod) -> Pod:
        """The pod with the claims that controllers make for it."""
        if pod.spec.resource_claims:
            pod, claims = self._device_claims.of(pod)
            for claim in claims:
                if self.state.objects.of(ResourceClaim).get(claim.name, claim.namespace) is None:
                    self._has_claims = True
                    self.simulation.add(claim)
        self._make_volume_claims(pod)
        return pod

    def _make_volume_claims(self, pod: Pod) -> None:
        for volume in pod.spec.volumes:
            name = volume.claim_name(pod.name)
            if volume.ephemeral is None or name is None:
                continue
            if self.state.objects.of(PersistentVolumeClaim).get(name, pod.namespace) is None:
                self._has_claims = True
                self.simulation.add(from_document(PersistentVolumeClaim, _claim(pod, volume, name)))

    def snapshot(self) -> Snapshot:
        """All pods and claims as they are, for `restore`."""
        return Snapshot(dict(self.simulation.client.pods), self._claims())

    def restore(self, before: Snapshot) -> None:
        """Has all pods and claims as they were."""
        client, door = self.simulation.client, self.simulation.scheduler.door
        for key, pod in list(client.pods.items()):
            if before.pods.get(key) is not pod:
                del client.pods[key]
                door.remove(pod)
        for key, pod in before.pods.items():
            if key not in client.pods:
                self.simulation.add(pod)
        self._put_back(before.claims)

    @contextmanager
    def undone(self, *extra: Object) -> Iterator[None]:
        """Has further objects in the cluster and, at the end, all pods and claims as they were."""
        before = self.snapshot()
        for item in extra:
            self.simulation.add(item)
        try:
            yield
        finally:
            self.restore(before)
            for item in reversed(extra):
                if not isinstance(item, Pod):
                    self.simulation.scheduler.door.remove(item)

    def _claims(self) -> list[Object]:
        if not self._has_claims:
            return []
        return [each for kind in _WRITTEN_BY_BINDING for each in self.state.objects.of(kind).list()]

    def _put_back(self, before: Sequence[Object]) -> None:
        known = {id(each) for each in before}
        for item in self._claims():
            if id(item) not in known:
                self.simulation.scheduler.door.remove(item)
        now = {id(each) for each in self._claims()}
        for item in before:
            if id(item) not in now:
                self.simulation.add(item)


def _claim(pod: Pod, volume: Volume, name: str) -> dict[str, Any]:
    template = (volume.ephemeral and volume.ephemeral.volume_claim_template) or {}
    owner = {"apiVersion": "v1", "kind": "Pod", "name": pod.name, "uid": pod.uid, "controller": True}
    metadata = {**(template.get("metadata") or {}), "name": name, "namespace": pod.namespace}
    metadata |= {"uid": f"{pod.uid}/{volume.name}", "ownerReferences": [owner]}
    return {"metadata": metadata, "spec": template.get("spec") or {}, "status": {"phase": "Pending"}}


def modest(pod: Pod) -> Pod:
    """The pod as it would be if it had nobody evicted."""
    changed: Pod = copy(pod)
    changed.spec = copy(pod.spec)
    changed.spec.preemption_policy = "Never"
    return changed
