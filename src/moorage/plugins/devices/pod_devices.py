"""The claims of a pod in one attempt, and what comes of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from moorage.api.devices import AllocationResult, ResourceClaim
from moorage.api.pod_groups import PodGroup
from moorage.api.pods import Pod
from moorage.plugins.devices.allocation.results import Plan
from moorage.plugins.devices.claim_writes import Document
from moorage.plugins.devices.pod_claims import is_reserved_for

if TYPE_CHECKING:
    from moorage.plugins.devices.judging import Judgement


class NodePlan(NamedTuple):
    """What a pod would get on a node."""

    plans: list[Plan]
    """For each claim without an allocation, in order."""
    special: ResourceClaim | None = None
    """The claim for extended resources as this node calls for it."""
    mappings: list[dict[str, str]] = []
    """Which container gets what of it."""


@dataclass
class PodDevices:
    claims: list[ResourceClaim] = field(default_factory=list)
    """Those that the pod names, in its order, and last the one for its extended resources."""
    special: int | None = None
    """The place of the last, if there is one."""
    judgement: Judgement | None = None
    planned: dict[int, Document] = field(default_factory=dict)
    """By the place of a claim: the allocation that was promised and is to be written."""
    chosen: NodePlan | None = None
    """What was promised on the node that was chosen."""
    unsure: dict[str, ResourceClaim] = field(default_factory=dict)
    """By the uid they are in flight with: claims of which a write may have been done, or not."""
    special_uid: str = ""
    """The uid of the last claim before it was written."""
    group: PodGroup | None = None
    """The PodGroup of the pod, if claims may be its."""
    of_group: frozenset[int] = frozenset()
    """The places of the claims that are reserved for the group instead of the pod."""
    promised: dict[int, Plan] = field(default_factory=dict)
    """By the place of a claim: the allocation that another pod of the group was promised in this cycle."""
    sharer: str = ""
    """The uid of the pod, if others may count on what is in flight for it."""

    @property
    def has_user_claims(self) -> bool:
        return len(self.claims) > (self.special is not None)

    def to_allocate(self) -> list[int]:
        """The places of the claims without an allocation."""
        return [
            place
            for place, claim in enumerate(self.claims)
            if claim.status.allocation is None and place not in self.promised
        ]

    def allocation_of(self, place: int) -> AllocationResult | None:
        """What a claim has, or will have as soon as it is written."""
        promised = self.promised.get(place)
        return self.claims[place].status.allocation if promised is None else promised.allocation

    def is_reserved(self, pod: Pod, claim: ResourceClaim) -> bool:
        """Whether the pod may use a claim, be it as one of its group."""
        return is_reserved_for(pod, claim) or (self.group is not None and is_reserved_for(self.group, claim))

    def consumer(self, pod: Pod, place: int) -> Document:
        """For whom a claim is to be reserved."""
        if self.group is not None and place in self.of_group:
            group = self.group
            kind = {"apiGroup": group.group, "resource": group.resource}
            return {**kind, "name": group.name, "uid": group.uid}
        return {"resource": "pods", "name": pod.name, "uid": pod.uid}
