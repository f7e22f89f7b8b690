"""Deployments: a replica set for every template, worked on whenever one of its objects changes."""

from __future__ import annotations

from moorage.cluster.base.parts import selector_of
from moorage.cluster.base.store import Change
from moorage.cluster.base.times import Clock
from moorage.cluster.life.controllers.controller import Controller
from moorage.cluster.life.controllers.owners import controller_of
from moorage.cluster.life.controllers.queue import Key
from moorage.cluster.life.controllers.replica_pods import REPLICA_SETS
from moorage.cluster.life.controllers.rollouts import DEPLOYMENTS, Rollouts, selects
from moorage.cluster.life.controllers.writer import Writer


class Deployments(Controller):
    def __init__(self, writer: Writer, clock: Clock) -> None:
        super().__init__("deployment", writer)
        self._rollouts = Rollouts(writer, clock)

    def _begin(self) -> None:
        self._listen(DEPLOYMENTS, lambda change: self._queue.add(change.new.key))
        self._listen(REPLICA_SETS, self._set_changed)
        self._listen("pods", self._pod_changed)
        self._add_all(DEPLOYMENTS)

    def _set_changed(self, change: Change) -> None:
        for replica_set in (change.new, change.old):
            if replica_set is None:
                continue
            owner = controller_of(replica_set)
            if owner is None:
                for deployment in self._store.iterate(DEPLOYMENTS, replica_set.namespace):
                    if selects(deployment, replica_set):
                        self._queue.add(deployment.key)
            elif owner.get("kind") == "Deployment":
                self._queue.add((replica_set.namespace, owner.get("name", "")))

    def _pod_changed(self, change: Change) -> None:
        """A deployment that recreates waits for the last of its old pods to be gone."""
        if change.type != "DELETED":
            return
        owner = controller_of(change.new)
        if owner is None or owner.get("kind") != "ReplicaSet":
            return
        replica_set = self._store.get(REPLICA_SETS, change.new.namespace, owner.get("name", ""))
        if replica_set is not None:
            self._set_changed(Change("MODIFIED", REPLICA_SETS, replica_set, None))

    async def _reconcile(self, key: Key) -> float | None:
        deployment = self._store.get(DEPLOYMENTS, *key)
        if deployment is None or selector_of(deployment.spec.get("selector")).empty:
            return None
        return self._rollouts.step(deployment)
