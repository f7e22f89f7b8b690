"""Pods and what they ask for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, ClassVar

import msgspec

from moorage.api.meta import Int32, Object, Part, Quantity, computed_once
from moorage.api.selectors import LabelSelector, NodeSelector, NodeSelectorTerm, SelectorError
from moorage.api.taints import Taint, Toleration, tolerates, untolerated

if TYPE_CHECKING:
    from moorage.api.requests import Resources
    from moorage.api.volume_uses import VolumeUse

Quantities = dict[str, Quantity]

DEFAULT_SCHEDULER = "default-scheduler"


class Fields(msgspec.Struct, rename="camel", omit_defaults=True, kw_only=True):
    """Base of the parts of an object that hold maps."""


class ResourceRequirements(Fields):
    requests: Quantities = {}
    limits: Quantities = {}


class ContainerPort(Part, frozen=True, gc=False):
    container_port: Int32 = 0
    host_port: Int32 = 0
    host_ip: str = msgspec.field(name="hostIP", default="")
    protocol: str = ""


class RestartRule(Part, frozen=True, gc=False):
    action: str = ""


class Container(Fields):
    name: str = ""
    image: str = ""
    resources: ResourceRequirements = msgspec.field(default_factory=ResourceRequirements)
    ports: tuple[ContainerPort, ...] = ()
    restart_policy: str = ""
    restart_policy_rules: tuple[RestartRule, ...] = ()


class PreferredSchedulingTerm(Part, frozen=True, gc=False):
    weight: Int32 = 0
    preference: NodeSelectorTerm = NodeSelectorTerm()


def parse_preferred(terms: Iterable[PreferredSchedulingTerm]) -> tuple[PreferredSchedulingTerm, ...]:
    """The terms that count: one without a weight or a preference does not.

    Raises SelectorError if one of them is invalid.
    """
    counted = tuple(term for term in terms if term.weight != 0 and not term.preference.empty)
    for term in counted:
        problem = term.preference.problem()
        if problem is not None:
            raise SelectorError(problem)
    return counted


class NodeAffinity(Part, frozen=True, gc=False):
    required: NodeSelector | None = msgspec.field(
        name="requiredDuringSchedulingIgnoredDuringExecution", default=None
    )
    preferred: tuple[PreferredSchedulingTerm, ...] = msgspec.field(
        name="preferredDuringSchedulingIgnoredDuringExecution", default=()
    )


class PodAffinityTerm(Part, frozen=True):
    topology_key: str = ""
    label_selector: LabelSelector | None = None
    namespaces: tuple[str, ...] = ()
    namespace_selector: LabelSelector | None = None


class WeightedPodAffinityTerm(Part, frozen=True):
    weight: Int32 = 0
    pod_affinity_term: PodAffinityTerm = PodAffinityTerm()


class PodAffinity(Part, frozen=True):
    """Pod affinity, and pod anti-affinity too: both have this form."""

    required: tuple[PodAffinityTerm, ...] = msgspec.field(
        name="requiredDuringSchedulingIgnoredDuringExecution", default=()
    )
    preferred: tuple[WeightedPodAffinityTerm, ...] = msgspec.field(
        name="preferredDuringSchedulingIgnoredDuringExecution", default=()
    )


class Affinity(Part, frozen=True):
    node_affinity: NodeAffinity | None = None
    pod_affinity: PodAffinity | None = None
    pod_anti_affinity: PodAffinity | None = None


class TopologySpreadConstraint(Part, frozen=True):
    max_skew: Int32 = 0
    topology_key: str = ""
    when_unsatisfiable: str = ""
    label_selector: LabelSelector | None = None
    min_domains: Int32 | None = None
    node_affinity_policy: str | None = None
    node_taints_policy: str | None = None
    match_label_keys: tuple[str, ...] = ()


class SchedulingGate(Part, frozen=True, gc=False):
    name: str = ""


class ClaimVolumeSource(Part, frozen=True, gc=False):
    claim_name: str = ""
    read_only: bool = False


class ImageVolumeSource(Part, frozen=True, gc=False):
    reference: str = ""


class EphemeralVolumeSource(Fields):
    volume_claim_template: dict[str, Any] | None = None


class Volume(Fields):
    """A volume; sources a scheduler does not look into are kept as they are."""

    name: str = ""
    persistent_volume_claim: ClaimVolumeSource | None = None
    ephemeral: EphemeralVolumeSource | None = None
    image: ImageVolumeSource | None = None
    gce_persistent_disk: dict[str, Any] | None = None
    aws_elastic_block_store: dict[str, Any] | None = None
    azure_disk: dict[str, Any] | None = None
    azure_file: dict[str, Any] | None = None
    cinder: dict[str, Any] | None = None
    vsphere_volume: dict[str, Any] | None = None
    portworx_volume: dict[str, Any] | None = None
    rbd: dict[str, Any] | None = None
    iscsi: dict[str, Any] | None = None
    csi: dict[str, Any] | None = None

    def claim_name(self, pod_name: str) -> str | None:
        """The claim that the volume stands for in a pod of this name; None for other kinds of volumes."""
        if self.persistent_volume_claim is not None:
            return self.persistent_volume_claim.claim_name
        return None if self.ephemeral is None else f"{pod_name}-{self.name}"


class PodResourceClaim(Part, frozen=True, gc=False):
    name: str = ""
    resource_claim_name: str | None = None
    resource_claim_template_name: str | None = None


class PodSchedulingGroup(Part, frozen=True, gc=False):
    pod_group_name: str | None = None


class PodSpec(Fields):
    """What a pod asks for."""

    node_name: str = ""
    """The node it has; empty while it waits."""
    scheduler_name: str = DEFAULT_SCHEDULER
    """The profile that is to place it."""
    priority: Int32 | None = None
    """How important it is; `pod.priority` reads None as 0."""
    priority_class_name: str = ""
    """Where the priority comes from."""
    preemption_policy: str | None = None
    """`Never` if it may not have others evicted."""
    containers: tuple[Container, ...] = ()
    """Those that run at the same time."""
    init_containers: tuple[Container, ...] = ()
    """Those that run before, one after the other, and sidecars."""
    overhead: Quantities = {}
    """What running it takes on top; `pod.requests` counts it."""
    resources: ResourceRequirements | None = None
    """Requests of the pod as a whole, which replace those of its containers."""
    node_selector: dict[str, str] | None = None
    """Labels its node must have."""
    affinity: Affinity | None = None
    """Nodes and pods it wants or must have near, or not."""
    tolerations: tuple[Toleration, ...] = ()
    """Taints it puts up with; `pod.tolerates(taint)` asks them."""
    topology_spread_constraints: tuple[TopologySpreadConstraint, ...] = ()
    """How evenly pods like it are to be spread."""
    scheduling_gates: tuple[SchedulingGate, ...] = ()
    """What must be taken away before it is scheduled."""
    volumes: tuple[Volume, ...] = ()
    """Its volumes."""
    resource_claims: tuple[PodResourceClaim, ...] = ()
    """Devices it needs."""
    scheduling_group: PodSchedulingGroup | None = None
    """The group that it is to be scheduled with."""
    host_network: bool = False
    """Whether it uses the network of its node."""
    host_users: bool | None = None
    """False if it has users of its own."""
    termination_grace_period_seconds: int | None = None
    """How long it may take to end."""


class Condition(Part, frozen=True, gc=False):
    """One thing that is said about an object, and since when."""

    type: str = ""
    """What is said, for example `Ready` or `PodScheduled`."""
    status: str = ""
    """`True`, `False` or `Unknown`."""
    reason: str = ""
    """Why, in one word."""
    message: str = ""
    """Why, for people."""
    last_transition_time: str | None = None
    """Since when the status is what it is."""
    observed_generation: int = 0
    """The generation of the object that it is about."""


class ContainerStatus(Fields):
    name: str = ""
    resources: ResourceRequirements | None = None
    allocated_resources: Quantities = {}


class PodResourceClaimStatus(Part, frozen=True, gc=False):
    name: str = ""
    resource_claim_name: str | None = None


class PodStatus(Fields):
    """What became of a pod."""

    phase: str = ""
    """`Pending`, `Running`, `Succeeded`, `Failed` or `Unknown`."""
    start_time: str | None = None
    """When its node took it up."""
    nominated_node_name: str = ""
    """The node that room is being made on."""
    conditions: tuple[Condition, ...] = ()
    """`pod.condition(type)` finds one."""
    container_statuses: tuple[ContainerStatus, ...] = ()
    """What its containers really have, while they are being resized."""
    init_container_statuses: tuple[ContainerStatus, ...] = ()
    """The same of init containers."""
    resources: ResourceRequirements | None = None
    """What the pod as a whole really has."""
    allocated_resources: Quantities = {}
    """What its node has granted the pod as a whole."""
    resource_claim_statuses: tuple[PodResourceClaimStatus, ...] = ()
    """The resource claims that were made for it."""


class Pod(Object, kw_only=True):
    """A pod, and what it asks for as the scheduler counts it."""

    kind: ClassVar[str] = "Pod"
    resource: ClassVar[str] = "pods"

    spec: PodSpec = msgspec.field(default_factory=PodSpec)
    """What it asks for."""
    status: PodStatus = msgspec.field(default_factory=PodStatus)
    """What became of it."""

    @property
    def priority(self) -> int:
        """How important it is; 0 if nothing is said."""
        return self.spec.priority or 0

    @property
    def finished(self) -> bool:
        """Whether it has succeeded or failed, and so takes nothing on its node any more."""
        return self.status.phase in ("Succeeded", "Failed")

    @property
    def has_claims(self) -> bool:
        """Whether it has volumes that stand for claims, or claims devices; not for plugins."""
        return bool(self.spec.resource_claims) or self.claims_volumes

    @property
    def claims_volumes(self) -> bool:
        """Whether it has volumes that stand for claims; not for plugins."""
        for volume in self.spec.volumes:
            if volume.persistent_volume_claim is not None or volume.ephemeral is not None:
                return True
        return False

    @property
    def requests(self) -> Resources:
        """What a node must have left for the pod to fit: cpu in millicores, others in whole units.

        Counted as kube-scheduler does: init containers, sidecars, requests of the pod itself and overhead.
        """
        from moorage.api.requests import filter_request

        return filter_request(self)

    @property
    def placed_requests(self) -> Resources:
        """What the pod takes away on its node, where `NodeInfo.requested` counts it.

        As `requests`, with containers that are being resized at the most of what they have and want.
        """
        from moorage.api.requests import row_request

        return row_request(self)

    @property
    def nonzero_requests(self) -> Resources:
        """Cpu and memory the pod counts for in scores: containers that ask for none count 100m and 200Mi."""
        from moorage.api.requests import request_summary

        return request_summary(self).nonzero

    def tolerates(self, taint: Taint) -> bool:
        """Whether one of the pod's tolerations covers the taint, whatever its effect.

        all(pod.tolerates(taint) for taint in node.taints)
        """
        return tolerates(self.spec.tolerations, taint)

    def untolerated_taint(self, taints: Iterable[Taint]) -> Taint | None:
        """The first NoSchedule or NoExecute taint that keeps the pod away, as TaintToleration says, or None.

        pod.untolerated_taint(node.taints) is None
        """
        return untolerated(taints, self.spec.tolerations)

    @computed_once
    def host_ports(self) -> tuple[tuple[str, str, int], ...]:
        """The (address, protocol, port) triples the pod takes on its node."""
        found: list[tuple[str, str, int]] = []
        for container in self.spec.containers:
            if container.ports:
                found += _host_ports(container)
        for container in self.spec.init_containers:
            if container.ports and restartable(container):
                found += _host_ports(container)
        return tuple(found)

    @computed_once
    def volume_uses(self) -> tuple[VolumeUse, ...]:
        """What its volumes take that other pods, or the limits of its node, may be in the way of."""
        if not self.spec.volumes:
            return ()
        from moorage.api.volume_uses import uses_of

        return uses_of(self)

    def condition(self, type: str) -> Condition | None:
        """The condition of this type, or None: `pod.condition("PodScheduled")`."""
        return next((condition for condition in self.status.conditions if condition.type == type), None)


def on_node(pod: Pod, node_name: str) -> Pod:
    """The pod as it is when it has a node; it shares all else with the one given."""
    # What `copy` calls, which takes several times as long to find out.
    spec: PodSpec = pod.spec.__copy__()  # type: ignore[attr-defined]
    spec.node_name = node_name
    placed: Pod = pod.__copy__()  # type: ignore[attr-defined]
    placed.spec = spec
    return placed


def _host_ports(container: Container) -> Iterator[tuple[str, str, int]]:
    return (
        (port.host_ip or "0.0.0.0", port.protocol or "TCP", port.host_port)
        for port in container.ports
        if port.host_port > 0
    )


def restartable(container: Container) -> bool:
    """Whether an init container keeps running beside the others (a sidecar)."""
    return container.restart_policy == "Always"
