"""CapacityScheduling: namespaces have a min for sure, borrow up to a max, and give back by preemption."""

from __future__ import annotations

from moorage.api.pods import Pod
from moorage.api.workloads import PodDisruptionBudget
from moorage.contrib.capacity.demand import Demand
from moorage.contrib.capacity.quota_dry_run import SNAPSHOT, QuotaDryRun
from moorage.contrib.capacity.quotas import Quotas, QuotaSnapshot
from moorage.contrib.capacity.victims import may_be_going_for
from moorage.contrib.objects import ElasticQuota
from moorage.framework.cycle_state import CycleState
from moorage.framework.events import POD, Action, ClusterEvent, Hint
from moorage.framework.extension_points import PreFilterPlugin, ReservePlugin
from moorage.framework.handle import Handle
from moorage.framework.node_statuses import NodeStatuses
from moorage.framework.permissions import Permission
from moorage.framework.status import Nomination, Status
from moorage.plugins.preemption.default_preemption import DefaultPreemption
from moorage.state.node_info import NodeInfo

DEMAND = "PreFilterCapacityScheduling"
"""Where the cycle state has what the pod of an attempt asks of the quotas."""

_PREFIX = "preemption: "


class CapacityScheduling(DefaultPreemption, PreFilterPlugin, ReservePlugin):
    """Keeps namespaces to their ElasticQuota, and takes back for them what others have borrowed."""

    treats_like_pods_alike = False  # its messages name the pod
    args_type = None
    permissions = (Permission("delete", "", "pods"),)
    ignores_priorities = True

    def __init__(self, args: None, handle: Handle) -> None:
        super().__init__(None, handle)
        self._quotas = handle.shared(Quotas)

    # Whether the quotas hold

    def pre_filter(self, cycle: CycleState, pod: Pod) -> Status | None:
        self._quotas.tell()
        quotas, demand = self._look(cycle, pod)
        namespace = pod.namespace
        quota = quotas.of(namespace)
        if quota is None:
            return None
        rejected = f"Pod {pod.key} is rejected in PreFilter because"
        if quota.problem:
            return Status.unresolvable(f"{rejected} ElasticQuota {namespace} cannot be read: {quota.problem}")
        if demand.exceeds_max(namespace, quotas):
            return Status.unschedulable(f"{rejected} ElasticQuota {namespace} is more than Max")
        if demand.exceeds_total(quotas):
            return Status.unschedulable(f"{rejected} total ElasticQuota used is more than min")
        return None

    def _look(self, cycle: CycleState, pod: Pod) -> tuple[QuotaSnapshot, Demand]:
        quotas = self._quotas.snapshot()
        demand = self._demand(pod, quotas)
        cycle.write(SNAPSHOT, quotas)
        cycle.write(DEMAND, demand)
        return quotas, demand

    def _demand(self, pod: Pod, quotas: QuotaSnapshot) -> Demand:
        handle = self.handle
        nominated = (each for each in handle.nominator if handle.node(handle.nominator.node_of(each.uid)))
        return Demand.of(pod, nominated, quotas)

    def add_pod(self, cycle: CycleState, pod: Pod, other: Pod, node: NodeInfo) -> Status | None:
        quotas: QuotaSnapshot = cycle.read(SNAPSHOT)
        quotas.add(other)
        return None

    def remove_pod(self, cycle: CycleState, pod: Pod, other: Pod, node: NodeInfo) -> Status | None:
        quotas: QuotaSnapshot = cycle.read(SNAPSHOT)
        quotas.remove(other)
        return None

    # Taking back

    def post_filter(self, cycle: CycleState, pod: Pod, statuses: NodeStatuses) -> Nomination | Status:
        if self.handle.is_evicting_for(pod):
            return Status.unschedulable(f"{_PREFIX}waiting for the preemption for this pod to be finished")
        if pod.spec.preemption_policy != "Never" and cycle.get(DEMAND) is None:
            # It is not enabled at PreFilter, or another plugin ended PreFilter before it was asked.
            return Status.unschedulable(f"{_PREFIX}not eligible due to failed to read from cycleState")
        return super().post_filter(cycle, pod, statuses)

    def may_go_for(self, other: Pod, pod: Pod) -> bool:
        quotas = self._quotas.snapshot()
        return may_be_going_for(quotas, self._demand(pod, quotas), pod, other)

    def dry_run(self, cycle: CycleState, pod: Pod) -> QuotaDryRun:
        budgets = list(self.handle.state.objects.of(PodDisruptionBudget).list())
        # Who only asks what would be may do so after an attempt that ended before PreFilter came here.
        demand = cycle.get(DEMAND) or self._look(cycle, pod)[1]
        return QuotaDryRun(self.handle, cycle, pod, budgets, demand)

    def how_many(self, possible: int) -> int:
        return possible

    # What is in use

    def reserve(self, cycle: CycleState, pod: Pod, node_name: str) -> Status | None:
        self._quotas.reserve(pod)
        return None

    def unreserve(self, cycle: CycleState, pod: Pod, node_name: str) -> None:
        self._quotas.unreserve(pod)

    def events(self) -> list[ClusterEvent]:
        quotas = f"{ElasticQuota.resource}.{ElasticQuota.version}.{ElasticQuota.group}"
        return [
            ClusterEvent(POD, Action.DELETE | Action.UPDATE_POD_SCALE_DOWN, self._pod_left_room),
            ClusterEvent(quotas, Action.ALL, _quota_changed),
        ]

    def _pod_left_room(self, pod: Pod, old: Pod | None, new: Pod | None) -> Hint:
        left = old or new
        return Hint.SKIP if left is None or self._quotas.of(left.namespace) is None else Hint.QUEUE


def _quota_changed(pod: Pod, old: ElasticQuota | None, new: ElasticQuota | None) -> Hint:
    """Whatever is theirs for sure counts for all; what they use, which a controller writes down, does not."""
    return Hint.SKIP if old is not None and new is not None and old.spec == new.spec else Hint.QUEUE
