"""The claims of a pod in one attempt, and what comes of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from moorage.api.devices import ResourceClaim
from moorage.plugins.devices.allocation.results import Plan
from moorage.plugins.devices.claim_writes import Document

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

    @property
    def has_user_claims(self) -> bool:
        return len(self.claims) > (self.special is not None)

    def to_allocate(self) -> list[int]:
        """The places of the claims without an allocation."""
        return [place for place, claim in enumerate(self.claims) if claim.status.allocation is None]
