"""NodeVolumeLimits: keeps the number of attached volumes within what a node can take."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from moorage.api.in_tree_volumes import CSIVolume, TranslationError, inline_csi_volume, successor_of
from moorage.api.pods import Pod, Volume
from moorage.api.storage import (
    CSINode,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)
from moorage.framework.cycle_state import CycleState
from moorage.framework.events import (
    CSI_NODE,
    PERSISTENT_VOLUME_CLAIM,
    POD,
    VOLUME_ATTACHMENT,
    Action,
    ClusterEvent,
    Hint,
)
from moorage.framework.extension_points import FilterPlugin, PreFilterPlugin
from moorage.framework.handle import Handle
from moorage.framework.status import Status
from moorage.framework.verdicts import Verdicts
from moorage.plugins.storage.claims import claim_not_found, claim_of, ownership_problem, uses_claim
from moorage.state.columns import Bools
from moorage.state.nodes import Nodes

_STATE = "FilterNodeVolumeLimits"
_TOO_MANY = Status.unschedulable("node(s) exceed max volume count")


class Wanted(NamedTuple):
    """The volumes a pod would add to a node, by driver; or why they cannot be said.

    `problem` is that of all nodes, `problem_of_drivers` that of nodes where CSI drivers are known.
    """

    volumes: dict[str, set[CSIVolume]]
    problem: Status | None = None
    problem_of_drivers: Status | None = None


class NodeVolumeLimits(PreFilterPlugin, FilterPlugin):
    """Keeps the number of attached volumes within what the CSI drivers of a node say it can take."""

    treats_like_pods_alike = True

    def __init__(self, args: None, handle: Handle) -> None:
        super().__init__(args, handle)
        self._claims = handle.lister_of(PersistentVolumeClaim)
        self._csi_nodes = handle.lister_of(CSINode)
        for kind in (PersistentVolume, StorageClass, VolumeAttachment):
            handle.lister_of(kind)
        self._known = handle.state.volumes

    def pre_filters_alike(self, pod: Pod) -> bool:
        return not pod.claims_volumes

    def pre_filter(self, cycle: CycleState, pod: Pod) -> Status | None:
        return None if any(map(_may_count, pod.spec.volumes)) else Status.skip()

    def filter_nodes(self, cycle: CycleState, pod: Pod, nodes: Nodes) -> Verdicts:
        wanted: Wanted | None = cycle.get(_STATE)
        if wanted is None:
            wanted = self._wanted(pod)
            cycle.write(_STATE, wanted)
        if wanted.problem is not None or wanted.problem_of_drivers is not None:
            return self._refused(wanted, nodes)
        rejected: Bools | None = None
        for driver, volumes in wanted.volumes.items():
            exceeds = self._exceeds(driver, volumes, nodes)
            if exceeds is not None:
                rejected = exceeds if rejected is None else rejected | exceeds
        return Verdicts.passed() if rejected is None else Verdicts.where(rejected, _TOO_MANY)

    def _exceeds(self, driver: str, volumes: set[CSIVolume], nodes: Nodes) -> Bools | None:
        """The nodes to which these volumes would be too much; None if there are none."""
        columns = self._known.limits.of_driver(driver)
        if columns is None:
            return None
        free = nodes.take(columns.limit) - nodes.take(columns.attached)
        exceeds: Bools = free < len(volumes)
        if not exceeds.any():
            return None
        shared = [names for volume in volumes if (names := self._known.limits.nodes_using(volume))]
        if shared:
            # What the pods of a node use already is there, whatever the limit.
            new = np.full(len(nodes), len(volumes))
            for names in shared:
                new -= nodes.among(names)
            exceeds = (free < new) & (new > 0)
        return exceeds

    def _wanted(self, pod: Pod) -> Wanted:
        found: dict[str, set[CSIVolume]] = {}
        problem_of_drivers: Status | None = None
        for volume in pod.spec.volumes:
            claimed = claim_of(pod, volume)
            counted: CSIVolume | None = None
            if claimed is None:
                try:
                    counted = inline_csi_volume(volume)
                except TranslationError as error:
                    text = f"converting volume({volume.name}) from inline to csi: {error}"
                    problem_of_drivers = problem_of_drivers or Status.error(text)
            else:
                claim = self._claim(pod, *claimed)
                if isinstance(claim, Status):
                    return Wanted(found, claim, problem_of_drivers)
                counted = self._known.claimed.meaning_of(claim).volume
            if counted is not None:
                found.setdefault(counted.driver, set()).add(counted)
        return Wanted(found, None, problem_of_drivers)

    def _claim(self, pod: Pod, name: str, ephemeral: bool) -> PersistentVolumeClaim | Status:
        if not name:
            return Status.error("PersistentVolumeClaim had no name")
        claim = self._claims.get(name, namespace=pod.namespace)
        if claim is None:
            return Status.unresolvable(f"looking up PVC {pod.namespace}/{name}: {claim_not_found(name)}")
        problem = ownership_problem(pod, claim) if ephemeral else None
        return claim if problem is None else Status.error(problem)

    def _refused(self, wanted: Wanted, nodes: Nodes) -> Verdicts:
        """Only nodes with a CSINode have drivers that volumes could be translated for."""
        if wanted.problem_of_drivers is None:
            return Verdicts(np.ones(len(nodes), dtype=np.int8), (None, wanted.problem))
        has_drivers = [self._csi_nodes.get(name) is not None for name in nodes.names]
        return Verdicts.each(
            [wanted.problem_of_drivers if has else wanted.problem for has in has_drivers],
        )

    def events(self) -> list[ClusterEvent]:
        return [
            ClusterEvent(CSI_NODE, Action.ADD),
            ClusterEvent(CSI_NODE, Action.UPDATE, _csi_node_updated),
            ClusterEvent(POD, Action.DELETE, _pod_deleted),
            ClusterEvent(PERSISTENT_VOLUME_CLAIM, Action.ADD, _claim_added),
            ClusterEvent(VOLUME_ATTACHMENT, Action.DELETE, _attachment_deleted),
        ]


def _may_count(volume: Volume) -> bool:
    return (
        volume.persistent_volume_claim is not None
        or volume.ephemeral is not None
        or successor_of(volume) is not None
    )


def _csi_node_updated(pod: Pod, old: CSINode, new: CSINode) -> Hint:
    before = _counts(old)
    grew = any(count > before.get(driver, 0) for driver, count in _counts(new).items())
    return Hint.QUEUE if grew else Hint.SKIP


def _counts(csi_node: CSINode) -> dict[str, int]:
    """The limit of each driver; none counts as 0 here, as with kube-scheduler."""
    return {
        driver.name: (driver.allocatable.count or 0) if driver.allocatable else 0
        for driver in csi_node.spec.drivers
    }


def _pod_deleted(pod: Pod, old: Pod, new: Pod | None) -> Hint:
    had_a_node = old.spec.node_name or old.status.nominated_node_name
    return Hint.QUEUE if had_a_node and any(map(_may_count, old.spec.volumes)) else Hint.SKIP


def _claim_added(pod: Pod, old: None, new: PersistentVolumeClaim) -> Hint:
    return Hint.QUEUE if uses_claim(pod, new) else Hint.SKIP


def _attachment_deleted(pod: Pod, old: VolumeAttachment, new: None) -> Hint:
    return Hint.QUEUE if any(_may_wait_for(volume, old) for volume in pod.spec.volumes) else Hint.SKIP


def _may_wait_for(volume: Volume, attachment: VolumeAttachment) -> bool:
    if volume.persistent_volume_claim is not None:
        return True
    try:
        inline_csi_volume(volume)
    except TranslationError:
        return True
    successor = successor_of(volume)
    return successor is not None and successor.driver == attachment.spec.attacher
