"""Nodes that are alive: they say who they are, and say again and again that they are there."""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from functools import partial

from moorage.cluster.base.store import Change, Document, Stale, Stored
from moorage.cluster.base.times import Clock, micro_timestamp
from moorage.cluster.life.controllers.controller import Breaks, Controller, Key, same_object
from moorage.cluster.life.controllers.writer import Writer
from moorage.cluster.life.nodes import node_documents as documents
from moorage.cluster.life.nodes.addresses import NodeNumbers, address_of
from moorage.cluster.life.nodes.bound_pods import BoundPods

LEASES = "leases.coordination.k8s.io"
LEASE_NAMESPACE = "kube-node-lease"
LEASE_SECONDS = 40
RENEW_LEASE = 10.0  # seconds between two renewals of a node's lease
RENEW_STATUS = 300.0
TICK = 0.1
GONE_FOR_GOOD = 1.0  # seconds after which a node's pods follow it

log = logging.getLogger(__name__)


class Heartbeats(Controller):
    """The part of all kubelets that concerns the node itself, and what follows from a node's conditions."""

    def __init__(self, writer: Writer, bound: BoundPods, clock: Clock) -> None:
        super().__init__("node", writer)
        self._bound = bound
        self._clock = clock
        self._numbers = NodeNumbers()
        self._leases: OrderedDict[str, None] = OrderedDict()
        self._statuses: OrderedDict[str, None] = OrderedDict()
        self._gone: dict[str, float] = {}

    def _begin(self) -> None:
        self._listen("nodes", self._changed)
        for node in self._store.objects("nodes"):
            self._numbers.note(node)
            self._queue.add(node.key)
        self._run_beside(self._renew())

    def _changed(self, change: Change) -> None:
        key = change.new.key
        if change.type == "DELETED":
            self._gone[change.new.name] = asyncio.get_running_loop().time()
            self._queue.add(key)
            self._queue.add_after(key, GONE_FOR_GOOD)
            return
        self._numbers.note(change.new)
        old, new = change.old, change.new
        if old is None or _what_matters(old.document) != _what_matters(new.document):
            self._queue.add(key)

    async def _reconcile(self, key: Key) -> None:
        name = key[1]
        node = self._store.get("nodes", *key)
        if node is None:
            await self._forget(name)
            return
        self._gone.pop(name, None)
        number = self._number(node)
        now = self._clock()
        told = self._tell(node, partial(documents.complete_status, number=number, now=now), "status")

        def complete(document: Document) -> None:
            documents.complete_spec(document, number)
            documents.set_taints(document, now)

        if told is None or self._tell(told, complete) is None:
            return
        if self._store.get(LEASES, LEASE_NAMESPACE, name) is None:
            self._writer.create(LEASES, self._lease(told))
        self._leases.setdefault(name)
        self._statuses.setdefault(name)

    def _tell(self, node: Stored, change: Callable[[Document], None], subresource: str = "") -> Stored | None:
        document = node.document
        # Most nodes lack nothing; a copy of the parts that could change shows it.
        probe = {**document, "spec": {**document.get("spec", {})}, "status": {**document.get("status", {})}}
        change(probe)
        if probe["spec"] == document.get("spec", {}) and probe["status"] == document.get("status", {}):
            return node
        return self._writer.change("nodes", node, change, subresource=subresource)

    def _number(self, node: Stored) -> int:
        """A number for what the node lacks; one that lacks nothing does not use one up."""
        lacks_nothing = address_of(node.document) and node.spec.get("podCIDR")
        return 0 if lacks_nothing else self._numbers.take()

    def _lease(self, node: Stored) -> Document:
        return {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {
                "name": node.name,
                "namespace": LEASE_NAMESPACE,
                "ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": node.name, "uid": node.uid}],
            },
            "spec": {
                "holderIdentity": node.name,
                "leaseDurationSeconds": LEASE_SECONDS,
                "renewTime": micro_timestamp(self._clock()),
            },
        }

    async def _forget(self, name: str) -> None:
        self._leases.pop(name, None)
        self._statuses.pop(name, None)
        lease = self._store.get(LEASES, LEASE_NAMESPACE, name)
        if lease is not None and not lease.is_deleted:
            self._writer.delete(LEASES, lease)
        # A node that comes back at once under the same name keeps its pods.
        gone = self._gone.get(name)
        if gone is None or asyncio.get_running_loop().time() - gone < 0.9 * GONE_FOR_GOOD:
            return
        del self._gone[name]
        breaks = Breaks()
        for pod in self._bound.on(name):
            if self._store.get("nodes", "", name) is not None:
                return
            current = same_object(self._store, "pods", pod.key, pod.uid)
            if current is not None:
                self._writer.delete("pods", current, grace_seconds=0)
            await breaks.take()

    async def _renew(self) -> None:
        """Spreads the renewals of all nodes evenly over time."""
        leases = statuses = 0.0
        breaks = Breaks()
        while True:
            await asyncio.sleep(TICK)
            leases += len(self._leases) * TICK / RENEW_LEASE
            statuses += len(self._statuses) * TICK / RENEW_STATUS
            now = self._clock()
            time = micro_timestamp(now)
            try:
                while leases >= 1:
                    leases -= 1
                    self._renew_lease(self._turn(self._leases), time)
                    await breaks.take()
                while statuses >= 1:
                    statuses -= 1
                    self._renew_status(self._turn(self._statuses), now)
                    await breaks.take()
            except Exception:
                log.warning("A node could not say that it is there", exc_info=True)

    @staticmethod
    def _turn(names: OrderedDict[str, None]) -> str:
        """The node whose turn it is, or none."""
        for name in names:
            names.move_to_end(name)
            return name
        return ""

    def _renew_lease(self, name: str, time: str) -> None:
        lease = self._store.get(LEASES, LEASE_NAMESPACE, name)
        if lease is None:
            if name:
                self._queue.add(("", name))
            return
        # Thousands of these are written every few seconds and nothing in them needs to be checked, so they
        # go to the store directly.
        document = lease.document
        spec = {**(document.get("spec") or {}), "holderIdentity": name, "renewTime": time}
        with suppress(Stale):
            self._store.update(LEASES, lease, {**document, "spec": spec}, lasting=False)

    def _renew_status(self, name: str, now: float) -> None:
        node = self._store.get("nodes", "", name)
        if node is not None:
            renew = partial(documents.renew_conditions, now=now)
            self._writer.change("nodes", node, renew, subresource="status")


def _what_matters(node: Document) -> object:
    """The parts of a node that can make work here."""
    spec, status = node.get("spec") or {}, node.get("status") or {}
    return (
        spec.get("unschedulable"),
        spec.get("taints"),
        spec.get("podCIDR"),
        status.get("addresses"),
        status.get("capacity"),
        status.get("allocatable"),
        status.get("nodeInfo"),
        [(each.get("type"), each.get("status")) for each in status.get("conditions") or ()],
    )
