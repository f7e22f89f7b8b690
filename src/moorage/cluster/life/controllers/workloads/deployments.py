"""Deployments: the replica set of the newest template grows while the older ones shrink."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from moorage.cluster.base.errors import Refusal
from moorage.cluster.base.parts import condition, selector_of
from moorage.cluster.base.store import Change, Document, Stored
from moorage.cluster.life.controllers import objects
from moorage.cluster.life.controllers.controller import Controller
from moorage.cluster.life.controllers.workloads import deployment_status as statuses
from moorage.cluster.life.controllers.workloads import revisions
from moorage.cluster.life.controllers.workloads import rollout_sizes as sizes
from moorage.cluster.life.controllers.workloads.replica_pods import REPLICA_SETS
from moorage.cluster.life.controllers.workloads.rollout_sizes import counted, wanted

DEPLOYMENTS = "deployments.apps"
_CREATE_ERROR = "ReplicaSetCreateError"
_PAUSED = "DeploymentPaused"


class _Outdated(Exception):
    """Something has changed meanwhile. Where it matters, that has put the deployment into the queue again."""


class Deployments(Controller):
    """A replica set for every template, worked on whenever one of its objects changes."""

    name = "deployment"

    def _begin(self) -> None:
        self._listen(DEPLOYMENTS, self._add)
        self._listen(REPLICA_SETS, self._set_changed)
        self._listen("pods", self._pod_changed)
        self._add_all(DEPLOYMENTS)

    def _set_changed(self, change: Change) -> None:
        for replica_set in filter(None, (change.new, change.old)):
            owner = objects.controller_of(replica_set)
            if owner is None:
                for deployment in self._store.iterate(DEPLOYMENTS, replica_set.namespace):
                    if _selects(deployment, replica_set):
                        self._queue.add(deployment.key)
            elif owner.get("kind") == "Deployment":
                self._queue.add((replica_set.namespace, owner.get("name", "")))

    def _pod_changed(self, change: Change) -> None:
        """A deployment that recreates waits for the last of its old pods to be gone."""
        if change.type != "DELETED":
            return
        owner = objects.controller_of(change.new)
        if owner is None or owner.get("kind") != "ReplicaSet":
            return
        replica_set = self._store.get(REPLICA_SETS, change.new.namespace, owner.get("name", ""))
        if replica_set is not None:
            self._set_changed(Change("MODIFIED", REPLICA_SETS, replica_set, None))

    async def _reconcile(self, key: objects.Key) -> float | None:
        deployment = self._store.get(DEPLOYMENTS, *key)
        if deployment is None or selector_of(deployment.spec.get("selector")).empty:
            return None
        try:
            return self._go_on(deployment)
        except _Outdated:
            return None

    def _go_on(self, deployment: Stored) -> float | None:
        """Does what can be done now; says after how many seconds to look whether it got stuck."""
        sets = self._claim(deployment)
        if deployment.is_deleted:
            self._tell(deployment, statuses.current_status(deployment, sets, self._clock()))
            return None
        deployment = self._note_pause(deployment)
        new = revisions.find_new(deployment, sets)
        if new is not None:
            deployment, new = self._know_revision(deployment, new, _others(sets, new))
            sets = self._sets(deployment)
        if deployment.spec.get("paused") or _is_scaled(deployment, sets):
            self._scale(deployment, new, sets)
            sets = self._sets(deployment)
            if deployment.spec.get("paused"):
                self._clean_up(deployment, new, sets)
            self._tell(deployment, statuses.current_status(deployment, sets, self._clock()))
            return None
        if sizes.strategy_type(deployment) == sizes.RECREATE:
            deployment = self._recreate(deployment, new, sets)
        else:
            deployment = self._roll(deployment, new, sets)
        status = statuses.rollout_status(deployment, self._sets(deployment), self._clock())
        told = self._tell(deployment, status)
        return statuses.seconds_to_deadline(told, self._clock())

    # Replica sets

    def _claim(self, deployment: Stored) -> list[Stored]:
        """The replica sets of a deployment, after fitting ones were adopted and others let go."""
        if not deployment.is_deleted:
            reference = objects.controller_reference(deployment, "apps/v1", "Deployment")
            for each in self._store.objects(REPLICA_SETS, deployment.namespace):
                fits = _selects(deployment, each)
                if objects.is_controlled_by(each, deployment) and not fits:
                    objects.drop_owners(self._writer, REPLICA_SETS, each, {deployment.uid})
                elif fits and objects.controller_of(each) is None and not each.is_deleted:
                    objects.adopt(self._writer, REPLICA_SETS, each, reference)
        return self._sets(deployment)

    def _sets(self, deployment: Stored) -> list[Stored]:
        owned = [
            each
            for each in self._store.iterate(REPLICA_SETS, deployment.namespace)
            if objects.is_controlled_by(each, deployment) and _selects(deployment, each)
        ]
        return revisions.oldest_first(owned)

    def _know_revision(self, deployment: Stored, new: Stored, old: Iterable[Stored]) -> tuple[Stored, Stored]:
        """Makes the newest replica set the newest revision, and has the deployment say so."""
        revision = revisions.next_revision(old)
        least = deployment.spec.get("minReadySeconds", 0)

        def renew(document: Document) -> None:
            annotations = document["metadata"].setdefault("annotations", {})
            revisions.annotate_revision(annotations, deployment, revision)
            document["spec"].pop("minReadySeconds", None)
            if least:
                document["spec"]["minReadySeconds"] = least

        new = self._change(REPLICA_SETS, new, renew)
        deployment = self._note_revision(deployment, new.annotations.get(revisions.REVISION, ""))
        if condition(deployment.status, statuses.PROGRESSING) is None:
            text = f'Found new replica set "{new.name}"'
            deployment = self._note(deployment, "True", "FoundNewReplicaSet", text)
        return deployment, new

    def _create(self, deployment: Stored, old: list[Stored]) -> tuple[Stored, Stored]:
        """Makes the replica set for the deployment's template."""
        size = sizes.size_of_new(deployment, 0, sum(wanted(each) for each in old))
        revision = revisions.next_revision(old)
        document = revisions.new_replica_set(deployment, size, revision)
        name = document["metadata"]["name"]
        present = self._store.get(REPLICA_SETS, deployment.namespace, name)
        if present is not None:
            is_own = objects.is_controlled_by(present, deployment)
            if is_own and revisions.find_new(deployment, (present,)):
                return deployment, present
            count = deployment.status.get("collisionCount", 0) + 1
            self._tell(deployment, {**deployment.status, "collisionCount": count})
            raise _Outdated
        try:
            new = self._writer.create(REPLICA_SETS, document)
        except Refusal as refusal:
            if objects.is_ending(self._store, deployment.namespace):
                raise _Outdated from None
            text = f'Failed to create new replica set "{name}": {refusal.message}'
            self._recorder.tell(deployment, _CREATE_ERROR, text, warning=True)
            self._note(deployment, "False", _CREATE_ERROR, text)
            raise
        if size:
            self._tell_size(deployment, name, 0, size)
        deployment = self._note_revision(deployment, str(revision))
        text = f'Created new replica set "{name}"'
        return self._note(deployment, "True", "NewReplicaSetCreated", text), new

    def _resize(self, deployment: Stored, replica_set: Stored, size: int, *, note: bool = False) -> bool:
        """Changes the size of a replica set; with `note`, the deployment's size is put down in any case."""
        before = wanted(replica_set)
        if before == size and not note:
            return False

        def resize(document: Document) -> None:
            document["spec"]["replicas"] = size
            revisions.annotate_sizes(document["metadata"].setdefault("annotations", {}), deployment)

        self._change(REPLICA_SETS, replica_set, resize)
        if before == size:
            return False
        self._tell_size(deployment, replica_set.name, before, size)
        return True

    def _tell_size(self, deployment: Stored, name: str, before: int, size: int) -> None:
        text = f"Scaled {'up' if before < size else 'down'} replica set {name} from {before} to {size}"
        self._recorder.tell(deployment, "ScalingReplicaSet", text)

    def _clean_up(self, deployment: Stored, new: Stored | None, sets: list[Stored]) -> None:
        for each in revisions.superfluous(deployment, _others(sets, new)):
            self._writer.delete(REPLICA_SETS, each)

    # Ways to get there

    def _roll(self, deployment: Stored, new: Stored | None, sets: list[Stored]) -> Stored:
        if new is None:
            deployment, new = self._create(deployment, sets)
        old = _others(sets, new)
        size = wanted(new)
        if size > wanted(deployment):
            goal = wanted(deployment)
        else:
            goal = sizes.size_of_new(deployment, size, size + sum(wanted(each) for each in old))
        if self._resize(deployment, new, goal):
            return deployment
        goals = sizes.sizes_of_old(deployment, new, old)
        shrunk = [self._resize(deployment, each, goals[each.name]) for each in old]
        if not any(shrunk) and statuses.is_complete(deployment, deployment.status):
            self._clean_up(deployment, new, sets)
        return deployment

    def _recreate(self, deployment: Stored, new: Stored | None, sets: list[Stored]) -> Stored:
        old = _others(sets, new)
        for each in old:
            self._resize(deployment, each, 0)
        if self._has_pods(old):
            return deployment
        if new is None:
            deployment, new = self._create(deployment, old)
        self._resize(deployment, new, wanted(deployment))
        if statuses.is_complete(deployment, deployment.status):
            self._clean_up(deployment, new, sets)
        return deployment

    def _has_pods(self, old: list[Stored]) -> bool:
        if any(counted(each, "replicas") for each in old):
            return True
        uids = {each.uid for each in old}
        return bool(uids) and any(
            (objects.controller_of(pod) or {}).get("uid") in uids and not objects.is_finished(pod)
            for pod in self._store.iterate("pods", old[0].namespace)
        )

    def _scale(self, deployment: Stored, new: Stored | None, sets: list[Stored]) -> None:
        """Brings a deployment whose size has changed to that size, in the middle of a rollout too."""
        active = [each for each in sets if wanted(each)]
        if len(active) <= 1:
            latest = active or ([new] if new else sets)
            for each in latest[-1:]:
                self._resize(deployment, each, wanted(deployment))
        elif new is not None and _is_saturated(deployment, new):
            for each in _others(active, new):
                self._resize(deployment, each, 0)
        elif sizes.strategy_type(deployment) != sizes.RECREATE:
            goals = sizes.proportional_sizes(deployment, active)
            for each in active:
                self._resize(deployment, each, goals[each.name], note=True)

    # What it tells

    def _note_pause(self, deployment: Stored) -> Stored:
        reason = (condition(deployment.status, statuses.PROGRESSING) or {}).get("reason")
        paused = bool(deployment.spec.get("paused"))
        if reason == statuses.TIMED_OUT or paused == (reason == _PAUSED):
            return deployment
        if paused:
            return self._note(deployment, "Unknown", _PAUSED, "Deployment is paused")
        return self._note(deployment, "Unknown", "DeploymentResumed", "Deployment is resumed")

    def _note(self, deployment: Stored, value: str, reason: str, message: str) -> Stored:
        """Tells how the rollout gets ahead, where that is watched at all."""
        if statuses.deadline_of(deployment) is None:
            return deployment
        status = dict(deployment.status)
        statuses.set_condition(status, statuses.PROGRESSING, value, reason, message, self._clock())
        return self._tell(deployment, status)

    def _note_revision(self, deployment: Stored, revision: str) -> Stored:
        if deployment.annotations.get(revisions.REVISION, "") == revision:
            return deployment

        def annotate(document: Document) -> None:
            document["metadata"].setdefault("annotations", {})[revisions.REVISION] = revision

        return self._change(DEPLOYMENTS, deployment, annotate)

    def _tell(self, deployment: Stored, status: Document) -> Stored:
        return _up_to_date(objects.write_status(self._writer, DEPLOYMENTS, deployment, status))

    def _change(self, resource: str, stored: Stored, change: Callable[[Document], None]) -> Stored:
        return _up_to_date(self._writer.change(resource, stored, change))


def _up_to_date(written: Stored | None) -> Stored:
    if written is None:
        raise _Outdated
    return written


def _others(sets: list[Stored], new: Stored | None) -> list[Stored]:
    return [each for each in sets if new is None or each.uid != new.uid]


def _selects(deployment: Stored, replica_set: Stored) -> bool:
    selector = selector_of(deployment.spec.get("selector"))
    return not selector.empty and selector.matches(replica_set.labels)


def _is_scaled(deployment: Stored, sets: list[Stored]) -> bool:
    """Whether the wanted number is another than the one its replica sets were made for."""
    total = wanted(deployment)
    return any(
        wanted(each) and sizes.annotation_number(each, sizes.DESIRED) not in (None, total) for each in sets
    )


def _is_saturated(deployment: Stored, new: Stored) -> bool:
    total = wanted(deployment)
    return (
        wanted(new) == total
        and sizes.annotation_number(new, sizes.DESIRED) == total
        and counted(new, "availableReplicas") == total
    )
