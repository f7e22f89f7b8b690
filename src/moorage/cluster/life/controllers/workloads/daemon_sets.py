"""DaemonSets: a pod on every node that fits, replaced node by node when the template changes."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from moorage.cluster.base.errors import Refusal
from moorage.cluster.base.parts import selector_of
from moorage.cluster.base.store import Change, Stored
from moorage.cluster.base.times import Clock
from moorage.cluster.life.controllers import objects
from moorage.cluster.life.controllers.controller import Breaks, Controller
from moorage.cluster.life.controllers.workloads import daemon_pods
from moorage.cluster.life.controllers.workloads.daemon_nodes import Daemons, status_of
from moorage.cluster.life.controllers.workloads.daemon_rollout import next_step
from moorage.cluster.life.controllers.workloads.owned_pods import create_pod, pod_of
from moorage.cluster.life.controllers.workloads.replica_pods import ReplicaPods
from moorage.cluster.life.controllers.workloads.template_history import History, TemplateHistory
from moorage.cluster.objects.writes import InternalWriter

DAEMON_SETS = "daemonsets.apps"
BURST = 250  # pods that are made or deleted before the counts are looked at again


class DaemonSets(Controller):
    name = "daemonset"

    def __init__(self, writer: InternalWriter, clock: Clock) -> None:
        super().__init__(writer, clock)
        self._pods = ReplicaPods(self._store, self._queue.add, DAEMON_SETS, "DaemonSet")
        self._history = TemplateHistory(writer, "DaemonSet", daemon_pods.HASH_LABEL)
        self._daemons: dict[str, Daemons] = {}

    def _begin(self) -> None:
        self._pods.start()
        self._listen("pods", self._pods.pod_changed)
        self._listen("pods", self._pod_changed)
        self._listen("nodes", self._node_changed)
        self._listen(DAEMON_SETS, self._set_changed)
        self._add_all(DAEMON_SETS)

    # What concerns whom

    def _set_changed(self, change: Change) -> None:
        if change.type == "DELETED":
            self._daemons.pop(change.new.uid, None)
        self._pods.set_changed(change)

    def _pod_changed(self, change: Change) -> None:
        if change.old is not None and (daemons := self._daemons_of(change.old)) is not None:
            daemons.forget(change.old)
        if change.type != "DELETED" and (daemons := self._daemons_of(change.new)) is not None:
            daemons.note(change.new)

    def _daemons_of(self, pod: Stored) -> Daemons | None:
        owner = objects.controller_of(pod)
        return self._daemons.get(owner.get("uid", "")) if owner is not None else None

    def _node_changed(self, change: Change) -> None:
        old, new = change.old, change.new
        same = change.type == "MODIFIED" and old is not None and old.labels == new.labels
        if same and old is not None and old.spec.get("taints") == new.spec.get("taints"):
            return
        for daemons in self._daemons.values():
            daemons.touch(new.name)
        for daemon_set in self._store.iterate(DAEMON_SETS):
            self._queue.add(daemon_set.key)

    # What is done

    async def _reconcile(self, key: objects.Key) -> float | None:
        daemon_set = self._store.get(DAEMON_SETS, *key)
        if daemon_set is None or daemon_set.is_deleted:
            return None
        history = self._history.of(daemon_set)
        self._adopt(daemon_set)
        daemons = self._known(daemon_set)
        code = self._history.hash_of(history.newest)
        daemons.aim(daemon_set, code)
        refusal: Refusal | None = None
        try:
            await self._look(daemon_set, daemons)
            await self._do(daemon_set, daemons, code)
            await self._roll(daemon_set, daemons, code)
        except Refusal as refused:
            if objects.is_ending(self._store, key[0]):
                return None
            refusal = refused
        await self._look(daemon_set, daemons)
        current = objects.same_object(self._store, DAEMON_SETS, key, daemon_set.uid)
        if current is None or current.generation != daemon_set.generation:
            return None  # and it is in the queue again
        status = status_of(current, daemons.counts, history.collisions)
        objects.write_status(self._writer, DAEMON_SETS, current, status)
        self._forget_oldest(daemon_set, daemons, history)
        if refusal is not None:
            raise refusal
        return 0.0 if daemons.to_do else daemons.next_look(self._clock())

    def _forget_oldest(self, daemon_set: Stored, daemons: Daemons, history: History) -> None:
        """Deletes revisions beyond those to be kept, but none that pods have."""
        superfluous = len(history.old) - daemon_set.spec.get("revisionHistoryLimit", 10)
        if superfluous > 0:
            in_use = daemons.hashes(daemon_pods.HASH_LABEL)
            unused = [each for each in history.old if self._history.hash_of(each) not in in_use]
            self._history.forget(unused[:superfluous])

    def _known(self, daemon_set: Stored) -> Daemons:
        known = self._daemons.get(daemon_set.uid)
        if known is None:
            known = self._daemons[daemon_set.uid] = Daemons(self._store, daemon_set)
            for pod in self._pods.owned(daemon_set.uid):
                known.note(pod)
        return known

    def _adopt(self, daemon_set: Stored) -> None:
        selector = selector_of(daemon_set.spec.get("selector"))
        reference = objects.controller_reference(daemon_set, "apps/v1", "DaemonSet")
        for orphan in self._pods.take_adoptable(daemon_set.key):
            if selector.matches(orphan.labels):
                objects.adopt(self._writer, "pods", orphan, reference)

    async def _look(self, daemon_set: Stored, daemons: Daemons) -> None:
        """Sees what has changed, and lets go of pods that no longer belong to the set."""
        now = self._clock()
        async for node in Breaks().between(daemons.dirty(now)):
            for stranger in daemons.strangers(node):
                objects.drop_owners(self._writer, "pods", stranger, {daemon_set.uid})
            daemons.look(node, now)

    async def _do(self, daemon_set: Stored, daemons: Daemons, code: str) -> None:
        """Makes what is missing and deletes what is too much."""
        views = sorted(daemons.to_do.items())
        missing = [node for node, view in views if view.is_missing]
        for node, view in views:
            for pod in view.surplus:
                self._tell_of_finished(daemon_set, pod, node, daemons)
        await self._create(daemon_set, missing[:BURST], code)
        surplus = [pod for _, view in views for pod in view.surplus]
        await self._delete(daemon_set, surplus[:BURST])

    async def _roll(self, daemon_set: Stored, daemons: Daemons, code: str) -> None:
        strategy = daemon_set.spec.get("updateStrategy") or {}
        if strategy.get("type", "RollingUpdate") != "RollingUpdate":
            return
        await self._look(daemon_set, daemons)
        if daemons.to_do:
            return
        step = next_step(daemon_set, daemons.stands, daemons.counts["desiredNumberScheduled"])
        await self._create(daemon_set, step.fill[:BURST], code)
        await self._delete(
            daemon_set, [pod for node in step.clear for pod in daemons.outdated_on(node)][:BURST]
        )

    def _tell_of_finished(self, daemon_set: Stored, pod: Stored, node: str, daemons: Daemons) -> None:
        phase = pod.status.get("phase", "")
        if phase == "Failed":
            daemons.replaced_failed(node, self._clock())
        if phase in objects.FINISHED:
            failed = phase == "Failed"
            todo = "kill" if failed else "delete"
            where = f"{pod.namespace}/{pod.name} on node {node}"
            text = f"Found {phase.lower()} daemon pod {where}, will try to {todo} it"
            self._recorder.tell(daemon_set, f"{phase}DaemonPod", text, warning=failed)

    async def _create(self, daemon_set: Stored, nodes: Iterable[str], code: str) -> None:
        nodes = list(nodes)
        if not nodes:
            return
        reference = objects.controller_reference(daemon_set, "apps/v1", "DaemonSet")
        template = daemon_pods.pod_template(daemon_set, code)
        encoded = msgspec.json.encode(pod_of(daemon_set, reference, template))
        breaks = Breaks()
        for node in nodes:
            document = msgspec.json.decode(encoded)
            daemon_pods.bind_to(document, node)
            create_pod(self._writer, self._recorder, daemon_set, document)
            await breaks.take()
            if not self._is_as_it_was(daemon_set):
                return

    async def _delete(self, daemon_set: Stored, pods: Iterable[Stored]) -> None:
        breaks = Breaks()
        for pod in pods:
            found = objects.same_object(self._store, "pods", pod.key, pod.uid)
            if found is not None and not found.is_deleted:
                self._writer.delete("pods", found)
                self._recorder.tell(daemon_set, "SuccessfulDelete", f"Deleted pod: {pod.name}")
            await breaks.take()
            if not self._is_as_it_was(daemon_set):
                return

    def _is_as_it_was(self, daemon_set: Stored) -> bool:
        """Whether the wishes are still those that are being carried out."""
        found = objects.same_object(self._store, DAEMON_SETS, daemon_set.key, daemon_set.uid)
        return found is not None and not found.is_deleted and found.generation == daemon_set.generation
