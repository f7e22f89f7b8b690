"""Where a volume can be made for a claim: what its class allows, and what its driver has left."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

import numpy as np

from moorage.api import int64_quantities
from moorage.api.quantities import QuantityError
from moorage.api.selectors import (
    IN,
    NodeSelector,
    NodeSelectorTerm,
    Requirement,
    SelectorError,
    parse_selector,
)
from moorage.api.storage import (
    CSIDriver,
    CSIStorageCapacity,
    PersistentVolumeClaim,
    StorageClass,
    TopologySelectorTerm,
)
from moorage.framework.handle import Handle
from moorage.framework.logger import Logger
from moorage.plugins.storage.masks import Mask, part
from moorage.plugins.storage.node_groups import NodeGroups, for_labels
from moorage.plugins.storage.reach import Reach
from moorage.state.columns import Bools, Int64s
from moorage.state.node_table import NodeTable
from moorage.state.nodes import Rows

log = Logger(__name__)

_NO_PROVISIONER = "kubernetes.io/no-provisioner"
_NOTHING = -(2**63)
"""Less than any size of a volume: there is no capacity at all."""


@lru_cache(maxsize=1024)
def _allowed(topologies: tuple[TopologySelectorTerm, ...]) -> NodeSelector:
    return NodeSelector(
        tuple(
            NodeSelectorTerm(
                tuple(Requirement(line.key, IN, line.values) for line in term.match_label_expressions)
            )
            for term in topologies
        )
    )


def volume_limit(capacity: CSIStorageCapacity) -> int | None:
    """The bytes of the largest volume that can be made, None if that is not said; raises QuantityError."""
    limit = capacity.maximum_volume_size
    if limit is None:
        limit = capacity.capacity
    return None if limit is None else int64_quantities.whole(limit)


def has_provisioner(storage_class: StorageClass) -> bool:
    return storage_class.provisioner not in ("", _NO_PROVISIONER)


class Provisioning:
    def __init__(self, handle: Handle, reach: Reach) -> None:
        self._reach = reach
        self._drivers = handle.lister_of(CSIDriver)
        self._capacities = Capacities(handle)

    def is_allowed(self, storage_class: StorageClass, rows: Rows) -> Mask:
        """On which of the rows the class lets its provisioner make volumes."""
        if not storage_class.allowed_topologies:
            return True
        return part(self._reach.of_labels(for_labels(_allowed(storage_class.allowed_topologies))), rows)

    def has_capacity(self, claim: PersistentVolumeClaim, storage_class: StorageClass, rows: Rows) -> Mask:
        """On which of them the driver has room for the claim, if it says so at all; raises QuantityError."""
        requested = claim.spec.resources.requests.get("storage")
        driver = self._drivers.get(storage_class.provisioner)
        if requested is None or driver is None or not driver.spec.storage_capacity:
            return True
        wanted = max(int64_quantities.whole(requested), _NOTHING + 1)
        enough: Bools = self._capacities.largest(storage_class.name)[rows] >= wanted
        return enough


class Capacities:
    """What CSIStorageCapacity objects say about each class, kept as they come, change and go."""

    def __init__(self, handle: Handle) -> None:
        self._table = handle.state.table
        self._by_class: dict[str, _OfClass] = {}
        lister = handle.lister_of(CSIStorageCapacity)
        lister.on_change(added=self._put, updated=self._replace, deleted=self._remove)
        for capacity in lister.list():
            self._put(capacity)

    def largest(self, storage_class: str) -> Int64s:
        """For every row the bytes of the largest volume that can be made there."""
        found = self._by_class.get(storage_class)
        if found is None:
            return np.full(len(self._table), _NOTHING, dtype=np.int64)
        return found.largest()

    def _put(self, capacity: CSIStorageCapacity) -> None:
        usable = _usable(capacity)
        if usable is not None:
            of_class = self._by_class.setdefault(capacity.storage_class_name, _OfClass(self._table))
            of_class.put(capacity.key, *usable)

    def _remove(self, capacity: CSIStorageCapacity) -> None:
        of_class = self._by_class.get(capacity.storage_class_name)
        if of_class is not None:
            of_class.discard(capacity.key)
            if not len(of_class):
                del self._by_class[capacity.storage_class_name]

    def _replace(self, old: CSIStorageCapacity, new: CSIStorageCapacity) -> None:
        if old.storage_class_name != new.storage_class_name or _usable(new) is None:
            self._remove(old)
        self._put(new)


def _usable(capacity: CSIStorageCapacity) -> tuple[NodeSelector | None, int] | None:
    """Which nodes it is about, and the limit; None if it lacks one of them or they make no sense."""
    if capacity.node_topology is None:
        return None
    try:
        limit, labels = volume_limit(capacity), parse_selector(capacity.node_topology)
    except (QuantityError, SelectorError) as error:
        log.error(error, "Storage capacity cannot be used", capacity=capacity)
        return None
    if limit is None:
        return None
    if labels.empty:
        return None, limit
    return NodeSelector((NodeSelectorTerm(labels.requirements),)), limit


class _OfClass:
    """The capacities of one class, by the key of the object that says them."""

    def __init__(self, table: NodeTable) -> None:
        self._table = table
        self._known: dict[str, tuple[NodeSelector | None, int]] = {}
        self._columns: _Columns | None = None

    def put(self, key: str, nodes: NodeSelector | None, limit: int) -> None:
        known = self._known.get(key)
        self._known[key] = nodes, limit
        if known is not None and known[0] == nodes and self._columns is not None:
            self._columns.set(key, limit)
        else:
            self._columns = None

    def discard(self, key: str) -> None:
        if self._known.pop(key, None) is not None and self._columns is not None:
            self._columns.set(key, _NOTHING)

    def __len__(self) -> int:
        return len(self._known)

    def largest(self) -> Int64s:
        if self._columns is None or len(self._columns) > 2 * len(self._known) + 64:
            self._columns = _Columns(self._table, self._known)
        return self._columns.largest()


class _Columns:
    """Capacities in columns; one that goes leaves its place behind."""

    def __init__(self, table: NodeTable, known: Mapping[str, tuple[NodeSelector | None, int]]) -> None:
        self._table = table
        self._places = {key: place for place, key in enumerate(known)}
        self._limits = np.array([limit for _, limit in known.values()], dtype=np.int64)
        self._groups = NodeGroups(table, (nodes for nodes, _ in known.values()))
        self._largest: Int64s | None = None
        self._version = -1

    def __len__(self) -> int:
        return len(self._places)

    def set(self, key: str, limit: int) -> None:
        self._limits[self._places[key]] = limit
        self._largest = None

    def largest(self) -> Int64s:
        if self._largest is None or self._version != self._table.labels_version:
            by_group = np.full(len(self._groups), _NOTHING, dtype=np.int64)
            np.maximum.at(by_group, self._groups.group_of, self._limits)
            self._largest = self._groups.greatest(by_group)
            self._version = self._table.labels_version
        return self._largest
