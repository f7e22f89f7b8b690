"""ReplicaSets and ReplicationControllers: as many pods of a template as are wanted, no more and no less."""

from __future__ import annotations

from collections import Counter

import msgspec

from moorage.api.selectors import Selector
from moorage.cluster.base.errors import Refusal
from moorage.cluster.base.parts import condition, other_conditions, part, selector_of
from moorage.cluster.base.store import Document, Stored
from moorage.cluster.base.times import Clock, timestamp
from moorage.cluster.life.controllers import objects
from moorage.cluster.life.controllers.controller import Breaks, Controller
from moorage.cluster.life.controllers.workloads.owned_pods import available_at, create_pod, pod_of, worth
from moorage.cluster.life.controllers.workloads.replica_pods import REPLICA_SETS, ReplicaPods, selects_labels
from moorage.cluster.life.controllers.workloads.rollout_sizes import wanted
from moorage.cluster.objects.writes import InternalWriter

BURST = 500  # pods that are made or deleted before the counts are looked at again


class ReplicaSets(Controller):
    name = "replicaset"
    resource = REPLICA_SETS
    api_version = "apps/v1"
    kind = "ReplicaSet"
    counts_terminating = True

    def __init__(self, writer: InternalWriter, clock: Clock) -> None:
        super().__init__(writer, clock)
        self._pods = ReplicaPods(self._store, self._queue.add, self.resource, self.kind, self._selects)

    def _begin(self) -> None:
        self._pods.start()
        self._listen("pods", self._pods.pod_changed)
        self._listen(self.resource, self._pods.set_changed)
        self._add_all(self.resource)

    def _selects(self, replica_set: Stored) -> Selector:
        return selects_labels(replica_set)

    def _reference(self, replica_set: Stored) -> Document:
        return objects.controller_reference(replica_set, self.api_version, self.kind)

    async def _reconcile(self, key: objects.Key) -> float | None:
        replica_set = self._store.get(self.resource, *key)
        if replica_set is None:
            return None
        pods = await self._claim(replica_set)
        active = [pod for pod in pods if objects.is_active(pod)]
        missing = wanted(replica_set) - len(active)
        refusal: Refusal | None = None
        if not replica_set.is_deleted:
            try:
                if missing > 0:
                    await self._create(replica_set, min(missing, BURST))
                elif missing < 0:
                    await self._delete(replica_set, active, min(-missing, BURST))
            except Refusal as refused:
                if objects.is_ending(self._store, key[0]):
                    return None
                refusal = refused
        again = await self._tell_status(key, replica_set.uid, refusal)
        if refusal is not None and refusal.code != 409:
            raise refusal
        return again

    async def _claim(self, replica_set: Stored) -> list[Stored]:
        """The pods of a replica set, after fitting ones were adopted and others let go."""
        selector = self._selects(replica_set)
        uid = replica_set.uid
        pods = []
        async for pod in Breaks().between(self._pods.owned(uid)):
            if selector.matches(pod.labels):
                pods.append(pod)
            elif not replica_set.is_deleted:
                objects.drop_owners(self._writer, "pods", pod, {uid})
        if not replica_set.is_deleted:
            reference = self._reference(replica_set)
            for orphan in self._pods.take_adoptable(replica_set.key):
                fits = selector.matches(orphan.labels)
                if fits and (adopted := objects.adopt(self._writer, "pods", orphan, reference)):
                    pods.append(adopted)
        return pods

    async def _create(self, replica_set: Stored, count: int) -> None:
        template = replica_set.spec.get("template") or {}
        encoded = msgspec.json.encode(pod_of(replica_set, self._reference(replica_set), template))
        breaks = Breaks()
        for _ in range(count):
            create_pod(self._writer, self._recorder, replica_set, msgspec.json.decode(encoded))
            await breaks.take()
            if not self._is_as_it_was(replica_set):
                return

    async def _delete(self, replica_set: Stored, active: list[Stored], count: int) -> None:
        breaks = Breaks()
        for pod in self._dispensable(active, count):
            found = objects.same_object(self._store, "pods", pod.key, pod.uid)
            if found is not None and not found.is_deleted:
                self._writer.delete("pods", found)
                self._recorder.tell(replica_set, "SuccessfulDelete", f"Deleted pod: {pod.name}")
            await breaks.take()
            if not self._is_as_it_was(replica_set):
                return

    def _dispensable(self, active: list[Stored], count: int) -> list[Stored]:
        """The pods whose end does the least harm."""
        if count >= len(active):
            return active
        ready = (pod for pod in active if objects.ready_condition(pod) is not None)
        neighbours = Counter(pod.spec.get("nodeName", "") for pod in ready)
        return sorted(active, key=lambda pod: worth(pod, neighbours))[:count]

    def _is_as_it_was(self, replica_set: Stored) -> bool:
        """Whether the wishes are still those that are being carried out."""
        found = objects.same_object(self._store, self.resource, replica_set.key, replica_set.uid)
        return found is not None and not found.is_deleted and wanted(found) == wanted(replica_set)

    async def _tell_status(self, key: objects.Key, uid: str, refusal: Refusal | None) -> float | None:
        """Writes the counts, and says when a pod that is ready now will count as available."""
        replica_set = objects.same_object(self._store, self.resource, key, uid)
        if replica_set is None:
            return None
        # Should it change while pods are counted, the status is not written, but it is in the queue again.
        spec = replica_set.spec
        selector = self._selects(replica_set)
        template_labels = part(spec, "template", "metadata", "labels")
        least = spec.get("minReadySeconds", 0)
        now = self._clock()
        active = terminating = labelled = 0
        waits: list[float] = []  # seconds until each of the pods that are ready is available
        async for pod in Breaks().between(self._pods.owned(uid)):
            if not selector.matches(pod.labels):
                continue
            if not objects.is_active(pod):
                terminating += not objects.is_finished(pod)
                continue
            active += 1
            labelled += template_labels.items() <= pod.labels.items()
            if (available := available_at(pod, least)) is not None:
                waits.append(available - now)
        counts = {
            "fullyLabeledReplicas": labelled,
            "readyReplicas": len(waits),
            "availableReplicas": sum(wait <= 0 for wait in waits),
            "observedGeneration": replica_set.generation,
        }
        status: Document = {"replicas": active} | {name: count for name, count in counts.items() if count}
        if self.counts_terminating:
            status["terminatingReplicas"] = terminating
        if conditions := self._conditions(replica_set, active, refusal):
            status["conditions"] = conditions
        objects.write_status(self._writer, self.resource, replica_set, status)
        return min((wait + 0.01 for wait in waits if wait > 0), default=None)

    def _conditions(self, replica_set: Stored, active: int, refusal: Refusal | None) -> list[Document]:
        status = replica_set.status
        if refusal is None:
            return other_conditions(status, "ReplicaFailure")
        if condition(status, "ReplicaFailure") is not None:
            return list(status["conditions"])
        few = active < replica_set.spec.get("replicas", 1)
        new = {
            "type": "ReplicaFailure",
            "status": "True",
            "lastTransitionTime": timestamp(self._clock()),
            "reason": "FailedCreate" if few else "FailedDelete",
            "message": refusal.message,
        }
        return [*(status.get("conditions") or ()), new]


class ReplicationControllers(ReplicaSets):
    """The older kind, which selects labels only by their values."""

    name = "replication"
    resource = "replicationcontrollers"
    api_version = "v1"
    kind = "ReplicationController"
    counts_terminating = False

    def _selects(self, replica_set: Stored) -> Selector:
        labels = replica_set.spec.get("selector")
        return selector_of({"matchLabels": labels} if labels else None)
