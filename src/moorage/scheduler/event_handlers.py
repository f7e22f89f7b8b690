"""What changes in the cluster mean for the pods that wait."""

from __future__ import annotations

import time
from collections.abc import Mapping

from moorage.api.meta import Object
from moorage.api.nodes import Node
from moorage.api.pods import Pod
from moorage.api.quantities import QuantityError
from moorage.config.feature_gates import GANG_SCHEDULING
from moorage.framework.events import ASSIGNED_POD, Action, ClusterEvent
from moorage.framework.handle import Services
from moorage.framework.logger import Logger
from moorage.framework.runtime.profile import Profile
from moorage.queue.change_events import (
    ASSIGNED_POD_ADD,
    ASSIGNED_POD_DELETE,
    ASSIGNED_POD_UPDATE,
    NODE_ADD,
    NODE_DELETE,
    UNSCHEDULABLE_POD_ADD,
    UNSCHEDULABLE_POD_DELETE,
    UNSCHEDULABLE_POD_UPDATE,
    node_events,
    pod_events,
)
from moorage.queue.scheduling_queue import SchedulingQueue
from moorage.scheduler.legacy_annotation import LegacyAnnotation

log = Logger(__name__)

_ASSIGNED_ADDED = ASSIGNED_POD_ADD.label
_WAITING_ADDED = UNSCHEDULABLE_POD_ADD.label
_WAITING_DELETED = UNSCHEDULABLE_POD_DELETE.label


class EventHandlers:
    """Follows the door: has those pods queued that wait, and those tried again that a change may help."""

    def __init__(
        self,
        services: Services,
        profiles: Mapping[str, Profile],
        queue: SchedulingQueue,
        legacy_annotation: str = "ignore",
    ) -> None:
        self._services = services
        self._state = services.state
        self._profiles = profiles
        self._queue = queue
        self._tells_of_waiting = services.gates.enabled(GANG_SCHEDULING)
        self._legacy = LegacyAnnotation(legacy_annotation, profiles)
        self.adopt = self._legacy.apply

    # Nodes

    def node_changed(self, old: Node | None, new: Node | None) -> None:
        started = time.perf_counter()
        if new is None:
            self._queue.move_all(NODE_DELETE, old, None)
            self._handled(NODE_DELETE, started)
        elif old is None:
            self._queue.move_all(NODE_ADD, None, new)
            self._handled(NODE_ADD, started)
        else:
            self._node_updated(old, new, started)

    def _node_updated(self, old: Node, new: Node, started: float) -> None:
        try:
            events = node_events(old, new)
        except QuantityError as error:
            log.error(error, "Node has an invalid amount", node=new)
            events = [ClusterEvent(NODE_ADD.resource, Action.UPDATE)]
        self._move_for_each(events, old, new, started)

    # Pods

    def pod_changed(self, old: Pod | None, new: Pod | None) -> None:
        if new is None:
            assert old is not None
            self._gone(old)
        elif old is None:
            self._appeared(new)
        else:
            self._updated(old, new)

    def _appeared(self, pod: Pod) -> None:
        if pod.spec.node_name:
            self._assigned(pod)
            return
        self._legacy.appeared(pod)
        if pod.spec.scheduler_name in self._profiles:
            started = time.perf_counter()
            log.info(3, "Add event for unscheduled pod", pod=pod)
            self._queue.add(pod)
            if self._tells_of_waiting:
                # It may be the one for which its gang has waited.
                self._queue.move_all(UNSCHEDULABLE_POD_ADD, None, pod)
            self._told(_WAITING_ADDED, started)

    def _updated(self, old: Pod, new: Pod) -> None:
        if new.spec.node_name:
            if old.spec.node_name:
                self._assigned_updated(old, new)
            else:
                started = time.perf_counter()
                self._queue.delete(old)
                if old.spec.scheduler_name in self._profiles:
                    log.info(3, "Delete event for unscheduled pod", pod=new)
                    self._told(_WAITING_DELETED, started)
                self._assigned(new)
        elif new.spec.scheduler_name in self._profiles:
            self._waiting_updated(old, new)
        elif old.spec.scheduler_name in self._profiles:
            # It was handed to another scheduler.
            self._waiting_deleted(old)

    def _gone(self, pod: Pod) -> None:
        if pod.spec.node_name:
            started = time.perf_counter()
            log.info(3, "Delete event for scheduled pod", pod=pod)
            self._queue.move_all(ASSIGNED_POD_DELETE, pod, None)
            self._handled(ASSIGNED_POD_DELETE, started)
        elif pod.spec.scheduler_name in self._profiles:
            self._waiting_deleted(pod)

    def _assigned(self, pod: Pod) -> None:
        started = time.perf_counter()
        log.info(3, "Add event for scheduled pod", pod=pod)
        self._queue.move_all(ASSIGNED_POD_ADD, None, pod)
        self._told(_ASSIGNED_ADDED, started)

    def _assigned_updated(self, old: Pod, new: Pod) -> None:
        started = time.perf_counter()
        try:
            events = pod_events(old, new, ASSIGNED_POD)
        except QuantityError as error:
            log.error(error, "Pod has an invalid amount", pod=new)
            events = [ASSIGNED_POD_UPDATE]
        self._move_for_each(events, old, new, started)
        self._handled(ASSIGNED_POD_UPDATE, started)  # on top of each of its events, as kube-scheduler counts

    def _waiting_updated(self, old: Pod, new: Pod) -> None:
        started = time.perf_counter()
        self._update_waiting(old, new)
        self._handled(UNSCHEDULABLE_POD_UPDATE, started)

    def _update_waiting(self, old: Pod, new: Pod) -> None:
        assumed = self._state.is_assumed(new.uid)
        if assumed and new.deleting and not old.deleting:
            self._assumed_deleted(new)
            return
        try:
            self._queue.update(old, new, assumed=assumed)
        except QuantityError as error:
            log.error(error, "Pod has an invalid amount", pod=new)
        nominated = old.status.nominated_node_name
        if nominated and nominated != new.status.nominated_node_name and not assumed:
            self._room_for_lesser(old)

    def _waiting_deleted(self, pod: Pod) -> None:
        started = time.perf_counter()
        log.info(3, "Delete event for unscheduled pod", pod=pod)
        self._queue.delete(pod)
        if self._state.is_assumed(pod.uid):
            self._assumed_deleted(pod)
        elif pod.status.nominated_node_name:
            self._room_for_lesser(pod)
        self._handled(UNSCHEDULABLE_POD_DELETE, started)

    def _assumed_deleted(self, pod: Pod) -> None:
        """A pod that was about to be bound goes: its wait ends, or the room it took is free at once."""
        placement = self._state.placement(pod.uid)
        old = placement.info.pod if placement else pod
        if not self._services.waiting_pods.reject(pod.uid):
            self._state.forget(old)
        self._queue.move_all(ASSIGNED_POD_DELETE, old, None)

    def _room_for_lesser(self, pod: Pod) -> None:
        """A nomination ended: pods that had to stand back for it may try."""
        self._queue.move_all(
            ASSIGNED_POD_DELETE, pod, None, pre_check=lambda other: other.priority <= pod.priority
        )

    # Everything else

    def object_changed(self, resource: str, old: Object | None, new: Object | None) -> None:
        action = Action.ADD if old is None else Action.DELETE if new is None else Action.UPDATE
        started, event = time.perf_counter(), ClusterEvent(resource, action)
        self._queue.move_all(event, old, new)
        if self._queue.wants(event):
            self._handled(event, started)

    def _move_for_each(self, events: list[ClusterEvent], old: Object, new: Object, started: float) -> None:
        """Tells the queue of a change that is several events; each took the update and its own move."""
        updating = time.perf_counter() - started
        for event in events:
            began = time.perf_counter()
            self._queue.move_all(event, old, new)
            self._handled(event, began - updating)

    def _handled(self, event: ClusterEvent, started: float) -> None:
        self._told(event.label, started)

    def _told(self, label: str, started: float) -> None:
        self._services.observer.event_handled(label, time.perf_counter() - started)
