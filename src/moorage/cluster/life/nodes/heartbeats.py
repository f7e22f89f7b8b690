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
from moorage.cluster.life.controllers.controller import Breaks, Controller
from moorage.cluster.life.controllers.objects import Key, same_object
from moorage.cluster.life.nodes import node_documents as documents
from moorage.cluster.life.nodes.addresses import NodeNumbers, address_of
from moorage.cluster.life.nodes.machine import BoundPods
from moorage.cluster.objects.writes import InternalWriter

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

    name = "node"

    def __init__(self, writer: InternalWriter, clock: Clock, bound: BoundPods) -> None:
        super().__init__(writer, clock)
        self._bound = bound
        self._numbers = NodeNumbers()
        self._leases: OrderedDict[str, None] = OrderedDict()
        self._statuses: OrderedDict[str, None] = OrderedDict()
        self._gone: dict[str, float] = {}

    def _begin(self) -> None:
        self._listen("nodes", self._changed)
        for node in self._store.objects("nodes"):
            self._numbers.note(node)
            self._queue.add(node.key)
        self._run_beside(self._renew(self._leases, RENEW_LEASE, self._renew_lease))
        self._run_beside(self._renew(self._statuses, RENEW_STATUS, self._renew_status))

    def _changed(self, change: Change) -> None:
        old, new = change.old, change.new
        if change.type == "DELETED":
            self._gone[new.name] = asyncio.get_running_loop().time()
            self._queue.add(new.key)
            self._queue.add_after(new.key, GONE_FOR_GOOD)
            return
        self._numbers.note(new)
        if old is None or _what_matters(old) != _what_matters(new):
            self._queue.add(new.key)

    async def _reconcile(self, key: Key) -> None:
        name = key[1]
        node = self._store.get("nodes", *key)
        if node is None:
            await self._forget(name)
            return
        self._gone.pop(name, None)
        # One that lacks nothing does not use up a number.
        lacks_nothing = address_of(node.document) and node.spec.get("podCIDR")
        number = 0 if lacks_nothing else self._numbers.take()
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

    def _lease(self, node: Stored) -> Document:
        return {
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

    async def _renew(
        self, names: OrderedDict[str, None], every: float, renew: Callable[[str, float], None]
    ) -> None:
        """Spreads the renewals of all nodes evenly over time."""
        due, breaks = 0.0, Breaks()
        while True:
            await asyncio.sleep(TICK)
            due += len(names) * TICK / every
            now = self._clock()
            try:
                while due >= 1:
                    due -= 1
                    if name := next(iter(names), ""):
                        names.move_to_end(name)
                        renew(name, now)
                    await breaks.take()
            except Exception:
                log.warning("A node could not say that it is there", exc_info=True)

    def _renew_lease(self, name: str, now: float) -> None:
        lease = self._store.get(LEASES, LEASE_NAMESPACE, name)
        if lease is None:
            self._queue.add(("", name))
            return
        # Thousands of these are written every few seconds and nothing in them needs to be checked, so they
        # go to the store directly.
        spec = {**lease.spec, "holderIdentity": name, "renewTime": micro_timestamp(now)}
        with suppress(Stale):
            self._store.update(LEASES, lease, {**lease.document, "spec": spec}, lasting=False)

    def _renew_status(self, name: str, now: float) -> None:
        if (node := self._store.get("nodes", "", name)) is not None:
            renew = partial(documents.renew_conditions, now=now)
            self._writer.change("nodes", node, renew, subresource="status")


def _what_matters(node: Stored) -> object:
    """The parts of a node that can make work here."""
    return (
        [node.spec.get(name) for name in ("unschedulable", "taints", "podCIDR")],
        [node.status.get(name) for name in ("addresses", "capacity", "allocatable", "nodeInfo")],
        [(each.get("type"), each.get("status")) for each in node.status.get("conditions") or ()],
    )
