"""Coscheduling: the members of a PodGroup get their nodes together, enough of them or none."""

from __future__ import annotations

import math
from collections.abc import Collection

import msgspec

from moorage.api.pods import Pod
from moorage.api.requests import parse_resources
from moorage.api.resources import PODS
from moorage.contrib.coscheduling.free_resources import missing_resources
from moorage.contrib.coscheduling.pod_groups import PodGroups, created_at, key_of, minimum_of
from moorage.contrib.objects import PodGroup
from moorage.framework.background import every
from moorage.framework.cycle_state import CycleState
from moorage.framework.events import NODE, POD, Action, ClusterEvent, Hint
from moorage.framework.extension_points import PermitPlugin, PreFilterPlugin, QueueSortPlugin
from moorage.framework.gangs import Gang, GangPlugin, home_of
from moorage.framework.handle import Handle
from moorage.framework.loading.registry import PluginLoadError
from moorage.framework.queued_pod import QueuedPod
from moorage.framework.status import Status


class CoschedulingArgs(msgspec.Struct, rename="camel", kw_only=True, forbid_unknown_fields=True):
    permit_waiting_time_seconds: int = 60
    """As in scheduler-plugins. Nobody waits for other members here; a group that failed once comes after
    younger ones for twice this time."""
    pod_group_backoff_seconds: int = 0
    """For so long a group that failed is not tried again; 0 leaves it to the backoff of its pods."""
    pod_group_reject_percentage: int = 10
    """As in scheduler-plugins, where it says how many members may be missing before all others are turned
    away. Without effect: members are tried together."""


class Coscheduling(QueueSortPlugin, PreFilterPlugin, PermitPlugin, GangPlugin):
    """Gives the members of a PodGroup their nodes in one step, enough of them or none."""

    args_type = CoschedulingArgs

    def __init__(self, args: CoschedulingArgs | None, handle: Handle) -> None:
        super().__init__(args or CoschedulingArgs(), handle)
        _check(self.args)
        self._groups = handle.shared(PodGroups)
        self._failed_at: dict[str, float] = {}
        """By the key of a group: when it was last tried in vain."""
        self._backs_off_until: dict[str, float] = {}
        handle.lister_of(PodGroup).on_change(deleted=self._forget)
        handle.lister_of(Pod).on_change(added=self._member_came)

    def events(self) -> list[ClusterEvent]:
        address = f"{PodGroup.resource}.{PodGroup.version}.{PodGroup.group}"
        return [
            ClusterEvent(address, Action.ADD | Action.UPDATE, _group_changed),
            ClusterEvent(NODE, Action.ADD | Action.UPDATE_NODE_ALLOCATABLE, self._needs_resources),
            ClusterEvent(POD, Action.DELETE | Action.UPDATE_POD_SCALE_DOWN, self._needs_resources),
        ]

    def _needs_resources(self, pod: Pod, old: object, new: object) -> Hint:
        """Whether room anywhere may be what its group has waited for."""
        group = self._groups.of(pod)
        return Hint.SKIP if group is None or group.spec.min_resources is None else Hint.QUEUE

    # The order of the queue

    def sort_key(self, queued: QueuedPod) -> tuple[int, bool, float, str]:
        group = self._groups.of(queued.pod)
        # A group that lost members, or whose binding another scheduler began, must not wait for others.
        is_late = group is None or not self._groups.is_unfinished(group)
        return -queued.pod.priority, is_late, self._since(queued, group), queued.pod.key

    def _since(self, queued: QueuedPod, group: PodGroup | None) -> float:
        """When the pod got its place in the queue: with its group, which goes back when it fails."""
        if group is not None:
            failed = self._last_failure(group.key)
            created = created_at(group) if failed is None else failed
            if created is not None:
                return created
        return queued.timestamp if queued.first_attempt_time is None else queued.first_attempt_time

    def _last_failure(self, key: str) -> float | None:
        failed = self._failed_at.get(key)
        if failed is not None and self.handle.clock() - failed > 2 * self.args.permit_waiting_time_seconds:
            del self._failed_at[key]
            return None
        return failed

    # The gang

    def gang_of(self, pod: Pod) -> Gang | None:
        return self._groups.gang_of(pod)

    def missing_gang(self, pod: Pod) -> str:
        return key_of(pod) if self._groups.of(pod) is None else ""

    def members_of(self, gang: Gang) -> Collection[Pod]:
        return self._groups.members(gang.key)

    def gang_tried(self, gang: Gang, *, is_placed: bool) -> None:
        if is_placed:
            self._failed_at.pop(gang.key, None)
            return
        now = self.handle.clock()
        self._failed_at[gang.key] = now
        seconds = self.args.pod_group_backoff_seconds
        if seconds and len(self.members_of(gang)) >= gang.minimum:
            self._backs_off_until.setdefault(gang.key, now + seconds)

    def _member_came(self, pod: Pod) -> None:
        """Has its group tried if one that somebody else has placed makes the members enough."""
        group = self._groups.of(pod) if pod.spec.node_name else None
        if group is not None:
            members = self._groups.members(group.key)
            if len(members) == minimum_of(group):
                self.handle.activate(list(members))

    def _forget(self, group: PodGroup) -> None:
        self._failed_at.pop(group.key, None)
        self._backs_off_until.pop(group.key, None)

    # What a group needs before it is tried

    def pre_filter(self, cycle: CycleState, pod: Pod) -> Status | set[str] | None:
        group = self._groups.of(pod)
        if group is None:
            return Status.skip()
        if self._backs_off_until and self._backs_off(group.key):
            return Status.unresolvable(f"podGroup {group.key} failed recently")
        members = [each for each in self._groups.members(group.key) if not each.deleting]
        minimum = minimum_of(group)
        if len(members) < minimum:
            return Status.unresolvable(
                f"pre-filter pod {pod.name} cannot find enough sibling pods, "
                f"current pods number: {len(members)}, minMember of group: {minimum}"
            )
        gated = len([each for each in members if each.spec.scheduling_gates])
        if gated and len(members) - gated < minimum:
            return Status.unresolvable(
                f"pre-filter pod {pod.name} cannot proceed due to gated pods in the same PodGroup"
            )
        problem = self._problem_with_resources(group, minimum)
        return problem or self._where_others_are(pod, members) or Status.skip()

    def _where_others_are(self, pod: Pod, members: Collection[Pod]) -> set[str] | None:
        """The nodes to which a gang keeps that has to stay together and has members on nodes."""
        gang = self.gang_of(pod)
        if gang is None or not gang.is_topology_required:
            return None
        return home_of(self.handle.state, gang, members)

    def _problem_with_resources(self, group: PodGroup, minimum: int) -> Status | None:
        wanted = group.spec.min_resources
        if wanted is None:
            return None
        try:
            needed = parse_resources(wanted)
        except ValueError as error:
            return Status.unresolvable(f"podGroup {group.key}: spec.minResources: {error}")
        members = self._groups.members(group.key)
        missing = missing_resources(self.handle.state, {**needed, PODS: minimum}, members)
        if not missing:
            return None
        listed = " ".join(f"{name}:{_shown(name, amount)}" for name, amount in sorted(missing.items()))
        return Status.unresolvable(f"resource gap: map[{listed}]")

    def _backs_off(self, key: str) -> bool:
        return self.handle.clock() < self._backs_off_until.get(key, -math.inf)

    @every(1)
    def end_backoffs(self) -> None:
        """Has groups tried again whose backoff is over."""
        for key in [key for key in self._backs_off_until if not self._backs_off(key)]:
            del self._backs_off_until[key]
            self.handle.activate(list(self._groups.members(key)))

    # A group that does not exist

    def permit(self, cycle: CycleState, pod: Pod, node_name: str) -> Status | None:
        if key_of(pod) and self._groups.of(pod) is None:
            return Status.unschedulable("PodGroup not found")
        return None


def _group_changed(pod: Pod, old: PodGroup | None, new: PodGroup | None) -> Hint:
    """Its own group counts, and what it asks for; what the controller writes down of it does not."""
    if new is None or key_of(pod) != new.key:
        return Hint.SKIP
    is_same = old is not None and old.spec == new.spec and old.annotations == new.annotations
    return Hint.SKIP if is_same else Hint.QUEUE


def _shown(name: str, amount: int) -> str:
    return f"{amount}m" if name == "cpu" else str(amount)


def _check(args: CoschedulingArgs) -> None:
    for name, value in (
        ("permitWaitingTimeSeconds", args.permit_waiting_time_seconds),
        ("podGroupBackoffSeconds", args.pod_group_backoff_seconds),
    ):
        if value < 0:
            raise PluginLoadError(f"{name}: Invalid value: {value}: must be greater than 0")
    if not 0 <= args.pod_group_reject_percentage <= 100:
        value = args.pod_group_reject_percentage
        raise PluginLoadError(f"podGroupRejectPercentage: Invalid value: {value}: must be between 0 and 100")
