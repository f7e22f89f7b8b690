"""VolumeBinding: finds volumes for the claims of a pod, and has them bound before the pod is."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from moorage.api.pods import Pod
from moorage.api.storage import PersistentVolumeClaim
from moorage.client.errors import ApiError
from moorage.config.args import VolumeBindingArgs
from moorage.framework.cycle_state import CycleState
from moorage.framework.diagnosis import NOT_THE_LEADER
from moorage.framework.events import ClusterEvent
from moorage.framework.extension_points import (
    FilterPlugin,
    PreBindPlugin,
    PreFilterPlugin,
    PreScorePlugin,
    ReservePlugin,
    ScorePlugin,
)
from moorage.framework.handle import Handle
from moorage.framework.permissions import Permission
from moorage.framework.status import Status
from moorage.framework.verdicts import Verdicts
from moorage.plugins.storage import binding, binding_events, reserving
from moorage.plugins.storage.assumed import AssumeFailed
from moorage.plugins.storage.claims import (
    ClaimOfPod,
    claim_not_found,
    claims_of,
    class_of_claim,
    is_fully_bound,
    ownership_problem,
)
from moorage.plugins.storage.judging import Judgement
from moorage.plugins.storage.reserving import Reserved
from moorage.plugins.storage.storage import Storage
from moorage.state.columns import Int64s
from moorage.state.nodes import Nodes

_STATE = "VolumeBinding"
_UNBOUND_IMMEDIATE = Status.unresolvable("pod has unbound immediate PersistentVolumeClaims")
_WAIT_FOR_FIRST_CONSUMER = "WaitForFirstConsumer"


@dataclass
class PodVolumes:
    """The claims of a pod in one attempt, and what comes of them."""

    bound: list[PersistentVolumeClaim] = field(default_factory=list)
    delayed: list[PersistentVolumeClaim] = field(default_factory=list)
    """Those that wait for the node of their pod."""
    judgement: Judgement | None = None
    all_bound: bool = False
    reserved: Reserved | None = None


class VolumeBinding(PreFilterPlugin, FilterPlugin, ReservePlugin, PreBindPlugin, PreScorePlugin, ScorePlugin):
    """Keeps pods to nodes that their volumes can be used on; finds volumes for claims, or has them made."""

    treats_like_pods_alike = True
    settles_claims_only = True
    args_type = VolumeBindingArgs
    allows_parallel = True
    reads_usage_only = True
    permissions: ClassVar = (
        Permission("update", "", "persistentvolumes"),
        Permission("update", "", "persistentvolumeclaims"),
    )

    def __init__(self, args: VolumeBindingArgs | None, handle: Handle) -> None:
        super().__init__(args or VolumeBindingArgs(), handle)
        self._storage = handle.shared(Storage)

    def events(self) -> list[ClusterEvent]:
        return binding_events.events()

    def pre_filters_alike(self, pod: Pod) -> bool:
        return not pod.claims_volumes

    def pre_filter(self, cycle: CycleState, pod: Pod) -> Status | None:
        volumes = PodVolumes()
        claims = claims_of(pod)
        if not claims:
            cycle.write(_STATE, volumes)
            return Status.skip()
        stored: list[PersistentVolumeClaim] = []
        problem = self._look_up(pod, claims, stored) or self._sort(stored, volumes)
        if problem is None:
            cycle.write(_STATE, volumes)
        return problem

    def filter_nodes(self, cycle: CycleState, pod: Pod, nodes: Nodes) -> Verdicts:
        volumes: PodVolumes = cycle.read(_STATE)
        if volumes.judgement is None:
            volumes.judgement = Judgement(self._storage, volumes.bound, volumes.delayed)
        judgement = volumes.judgement
        had_problem = judgement.problem != ""
        verdicts = judgement.verdicts(nodes)
        if judgement.problem and not had_problem:
            self._failed("predicate")
        return verdicts

    def pre_scores_alike(self, pod: Pod) -> bool:
        return True

    def pre_score(self, cycle: CycleState, pod: Pod, nodes: Nodes) -> Status | None:
        return Status.skip()

    def score_nodes(self, cycle: CycleState, pod: Pod, nodes: Nodes) -> Int64s:
        return np.zeros(len(nodes), dtype=np.int64)

    def reserve(self, cycle: CycleState, pod: Pod, node_name: str) -> Status | None:
        volumes: PodVolumes = cycle.read(_STATE)
        node = self.handle.node(node_name)
        if volumes.judgement is None or node is None or not volumes.delayed:
            volumes.all_bound = True
            return None
        judgement, row = volumes.judgement, node.row
        found, to_provision = judgement.bindings(row), judgement.to_provision(row)
        try:
            volumes.reserved = reserving.reserve(self._storage, found, to_provision, node_name)
        except AssumeFailed as error:
            self._failed("assume")
            return Status.error(str(error))
        return None

    def unreserve(self, cycle: CycleState, pod: Pod, node_name: str) -> None:
        volumes: PodVolumes | None = cycle.get(_STATE)
        if volumes is not None and volumes.reserved is not None:
            reserved = volumes.reserved
            reserving.give_back(self._storage, reserved.bindings, reserved.to_provision)

    def pre_bind_pre_flight(self, cycle: CycleState, pod: Pod, node_name: str) -> Status | None:
        volumes: PodVolumes = cycle.read(_STATE)
        if volumes.all_bound or self._is_in_memory:
            return Status.skip()
        return None if volumes.reserved is not None else _nothing_reserved(node_name)

    async def pre_bind(self, cycle: CycleState, pod: Pod, node_name: str) -> Status | None:
        volumes: PodVolumes = cycle.read(_STATE)
        if volumes.all_bound or self._is_in_memory:
            return None
        if volumes.reserved is None:
            return _nothing_reserved(node_name)
        if not self.handle.services.may_bind():
            return Status.error(NOT_THE_LEADER)
        try:
            return await self._bind(pod, node_name, volumes.reserved)
        except asyncio.CancelledError:
            self._failed("bind")
            raise

    async def _bind(self, pod: Pod, node_name: str, reserved: Reserved) -> Status | None:
        try:
            await binding.write(self.handle, self._storage, reserved)
            await binding.wait(
                self.handle, self._storage, pod, node_name, reserved, self.args.bind_timeout_seconds
            )
        except ApiError as error:
            problem = str(error)
        except binding.BindingFailed as error:
            problem = f"binding volumes: {error}"
        else:
            return None
        self._failed("bind")
        return Status.error(problem)

    @property
    def _is_in_memory(self) -> bool:
        """Whether there is nobody to write to: what is promised in memory is all there is then."""
        client = self.handle.services.client
        return client is None or client.http is None

    def _look_up(
        self, pod: Pod, claims: list[ClaimOfPod], found: list[PersistentVolumeClaim]
    ) -> Status | None:
        """Finds the claims as the watch brought them; what is wrong with one of them, if anything is."""
        for name, is_ephemeral in claims:
            claim = self._storage.claims.stored(name, namespace=pod.namespace)
            if claim is None:
                return Status.unresolvable(
                    f'waiting for ephemeral volume controller to create the persistentvolumeclaim "{name}"'
                    if is_ephemeral
                    else claim_not_found(name)
                )
            if claim.status.phase == "Lost":
                volume = claim.spec.volume_name
                return Status.unresolvable(
                    f'persistentvolumeclaim "{name}" bound to non-existent persistentvolume "{volume}"'
                )
            if claim.deleting:
                return Status.unresolvable(f'persistentvolumeclaim "{name}" is being deleted')
            problem = ownership_problem(pod, claim) if is_ephemeral else None
            if problem is not None:
                return Status.unresolvable(problem)
            found.append(claim)
        return None

    def _sort(self, stored: list[PersistentVolumeClaim], volumes: PodVolumes) -> Status | None:
        """Which claims are bound and which wait for a node; there may not be any other."""
        has_immediate = False
        for claim in map(self._storage.claims.shown, stored):
            if is_fully_bound(claim):
                volumes.bound.append(claim)
                continue
            class_name = class_of_claim(claim)
            storage_class = self._storage.classes.get(class_name) if class_name else None
            if storage_class is None:
                has_immediate = True
            elif storage_class.volume_binding_mode is None:
                return Status.error(f'VolumeBindingMode not set for StorageClass "{class_name}"')
            elif storage_class.volume_binding_mode == _WAIT_FOR_FIRST_CONSUMER and not claim.spec.volume_name:
                volumes.delayed.append(claim)
            else:
                has_immediate = True
        return _UNBOUND_IMMEDIATE if has_immediate else None

    def _failed(self, stage: str) -> None:
        self.handle.services.observer.volume_stage_failed(stage)


def _nothing_reserved(node_name: str) -> Status:
    return Status.error(f'no pod volume found for node "{node_name}"')
