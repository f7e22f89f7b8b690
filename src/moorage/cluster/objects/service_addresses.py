"""The addresses that Services have been given, as IPAddresses, and the range they are from."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from moorage.cluster.base.errors import Refusal
from moorage.cluster.base.store import Change, Document, Stored
from moorage.cluster.base.times import timestamp
from moorage.cluster.kinds import addresses
from moorage.cluster.objects.writes import InternalWriter

_ADDRESSES = "ipaddresses.networking.k8s.io"
_RANGES = "servicecidrs.networking.k8s.io"
_DEFAULT_RANGE = "kubernetes"
_FAMILY = "ipaddress.kubernetes.io/ip-family"
_MANAGED_BY = "ipaddress.kubernetes.io/managed-by"
_MANAGER = "ipallocator.k8s.io"


class ServiceAddresses:
    """Keeps them up to date, from `start` on; what is to be written waits until `settle`."""

    def __init__(self, writer: InternalWriter, wake: Callable[[], None], clock: Callable[[], float]) -> None:
        self._writer = writer
        self._store = writer.store
        self._wake = wake
        self._clock = clock
        self._released: set[str] = set()
        self._given: dict[str, Stored] = {}

    def start(self) -> None:
        self._given = {each: service for service in self._store.iterate("services") for each in _of(service)}
        self.settle()
        self._store.listen("services", self._changed)

    def _changed(self, change: Change) -> None:
        before = _of(change.old) if change.old is not None else []
        after = _of(change.new) if change.type != "DELETED" else []
        if before != after:
            self._released.update(set(before) - set(after))
            self._given.update(dict.fromkeys(set(after) - set(before), change.new))
            self._wake()

    def settle(self) -> None:
        for address in self._released:
            stored = self._store.get(_ADDRESSES, "", address)
            if stored is not None and stored.labels.get(_MANAGED_BY) == _MANAGER:
                self._writer.delete(_ADDRESSES, stored)
        for address, service in self._given.items():
            if self._store.get(_ADDRESSES, "", address) is None:
                with suppress(Refusal):
                    self._writer.create(_ADDRESSES, _address(address, service))
        self._released, self._given = set(), {}
        self._tell_of_range()

    def _tell_of_range(self) -> None:
        found = self._store.get(_RANGES, "", _DEFAULT_RANGE)
        if found is None or found.status.get("conditions"):
            return
        ready = {
            "type": "Ready",
            "status": "True",
            "lastTransitionTime": timestamp(self._clock()),
            "reason": "",
            "message": "Kubernetes default Service CIDR is ready",
        }
        self._writer.change(
            _RANGES,
            found,
            lambda document: document.update(status={"conditions": [ready]}),
            subresource="status",
        )


def _of(service: Stored) -> list[str]:
    return [each for each in service.spec.get("clusterIPs") or () if each != "None"]


def _address(address: str, service: Stored) -> Document:
    labels = {_FAMILY: addresses.family(address), _MANAGED_BY: _MANAGER}
    parent = {"resource": "services", "namespace": service.namespace, "name": service.name}
    return {"metadata": {"name": address, "labels": labels}, "spec": {"parentRef": parent}}
