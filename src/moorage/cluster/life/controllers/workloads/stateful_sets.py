"""StatefulSets: pods with numbers and claims of their own, made, replaced and removed in order."""

from __future__ import annotations

from moorage.cluster.base.errors import Refusal
from moorage.cluster.base.parts import part, selector_of
from moorage.cluster.base.store import Change, Document, Stored
from moorage.cluster.base.times import Clock
from moorage.cluster.life.controllers import objects
from moorage.cluster.life.controllers.controller import Breaks, Controller
from moorage.cluster.life.controllers.volumes.claims import CLAIMS
from moorage.cluster.life.controllers.workloads import stateful_pods as pods
from moorage.cluster.life.controllers.workloads.replica_pods import ReplicaPods
from moorage.cluster.life.controllers.workloads.stateful_claims import StatefulClaims
from moorage.cluster.life.controllers.workloads.template_history import History, TemplateHistory, template_of
from moorage.cluster.objects.writes import InternalWriter

STATEFUL_SETS = "statefulsets.apps"
HASH_LABEL = "controller.kubernetes.io/hash"  # of a revision; pods are labelled with its name
_KIND = "StatefulSet"


class StatefulSets(Controller):
    name = "statefulset"

    def __init__(self, writer: InternalWriter, clock: Clock) -> None:
        super().__init__(writer, clock)
        self._pods = ReplicaPods(self._store, self._queue.add, STATEFUL_SETS, _KIND)
        self._claims = StatefulClaims(writer, self._recorder)
        self._history = TemplateHistory(writer, _KIND, HASH_LABEL)

    def _begin(self) -> None:
        self._pods.start()
        self._listen("pods", self._pods.pod_changed)
        self._listen(STATEFUL_SETS, self._pods.set_changed)
        self._listen(CLAIMS, self._claim_changed)
        self._add_all(STATEFUL_SETS)

    def _claim_changed(self, change: Change) -> None:
        """A pod may wait for an old claim of its name to go."""
        if change.type == "DELETED":
            for each in self._store.iterate(STATEFUL_SETS, change.new.namespace):
                if f"-{each.name}-" in change.new.name and pods.claim_templates(each):
                    self._queue.add(each.key)

    async def _reconcile(self, key: objects.Key) -> float | None:
        stateful_set = self._store.get(STATEFUL_SETS, *key)
        if stateful_set is None or selector_of(stateful_set.spec.get("selector")).empty:
            return None
        refusal: Refusal | None = None
        history: History | None = None
        try:
            history = self._history.of(stateful_set)
            if not stateful_set.is_deleted:
                self._claim(stateful_set)
                await self._go_on(stateful_set, history)
        except Refusal as refused:
            if objects.is_ending(self._store, key[0]):
                return None
            refusal = refused
        again = self._tell_status(stateful_set, history) if history is not None else None
        if refusal is not None and refusal.code != 409:
            raise refusal
        return again

    def _claim(self, stateful_set: Stored) -> None:
        """Adopts fitting pods, and lets go of others."""
        selector = selector_of(stateful_set.spec.get("selector"))

        def fits(pod: Stored) -> bool:
            return selector.matches(pod.labels) and pods.number_of(stateful_set, pod) is not None

        for pod in self._pods.owned(stateful_set.uid):
            if not fits(pod):
                objects.drop_owners(self._writer, "pods", pod, {stateful_set.uid})
        reference = objects.controller_reference(stateful_set, "apps/v1", _KIND)
        for orphan in self._pods.take_adoptable(stateful_set.key):
            if fits(orphan):
                objects.adopt(self._writer, "pods", orphan, reference)

    def _members(self, stateful_set: Stored) -> dict[int, Stored]:
        """The pods by number, smallest first."""
        found = {
            number: pod
            for pod in self._pods.owned(stateful_set.uid)
            if (number := pods.number_of(stateful_set, pod)) is not None
        }
        return dict(sorted(found.items()))

    # What there is to do

    async def _go_on(self, stateful_set: Stored, history: History) -> None:
        """Makes what is missing, removes what is too much, then replaces what is out of date.

        Unless everything may happen at once, a step waits until those before it have led to pods that are
        available.
        """
        ordered = stateful_set.spec.get("podManagementPolicy") != "Parallel"
        breaks = Breaks()
        members = self._members(stateful_set)
        wanted = pods.numbers(stateful_set)
        for number in wanted:
            done = self._see_to(stateful_set, history, number, members.get(number), ordered)
            if ordered and not done:
                return
            await breaks.take()
            if not self._is_as_it_was(stateful_set):
                return
        surplus = {number: pod for number, pod in reversed(members.items()) if number not in wanted}
        for number, pod in surplus.items():
            self._claims.set_owners(stateful_set, number, pod)
        if not await self._remove(stateful_set, members, surplus, ordered, breaks):
            return
        if part(stateful_set.spec, "updateStrategy").get("type") != "OnDelete":
            self._replace_one(stateful_set, history)

    def _see_to(
        self, stateful_set: Stored, history: History, number: int, pod: Stored | None, ordered: bool
    ) -> bool:
        """Brings the pod of one number about; says whether it is as it should be."""
        if pod is None:
            if not self._claims.are_left_over(stateful_set, number):
                self._create(stateful_set, history, number)
            return False
        if objects.is_finished(pod):
            if not pod.is_deleted:
                self._delete(stateful_set, pod)
            return False
        if (pod.status.get("phase") or "Pending") == "Pending":
            self._claims.create_missing(stateful_set, number)
            self._claims.set_owners(stateful_set, number, pod)
        if ordered and (
            pod.is_deleted or not pods.is_ready(pod) or not self._is_available(stateful_set, pod)
        ):
            return False
        self._mend(stateful_set, number, pod)
        return True

    async def _remove(
        self,
        stateful_set: Stored,
        members: dict[int, Stored],
        surplus: dict[int, Stored],
        ordered: bool,
        breaks: Breaks,
    ) -> bool:
        """Deletes the pods whose number is too much, the highest first; says whether there were none."""
        lowest_first = [
            *(members[each] for each in members if each not in surplus),
            *reversed(surplus.values()),
        ]
        unhealthy = (pod for pod in lowest_first if self._is_missed(stateful_set, pod))
        first_unhealthy = next(unhealthy, None)
        for pod in surplus.values():
            if ordered and (
                pod.is_deleted or (self._is_missed(stateful_set, pod) and pod is not first_unhealthy)
            ):
                return False
            if not pod.is_deleted:
                self._delete(stateful_set, pod)
                if ordered:
                    return False
            await breaks.take()
            if not self._is_as_it_was(stateful_set):
                return False
        return True

    def _replace_one(self, stateful_set: Stored, history: History) -> None:
        """Deletes the pod with the highest number that is out of date, once those above it are available."""
        members = self._members(stateful_set)
        wanted = pods.numbers(stateful_set)
        rolling = part(stateful_set.spec, "updateStrategy", "rollingUpdate")
        for number in reversed(wanted[rolling.get("partition", 0) :]):
            pod = members.get(number)
            if pod is not None and pods.revision_of(pod) != history.newest.name and not pod.is_deleted:
                self._delete(stateful_set, pod)
                return
            if pod is None or self._is_missed(stateful_set, pod):
                return

    def _is_available(self, stateful_set: Stored, pod: Stored) -> bool:
        return pods.is_available(pod, stateful_set.spec.get("minReadySeconds", 0), self._clock())

    def _is_missed(self, stateful_set: Stored, pod: Stored) -> bool:
        return pod.is_deleted or not self._is_available(stateful_set, pod)

    def _is_as_it_was(self, stateful_set: Stored) -> bool:
        """Whether the wishes are still those that are being carried out."""
        found = objects.same_object(self._store, STATEFUL_SETS, stateful_set.key, stateful_set.uid)
        return found is not None and not found.is_deleted and found.generation == stateful_set.generation

    # Pods

    def _create(self, stateful_set: Stored, history: History, number: int) -> None:
        """The claims of a pod come first, then the pod."""
        partition = part(stateful_set.spec, "updateStrategy", "rollingUpdate").get("partition", 0)
        is_kept_back = number < pods.first_number(stateful_set) + partition
        revision = _current(stateful_set, history) if is_kept_back else history.newest
        name = pods.pod_name(stateful_set, number)
        try:
            self._claims.create_missing(stateful_set, number)
            made = pods.new_pod(stateful_set, template_of(revision), revision.name, number)
            pod = self._writer.create("pods", made)
        except Refusal as refusal:
            self._tell_failure(stateful_set, "Create", name, refusal)
            raise
        self._claims.set_owners(stateful_set, number, pod)
        self._tell_success(stateful_set, "Create", name)

    def _mend(self, stateful_set: Stored, number: int, pod: Stored) -> None:
        """Gives a pod that was adopted, or tampered with, back what it is known by."""
        volumes = pod.spec.get("volumes") or []
        has_claims = all(each in volumes for each in pods.own_volumes(stateful_set, number, []))
        is_itself = pod.labels.get(pods.POD_NAME) == pod.name
        settled = self._claims.are_settled(stateful_set, number, pod)
        if has_claims and is_itself and settled:
            return

        def mend(document: Document) -> None:
            document["metadata"].setdefault("labels", {}).update(pods.identity(pod.name, number))
            if not has_claims:
                document["spec"]["volumes"] = pods.own_volumes(stateful_set, number, volumes)

        try:
            self._claims.create_missing(stateful_set, number)
            self._claims.set_owners(stateful_set, number, pod)
            self._writer.change("pods", pod, mend)
        except Refusal as refusal:
            self._tell_failure(stateful_set, "Update", pod.name, refusal)
            raise
        self._tell_success(stateful_set, "Update", pod.name)

    def _delete(self, stateful_set: Stored, pod: Stored) -> None:
        found = objects.same_object(self._store, "pods", pod.key, pod.uid)
        if found is not None and not found.is_deleted:
            self._writer.delete("pods", found)
            self._tell_success(stateful_set, "Delete", pod.name)

    # What it tells

    def _tell_success(self, stateful_set: Stored, verb: str, pod: str) -> None:
        text = f"{verb} Pod {pod} in StatefulSet {stateful_set.name} successful"
        self._recorder.tell(stateful_set, f"Successful{verb}", text)

    def _tell_failure(self, stateful_set: Stored, verb: str, pod: str, refusal: Refusal) -> None:
        text = f"{verb} Pod {pod} in StatefulSet {stateful_set.name} failed error: {refusal.message}"
        self._recorder.tell(stateful_set, f"Failed{verb}", text, warning=True)

    def _tell_status(self, stateful_set: Stored, history: History) -> float | None:
        """Writes the counts, and says when a pod that is ready now will count as available."""
        found = objects.same_object(self._store, STATEFUL_SETS, stateful_set.key, stateful_set.uid)
        if found is None:
            return None
        members = list(self._members(found).values())
        least, now = found.spec.get("minReadySeconds", 0), self._clock()
        ready = [pod for pod in members if pods.is_ready(pod)]
        waits = [pods.seconds_to_available(pod, least, now) or 0.0 for pod in ready]
        staying = [pods.revision_of(pod) for pod in members if not pod.is_deleted]
        current, update = _current(stateful_set, history).name, history.newest.name
        updated = staying.count(update)
        total = found.spec.get("replicas", 1)
        is_rolling = part(found.spec, "updateStrategy").get("type") != "OnDelete"
        in_use = {current, *map(pods.revision_of, members)}
        if is_rolling and updated == len(ready) == len(members) == total:
            current = update
        counts = {
            "readyReplicas": len(ready),
            "currentReplicas": staying.count(current),
            "updatedReplicas": updated,
        }
        status: Document = {
            "observedGeneration": stateful_set.generation,
            "replicas": len(members),
            "availableReplicas": sum(wait <= 0 for wait in waits),
            **{name: count for name, count in counts.items() if count},
            "currentRevision": current,
            "updateRevision": update,
            "collisionCount": history.collisions,
        }
        objects.write_status(self._writer, STATEFUL_SETS, found, status)
        if not found.is_deleted:
            unused = [each for each in history.old if each.name not in in_use]
            kept = found.spec.get("revisionHistoryLimit", 10)
            self._history.forget(unused[: max(len(unused) - kept, 0)])
        return min((wait + 0.01 for wait in waits if wait > 0), default=None)


def _current(stateful_set: Stored, history: History) -> Stored:
    """The revision that pods had before the last change, as long as not all of them are changed."""
    return history.named(stateful_set.status.get("currentRevision", "")) or history.newest
