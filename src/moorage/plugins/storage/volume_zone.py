"""VolumeZone: keeps pods in the zone of their volumes."""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import NamedTuple

import numpy as np

from moorage.api.in_tree_volumes import BETA_REGION, BETA_ZONE, REGION, ZONE, ZONE_DELIMITER
from moorage.api.pods import Pod
from moorage.api.storage import PersistentVolume, PersistentVolumeClaim, StorageClass
from moorage.framework.cycle_state import CycleState
from moorage.framework.events import (
    NODE,
    PERSISTENT_VOLUME,
    PERSISTENT_VOLUME_CLAIM,
    STORAGE_CLASS,
    Action,
    ClusterEvent,
    Hint,
)
from moorage.framework.extension_points import FilterPlugin, PreFilterPlugin
from moorage.framework.handle import Handle
from moorage.framework.status import Status
from moorage.framework.verdicts import Verdicts
from moorage.plugins.fresh import Fresh
from moorage.plugins.storage.claims import (
    claim_not_found,
    class_not_found,
    class_of_claim,
    uses_claim,
    volume_not_found,
)
from moorage.state.columns import Bools
from moorage.state.nodes import Nodes

_STATE = "PreFilterVolumeZone"
_KEYS = (BETA_ZONE, BETA_REGION, ZONE, REGION)
_NEWER_KEY = {BETA_ZONE: ZONE, BETA_REGION: REGION}
_WAIT = "WaitForFirstConsumer"
_ELSEWHERE = Status.unresolvable("node(s) had no available volume zone")
_KNOWN_ZONES = 256


class Topology(NamedTuple):
    """The values of a label of which a node must have one, for a volume to be within its reach."""

    key: str
    values: frozenset[str]


Topologies = tuple[Topology, ...]


class VolumeZone(PreFilterPlugin, FilterPlugin):
    """Keeps pods in the zone and the region that stand in the labels of their volumes."""

    treats_like_pods_alike = True
    reads_usage_only = True

    def __init__(self, args: None, handle: Handle) -> None:
        super().__init__(args, handle)
        self._table = handle.state.table
        self._claims = handle.lister_of(PersistentVolumeClaim)
        self._volumes = handle.lister_of(PersistentVolume)
        self._classes = handle.lister_of(StorageClass)
        self._masks = Fresh(_KNOWN_ZONES, self._out_of_reach)

    def pre_filters_alike(self, pod: Pod) -> bool:
        return not pod.claims_volumes

    def pre_filter(self, cycle: CycleState, pod: Pod) -> Status | None:
        found = self._topologies(pod)
        if isinstance(found, Status):
            return found
        if not found:
            return Status.skip()
        cycle.write(_STATE, found)
        return None

    def filter_nodes(self, cycle: CycleState, pod: Pod, nodes: Nodes) -> Verdicts:
        found: Topologies | Status = cycle.get(_STATE) or self._topologies(pod)
        if isinstance(found, Status):
            return Verdicts(np.ones(len(nodes), dtype=np.int8), (None, found))
        if not found:
            return Verdicts.passed()
        return Verdicts.where(self._masks.get(found, self._table.static_version)[nodes.rows], _ELSEWHERE)

    def events(self) -> list[ClusterEvent]:
        return [
            ClusterEvent(STORAGE_CLASS, Action.ADD, _class_added),
            ClusterEvent(NODE, Action.ADD | Action.UPDATE_NODE_LABEL),
            ClusterEvent(PERSISTENT_VOLUME_CLAIM, Action.ADD | Action.UPDATE, _claim_changed),
            ClusterEvent(PERSISTENT_VOLUME, Action.ADD | Action.UPDATE, _volume_changed),
        ]

    def _topologies(self, pod: Pod) -> Topologies | Status:
        """What the volumes of a pod ask of its node, or why that cannot be said."""
        found: list[Topology] = []
        for volume in pod.spec.volumes:
            if volume.persistent_volume_claim is None:
                continue
            bound = self._volume(pod, volume.persistent_volume_claim.claim_name)
            if isinstance(bound, Status):
                return bound
            if bound is not None:
                found += topologies_of(bound)
        return tuple(found)

    def _volume(self, pod: Pod, claim_name: str) -> PersistentVolume | Status | None:
        """The volume of a claim; None if it will be found or made for the node."""
        if not claim_name:
            return Status.unresolvable("PersistentVolumeClaim had no name")
        claim = self._claims.get(claim_name, namespace=pod.namespace)
        if claim is None:
            return Status.unresolvable(claim_not_found(claim_name))
        name = claim.spec.volume_name
        if name:
            return self._volumes.get(name) or Status.unresolvable(volume_not_found(name))
        class_name = class_of_claim(claim)
        if not class_name:
            return Status.unresolvable("PersistentVolumeClaim had no pv name and storageClass name")
        storage_class = self._classes.get(class_name)
        if storage_class is None:
            return Status.unresolvable(class_not_found(class_name))
        if storage_class.volume_binding_mode is None:
            return Status.unresolvable(f'VolumeBindingMode not set for StorageClass "{class_name}"')
        if storage_class.volume_binding_mode == _WAIT:
            return None
        return Status.unresolvable("PersistentVolume had no name")

    def _out_of_reach(self, topologies: Topologies) -> Bools:
        """The nodes that some topology leaves out; a node without any of the labels is never left out."""
        size = len(self._table)
        labels = {key: self._table.label(key) for key in _KEYS}
        codes = {key: label.column.data[:size] for key, label in labels.items()}
        missed = np.zeros(size, dtype=np.bool_)
        for key, values in topologies:
            fits = np.isin(codes[key], [labels[key].codes.get(value) or -1 for value in values])
            newer = _NEWER_KEY.get(key)
            if newer is not None:
                wanted = [labels[newer].codes.get(value) or -1 for value in values]
                fits |= (codes[key] == 0) & np.isin(codes[newer], wanted)
            missed |= ~fits
        missed &= reduce(or_, (column != 0 for column in codes.values()))
        return missed


def topologies_of(volume: PersistentVolume) -> list[Topology]:
    """What the labels of a volume ask of a node; a label with an empty part asks nothing."""
    found = []
    for key in _KEYS:
        label = volume.metadata.labels.get(key)
        if label is not None:
            values = frozenset(part.strip() for part in label.split(ZONE_DELIMITER))
            if "" not in values:
                found.append(Topology(key, values))
    return found


def _class_added(pod: Pod, old: None, new: StorageClass) -> Hint:
    return Hint.QUEUE if new.volume_binding_mode == _WAIT else Hint.SKIP


def _claim_changed(pod: Pod, old: PersistentVolumeClaim | None, new: PersistentVolumeClaim) -> Hint:
    return Hint.QUEUE if uses_claim(pod, new, ephemeral=False) else Hint.SKIP


def _volume_changed(pod: Pod, old: PersistentVolume | None, new: PersistentVolume) -> Hint:
    changed = old is None or topologies_of(old) != topologies_of(new)
    return Hint.QUEUE if changed else Hint.SKIP
