"""Pods that are scheduled as a group: the PodGroup and Workload of scheduling.k8s.io/v1alpha2."""

from __future__ import annotations

from typing import Any, ClassVar

import msgspec

from moorage.api.meta import Int32, Object, Part
from moorage.api.pods import Condition, Fields, Pod, PodResourceClaim, PodResourceClaimStatus


class GangPolicy(Part, frozen=True, gc=False):
    min_count: Int32 = 0
    """So many pods of the group get nodes, or none does."""


class SchedulingPolicy(Fields):
    """One of the two."""

    basic: dict[str, Any] | None = None
    """Each pod for itself, as far as they fit."""
    gang: GangPolicy | None = None


class TopologyConstraint(Part, frozen=True, gc=False):
    key: str = ""
    """A label: all pods of the group go to nodes with the same value of it."""


class SchedulingConstraints(Part, frozen=True):
    topology: tuple[TopologyConstraint, ...] = ()


class PodGroupSpec(Fields):
    scheduling_policy: SchedulingPolicy = msgspec.field(default_factory=SchedulingPolicy)
    scheduling_constraints: SchedulingConstraints | None = None
    resource_claims: tuple[PodResourceClaim, ...] = ()
    """Those that its pods share which have an entry of the same name and source."""
    disruption_mode: str | None = None
    """`Pod` or `PodGroup`: whether its pods go one by one when they are preempted, or together."""
    priority_class_name: str = ""
    priority: Int32 | None = None


class PodGroupStatus(Fields):
    conditions: tuple[Condition, ...] = ()
    resource_claim_statuses: tuple[PodResourceClaimStatus, ...] = ()
    """The claims that were made for it from templates."""


class PodGroup(Object, kw_only=True):
    group: ClassVar[str] = "scheduling.k8s.io"
    version: ClassVar[str] = "v1alpha2"
    kind: ClassVar[str] = "PodGroup"
    resource: ClassVar[str] = "podgroups"

    spec: PodGroupSpec = msgspec.field(default_factory=PodGroupSpec)
    status: PodGroupStatus = msgspec.field(default_factory=PodGroupStatus)

    @property
    def minimum(self) -> int:
        """How many pods have to fit; 0 for a group that is no gang."""
        gang = self.spec.scheduling_policy.gang
        return 0 if gang is None else gang.min_count

    @property
    def topology(self) -> str:
        """The label whose value all its nodes share; empty if they need not."""
        constraints = self.spec.scheduling_constraints
        return constraints.topology[0].key if constraints is not None and constraints.topology else ""

    def condition(self, type: str) -> Condition | None:
        return next((condition for condition in self.status.conditions if condition.type == type), None)


class PodGroupTemplate(PodGroupSpec):
    name: str = ""


class WorkloadSpec(Fields):
    controller_ref: dict[str, str] | None = None
    pod_group_templates: tuple[PodGroupTemplate, ...] = ()


class Workload(Object, kw_only=True):
    """What PodGroups are made from; no scheduler reads it."""

    group: ClassVar[str] = "scheduling.k8s.io"
    version: ClassVar[str] = "v1alpha2"
    kind: ClassVar[str] = "Workload"
    resource: ClassVar[str] = "workloads"

    spec: WorkloadSpec = msgspec.field(default_factory=WorkloadSpec)


def group_key(pod: Pod) -> str:
    """The `namespace/name` of the PodGroup that a pod belongs to; empty if it belongs to none."""
    group = pod.spec.scheduling_group
    return f"{pod.namespace}/{group.pod_group_name}" if group is not None and group.pod_group_name else ""
