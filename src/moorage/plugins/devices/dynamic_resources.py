"""DynamicResources: finds devices for the claims of a pod, and has them written before the pod is bound."""

from __future__ import annotations

import uuid
from collections.abc import Awaitable, Callable
from typing import ClassVar

import numpy as np

from moorage.api.decoding import from_document
from moorage.api.devices import EXTENDED_RESOURCE_CLAIM, DeviceRequest, ResourceClaim
from moorage.api.pods import Pod
from moorage.config.args import DynamicResourcesArgs
from moorage.framework.cycle_state import CycleState
from moorage.framework.diagnosis import NOT_THE_LEADER
from moorage.framework.events import ClusterEvent
from moorage.framework.extension_points import (
    FilterPlugin,
    PostFilterPlugin,
    PreBindPlugin,
    PreEnqueuePlugin,
    PreFilterPlugin,
    ReservePlugin,
    ScorePlugin,
)
from moorage.framework.handle import Handle
from moorage.framework.node_statuses import NodeStatuses
from moorage.framework.permissions import Permission
from moorage.framework.status import Nomination, Status
from moorage.framework.verdicts import Verdicts
from moorage.framework.writes import Write
from moorage.plugins.devices import binding, claim_events, releasing
from moorage.plugins.devices.devices import Devices
from moorage.plugins.devices.judging import NOT_AVAILABLE, Judgement, unavailable_claims
from moorage.plugins.devices.pod_claims import NotThere, claims_of
from moorage.plugins.devices.pod_devices import PodDevices
from moorage.plugins.normalize import default_normalize
from moorage.state.columns import Int64s
from moorage.state.kept_rows import ALL_ZERO, RowScores
from moorage.state.nodes import Nodes

STATE = "PreFilterDynamicResources"
_GROUP = ResourceClaim.group
_NOTHING = PodDevices()
SPECIAL_NAME = "<extended-resources>"
"""The name of the claim for extended resources before it is written; no claim can be called that."""


class DynamicResources(
    PreEnqueuePlugin,
    PreFilterPlugin,
    FilterPlugin,
    PostFilterPlugin,
    ScorePlugin,
    ReservePlugin,
    PreBindPlugin,
):
    """Keeps pods to nodes with the devices that they claim, and allocates these; serves some resources so."""

    treats_like_pods_alike = True
    settles_claims_only = True
    args_type = DynamicResourcesArgs
    allows_parallel = True
    reads_usage_only = True
    is_costly = True
    permissions: ClassVar = (
        *(Permission(verb, _GROUP, "resourceclaims") for verb in ("create", "get", "update", "delete")),
        *(Permission(verb, _GROUP, "resourceclaims", "status") for verb in ("update", "patch")),
        # Whoever changes what a claim is allocated or reserved, and whoever makes one for a pod, needs these.
        *(Permission(verb, _GROUP, "resourceclaims", "binding") for verb in ("update", "patch")),
        Permission("update", "", "pods", "finalizers"),
    )

    def __init__(self, args: DynamicResourcesArgs | None, handle: Handle) -> None:
        super().__init__(args or DynamicResourcesArgs(), handle)
        self._devices = handle.shared(Devices)

    @property
    def devices(self) -> Devices:
        """What is known of devices; for what-if questions."""
        return self._devices

    def found(self, cycle: CycleState) -> PodDevices | None:
        """The claims of the pod of an attempt; for what-if questions."""
        found: PodDevices | None = cycle.get(STATE)
        return found

    def events(self) -> list[ClusterEvent]:
        return claim_events.events(self._devices)

    def pre_enqueue(self, pod: Pod) -> Status | None:
        try:
            self._devices.claims_of(pod)
        except NotThere as error:
            return Status.unresolvable(str(error))
        return None

    # PreFilter

    def pre_filters_alike(self, pod: Pod) -> bool:
        if pod.spec.resource_claims or self._devices.extended.served(pod.requests):
            return False
        return self._devices.groups is None or not self._devices.groups.is_concerned(pod)

    def pre_filter(self, cycle: CycleState, pod: Pod) -> Status | None:
        cycle.write(STATE, _NOTHING)
        if self.pre_filters_alike(pod):
            return Status.skip()
        try:
            found = self._devices_of(pod)
        except NotThere as error:
            return Status.unresolvable(str(error))
        if self._devices.extended.served(pod.requests):
            self._add_special(found, pod)
        if not found.claims:
            return Status.skip()
        for place, claim in enumerate(found.claims):
            if place in found.promised:
                continue
            problem = self._problem_with(claim, is_special=place == found.special)
            if problem is not None:
                return problem
        seconds, waits = self.args.filter_timeout.seconds, self.args.binding_timeout.seconds
        found.judgement = Judgement(self._devices, pod, found, seconds, waits)
        cycle.write(STATE, found)
        cycle.has_claims = True
        return None

    def _devices_of(self, pod: Pod) -> PodDevices:
        devices = self._devices
        if devices.groups is not None:
            return devices.groups.devices_of(pod, devices.claims, devices.in_use)
        return PodDevices(claims_of(pod, devices.claims))

    def _add_special(self, found: PodDevices, pod: Pod) -> None:
        """The claim for the pod's extended resources: one that an earlier attempt left, or a new one."""
        claim = self._devices.claims.for_resources_of(pod) or _special_claim(pod)
        found.special = len(found.claims)
        found.special_uid = claim.uid
        found.claims.append(claim)

    def _problem_with(self, claim: ResourceClaim, *, is_special: bool) -> Status | None:
        allocation = claim.status.allocation
        if allocation is not None:
            terms = allocation.node_selector.node_selector_terms if allocation.node_selector else ()
            problem = next((problem for term in terms if (problem := term.problem()) is not None), None)
            return None if problem is None else Status.error(problem)
        if self._devices.in_use.is_in_flight(claim.uid):
            return Status.unresolvable(f"resource claim {claim.key} is in the process of being allocated")
        if is_special:
            return None
        for request in claim.spec.devices.requests:
            found = self._problem_with_request(claim, request)
            if found is not None:
                return found
        return None

    def _problem_with_request(self, claim: ResourceClaim, request: DeviceRequest) -> Status | None:
        if request.exactly is not None:
            return self._problem_with_class(request.exactly.device_class_name, request.name)
        if not request.first_available:
            return Status.unresolvable(
                f"resource claim {claim.key}, request {request.name}: unknown request type"
            )
        for sub_request in request.first_available:
            name = f"{request.name}/{sub_request.name}"
            found = self._problem_with_class(sub_request.device_class_name, name)
            if found is not None:
                return found
        return None

    def _problem_with_class(self, name: str, request: str) -> Status | None:
        if not name:
            return Status.error(f"request {request}: unsupported request type")
        if self._devices.class_of(name) is None:
            return Status.unresolvable(f"request {request}: device class {name} does not exist")
        return None

    # Filter, PostFilter, Score

    def filter_nodes(self, cycle: CycleState, pod: Pod, nodes: Nodes) -> Verdicts:
        found: PodDevices = cycle.read(STATE)
        return Verdicts.passed() if found.judgement is None else found.judgement.verdicts(nodes)

    def post_filter(self, cycle: CycleState, pod: Pod, statuses: NodeStatuses) -> Nomination | Status:
        found: PodDevices | None = cycle.get(STATE)
        if found is None:
            # Another plugin rejected the pod before `pre_filter` of this one was called.
            return Status.error("not found")
        if not found.claims:
            return Status.unschedulable("no new claims to deallocate")
        to_free = self.to_free(cycle, pod, statuses)
        if to_free:
            self._write(releasing.deallocate, to_free[0])
            return Status.unschedulable("deallocation of ResourceClaim completed")
        stale = self.stale_claim(cycle)
        if stale is not None:
            self._write(releasing.delete, stale)
            return Status.unschedulable("deletion of ResourceClaim completed")
        groups = self._devices.groups
        left = None if groups is None else groups.to_take_back(pod, self._devices.claims)
        if left is not None:
            self._write(releasing.take_back_from_group, *left, holds=pod.uid)
            return Status.unresolvable("ResourceClaim unreserved for PodGroup")
        return Status.unschedulable("still not schedulable")

    def to_free(self, cycle: CycleState, pod: Pod, statuses: NodeStatuses) -> list[ResourceClaim]:
        """The claims that keep the pod from nodes and that nobody else uses: one of them is freed."""
        found: PodDevices = cycle.read(STATE)
        if found.judgement is None or not found.judgement.unavailable:
            return []
        table = self._devices.table
        kept_off = (
            table.by_name[name].row
            for name, status in statuses.explicit()
            if status.plugin == self.name and status.reasons == NOT_AVAILABLE.reasons
        )
        special = None if found.special is None else found.claims[found.special]
        return [
            claim
            for claim in unavailable_claims(found.judgement, kept_off)
            if claim is not special
            and claim.status.allocation is not None
            and all(each.uid == pod.uid for each in claim.status.reserved_for)
            and len(claim.status.reserved_for) <= 1
        ]

    def stale_claim(self, cycle: CycleState) -> ResourceClaim | None:
        """The claim for extended resources that an earlier attempt left behind."""
        found: PodDevices = cycle.read(STATE)
        claim = None if found.special is None else found.claims[found.special]
        return claim if claim is not None and claim.name != SPECIAL_NAME else None

    def row_scores(self, pod: Pod) -> RowScores | None:
        return ALL_ZERO if self.pre_filters_alike(pod) else None

    def score_nodes(self, cycle: CycleState, pod: Pod, nodes: Nodes) -> Int64s:
        found: PodDevices = cycle.read(STATE)
        if found.judgement is None:
            return np.zeros(len(nodes), dtype=np.int64)
        return found.judgement.scores(nodes)

    def normalize_scores(self, cycle: CycleState, pod: Pod, scores: Int64s) -> Int64s:
        return default_normalize(scores)

    # Reserve, PreBind

    def reserve(self, cycle: CycleState, pod: Pod, node_name: str) -> Status | None:
        found: PodDevices = cycle.read(STATE)
        for place, promise in found.promised.items():
            found.planned[place] = promise.document
            self._devices.in_use.share_flight(found.claims[place].uid, found.sharer)
        to_allocate = found.to_allocate()
        if not to_allocate:
            return None
        info = self.handle.node(node_name)
        plan = None if info is None or found.judgement is None else found.judgement.plan(info)
        if plan is None:
            if to_allocate == [found.special]:
                return None
            return Status.error("claim allocation not found for node")
        found.chosen = plan
        for place, each in zip(to_allocate, plan.plans, strict=True):
            found.planned[place] = each.document
            uid = found.claims[place].uid
            self._devices.in_use.begin_flight(uid, each.allocation)
            if self._devices.groups is not None and found.sharer:
                self._devices.in_use.share_flight(uid, found.sharer)
                self._devices.groups.promise(uid, each)
        return None

    def unreserve(self, cycle: CycleState, pod: Pod, node_name: str) -> None:
        found: PodDevices | None = cycle.get(STATE)
        if found is None or not found.claims:
            return
        releasing.end_flights(self._devices, found)
        services = self.handle.services
        if services.client is not None and releasing.has_work(found, pod):
            # A pod that is tried again before would take its reservation for written.
            work = Write(self.handle, releasing.take_back, (self._devices, found, pod), holds=pod.uid)
            services.writes.start(work)

    def pre_bind_pre_flight(self, cycle: CycleState, pod: Pod, node_name: str) -> Status | None:
        found: PodDevices = cycle.read(STATE)
        return None if found.claims else Status.skip()

    async def pre_bind(self, cycle: CycleState, pod: Pod, node_name: str) -> Status | None:
        found: PodDevices = cycle.read(STATE)
        if not found.claims:
            return None
        if not self.handle.services.may_bind():
            return Status.error(NOT_THE_LEADER)
        try:
            await binding.bind_claims(self._devices, found, pod, node_name)
            if binding.has_to_wait(found):
                note = f"waiting for binding conditions for device on node {node_name}"
                self.handle.recorder.event(
                    pod, None, "Normal", "BindingConditionsPending", "Scheduling", note
                )
                await binding.wait_for_conditions(self._devices, found, self.args.binding_timeout.seconds)
        except binding.BindingFailed as error:
            return Status.error(str(error))
        finally:
            for uid, claim in found.unsure.items():
                self._write(binding.settle, uid, claim, found.sharer)
        return None

    def _write(self, work: Callable[..., Awaitable[object]], *args: object, holds: str = "") -> None:
        services = self.handle.services
        if services.client is not None:
            services.writes.start(Write(self.handle, work, (self._devices, *args), holds=holds))


def _special_claim(pod: Pod) -> ResourceClaim:
    owner = {"apiVersion": "v1", "kind": "Pod", "name": pod.name, "uid": pod.uid, "controller": True}
    document = {
        "apiVersion": ResourceClaim.api_version(),
        "kind": ResourceClaim.kind,
        "metadata": {
            "name": SPECIAL_NAME,
            "namespace": pod.namespace,
            "uid": str(uuid.uuid4()),
            "generateName": f"{pod.name}-extended-resources-",
            "ownerReferences": [owner],
            "annotations": {EXTENDED_RESOURCE_CLAIM: "true"},
        },
        "spec": {},
    }
    return from_document(ResourceClaim, document)
