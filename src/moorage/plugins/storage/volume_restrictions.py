"""VolumeRestrictions: keeps pods apart that may not share a volume."""

from __future__ import annotations

from functools import reduce
from operator import or_

import numpy as np

from moorage.api.pods import Pod
from moorage.api.storage import PersistentVolumeClaim
from moorage.api.volume_uses import UseKind, VolumeUse, conflicting
from moorage.framework.cycle_state import CycleState
from moorage.framework.events import NODE, PERSISTENT_VOLUME_CLAIM, POD, Action, ClusterEvent, Hint
from moorage.framework.extension_points import FilterPlugin, PreFilterPlugin
from moorage.framework.handle import Handle
from moorage.framework.status import Status
from moorage.framework.verdicts import Verdicts
from moorage.plugins.storage.claims import claim_not_found, uses_claim
from moorage.state.node_info import NodeInfo
from moorage.state.nodes import Nodes

_STATE = "PreFilterVolumeRestrictions"
_ONCE = "ReadWriteOncePod"
_DISK_TAKEN = Status.unschedulable("node(s) had no available disk")
_CLAIM_TAKEN = Status.unschedulable(
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use "
    "by another pod"
)


class Restrictions:
    """What a pod takes that others may have taken.

    `forbidden` is what must not be done on its node with its disks, `claims` are the names of those of its
    claims that only one pod may use, `taken` is how many times others use them.
    """

    __slots__ = ("claims", "forbidden", "taken")

    def __init__(self, forbidden: frozenset[VolumeUse], claims: frozenset[str], taken: int) -> None:
        self.forbidden = forbidden
        self.claims = claims
        self.taken = taken

    def clone(self) -> Restrictions:
        return Restrictions(self.forbidden, self.claims, self.taken)


class VolumeRestrictions(PreFilterPlugin, FilterPlugin):
    """Keeps pods apart that may not share a volume."""

    treats_like_pods_alike = True

    def __init__(self, args: None, handle: Handle) -> None:
        super().__init__(args, handle)
        self._claims = handle.lister_of(PersistentVolumeClaim)
        self._volumes = handle.state.volumes

    def pre_filters_alike(self, pod: Pod) -> bool:
        return not pod.claims_volumes

    def pre_filter(self, cycle: CycleState, pod: Pod) -> Status | None:
        if not pod.volume_uses:
            return Status.skip()
        claims: set[str] = set()
        taken = 0
        for name in _claim_names(pod):
            claim = self._claims.get(name, namespace=pod.namespace)
            if claim is None:
                return Status.unresolvable(claim_not_found(name))
            if _ONCE in claim.spec.access_modes and name not in claims:
                claims.add(name)
                taken += self._volumes.is_used(VolumeUse(UseKind.CLAIM, f"{pod.namespace}/{name}"))
        forbidden = _forbidden(pod)
        if not forbidden and not taken:
            return Status.skip()
        cycle.write(_STATE, Restrictions(forbidden, frozenset(claims), taken))
        return None

    def add_pod(self, cycle: CycleState, pod: Pod, other: Pod, node: NodeInfo) -> Status | None:
        return _count(cycle, other, 1)

    def remove_pod(self, cycle: CycleState, pod: Pod, other: Pod, node: NodeInfo) -> Status | None:
        return _count(cycle, other, -1)

    def filter_nodes(self, cycle: CycleState, pod: Pod, nodes: Nodes) -> Verdicts:
        found: Restrictions | None = cycle.get(_STATE)
        forbidden = _forbidden(pod) if found is None else found.forbidden
        masks = [nodes.among(names) for use in forbidden if (names := self._volumes.nodes_with(use))]
        elsewhere = _missing_state() if found is None else _CLAIM_TAKEN if found.taken > 0 else None
        if elsewhere is None:
            return Verdicts.where(reduce(or_, masks), _DISK_TAKEN) if masks else Verdicts.passed()
        codes = np.full(len(nodes), 2, dtype=np.int8)
        if masks:
            codes[reduce(or_, masks)] = 1
        return Verdicts(codes, (None, _DISK_TAKEN, elsewhere))

    def events(self) -> list[ClusterEvent]:
        return [
            ClusterEvent(POD, Action.DELETE, _pod_deleted),
            ClusterEvent(NODE, Action.ADD),
            ClusterEvent(PERSISTENT_VOLUME_CLAIM, Action.ADD, _claim_added),
        ]


def _claim_names(pod: Pod) -> list[str]:
    """The claims that a pod names itself; those of its ephemeral volumes are nobody else's."""
    sources = (volume.persistent_volume_claim for volume in pod.spec.volumes)
    return [source.claim_name for source in sources if source is not None]


def _forbidden(pod: Pod) -> frozenset[VolumeUse]:
    return frozenset(other for use in pod.volume_uses for other in conflicting(use))


def _count(cycle: CycleState, other: Pod, times: int) -> Status | None:
    found: Restrictions | None = cycle.get(_STATE)
    if found is None:
        return _missing_state()
    # As with kube-scheduler, the namespace is not compared.
    found.taken += times * sum(name in found.claims for name in _claim_names(other))
    return None


def _missing_state() -> Status:
    return Status.error(f'cannot read "{_STATE}" from cycleState')


def _pod_deleted(pod: Pod, old: Pod, new: Pod | None) -> Hint:
    if old.namespace != pod.namespace:
        return Hint.SKIP
    frees = not _forbidden(pod).isdisjoint(old.volume_uses)
    shares = not set(_claim_names(pod)).isdisjoint(_claim_names(old))
    return Hint.QUEUE if frees or shares else Hint.SKIP


def _claim_added(pod: Pod, old: None, new: PersistentVolumeClaim) -> Hint:
    return Hint.QUEUE if uses_claim(pod, new, ephemeral=False) else Hint.SKIP
