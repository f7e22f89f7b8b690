"""The cluster: nodes, their pods, and everything derived from them.

Pods are known by uid. A pod is either *assumed* (the scheduler chose its node and the API server has not
confirmed it) or *added* (the API server says so). A pod on a node that does not exist waits on a ghost:
a node without a row, which no plugin sees.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator

from moorage.api.nodes import Node
from moorage.api.pods import Condition, Pod, PodStatus, on_node
from moorage.api.sharing import share_parts, share_parts_of
from moorage.state.counts import PodCounts
from moorage.state.node_info import NodeInfo, PodInfo
from moorage.state.node_table import NodeTable
from moorage.state.nodes import Nodes
from moorage.state.objects import Objects
from moorage.state.ports import UsedPorts
from moorage.state.priorities import UsageByPriority
from moorage.state.trial import Trial
from moorage.state.undoing import Undoable, undo_all_but
from moorage.state.volumes import Volumes

log = logging.getLogger(__name__)


class Placement:
    """Where a pod is, and whether the API server knows it."""

    __slots__ = ("assumed", "info", "node")

    def __init__(self, info: PodInfo, node: NodeInfo, assumed: bool) -> None:
        self.info = info
        self.node = node
        self.assumed = assumed

    def takes_the_same_as(self, pod: Pod) -> bool:
        """Whether a newer version of the pod differs in nothing that is counted anywhere but its labels."""
        known = self.info.pod
        return (
            known.deleting == pod.deleting
            and known.spec == pod.spec
            and (known.status is pod.status or _takes_the_same(known.status, pod.status))
        )

    def confirm(self, pod: Pod) -> None:
        """The API server has the pod where it was assumed to be."""
        self.assumed = False
        self.node.pod_changes()
        share_parts_of(self.info.pod, pod)
        self.node.remove(self.info)
        self.info.pod = pod
        self.node.add(self.info)


def _takes_the_same(known: PodStatus, new: PodStatus) -> bool:
    return (
        known.container_statuses == new.container_statuses
        and known.init_container_statuses == new.init_container_statuses
        and known.resources == new.resources
        and known.allocated_resources == new.allocated_resources
        and _pending_resize(known) == _pending_resize(new)
    )


def _pending_resize(status: PodStatus) -> Condition | None:
    for condition in status.conditions:
        if condition.type == "PodResizePending":
            return condition
    return None


class AssumeError(Exception):
    """A pod that cannot be assumed or forgotten; the text says why."""


class ClusterState:
    def __init__(self) -> None:
        self.version = 0
        """Changes with every node, placed pod and other object that comes, changes or goes."""
        self.table = NodeTable()
        self.counts = PodCounts(self.table.columns)
        self.ports = UsedPorts(self.table.columns)
        self.trials: list[Undoable] = []
        """What has begun and not ended; each is about the nodes as those before it left them."""
        self.priorities = UsageByPriority(self.table, self.trials)
        self.objects = Objects()
        self.volumes = Volumes(self.table, self.objects)
        self._ghosts: dict[str, NodeInfo] = {}
        self._placements: dict[str, Placement] = {}
        self.away: dict[str, Pod] = {}
        """Pods that are taken from their nodes for as long as nothing else happens, by uid."""
        self.assumed_total = 0
        """How many pods are assumed."""

    def changes(self) -> None:
        """Something comes, changes or goes."""
        self.settle()
        self.version += 1

    @property
    def nodes(self) -> Nodes:
        return Nodes.all(self.table)

    def node(self, name: str) -> NodeInfo | None:
        return self.table.by_name.get(name)

    def pod(self, uid: str) -> Pod | None:
        found = self._placements.get(uid)
        return None if found is None else found.info.pod

    def placement(self, uid: str) -> Placement | None:
        return self._placements.get(uid)

    @property
    def pods(self) -> Iterator[Pod]:
        return (placement.info.pod for placement in self._placements.values())

    @property
    def pod_total(self) -> int:
        return len(self._placements)

    # Nodes

    def put_node(self, node: Node) -> None:
        """Adds a node or replaces what is known of it."""
        self.changes()
        info = self.table.by_name.get(node.name)
        if info is not None:
            self.table.update(info, node)
            return
        ghost = self._ghosts.pop(node.name, None) or NodeInfo(self.table, node.name)

        def add() -> None:
            self.table.add(ghost, node)
            self.volumes.limits.fill_row(ghost)

        self._with_pods_off(ghost, add)

    def remove_node(self, name: str) -> None:
        """Forgets a node; while it has pods a ghost stays, so that the pods are known if it comes back."""
        info = self.table.by_name.get(name)
        if info is None:
            return
        self.changes()
        self._with_pods_off(info, lambda: self.table.remove(info))
        info.node = Node()
        if info.pods:
            self._ghosts[name] = info

    def _with_pods_off(self, info: NodeInfo, change: Callable[[], None]) -> None:
        """Lets a node get or lose its row while no pod is counted there; its ports stay as they are."""
        pod_infos, ports = list(info.pod_infos), set(info.used_ports)
        for pod_info in pod_infos:
            self._take_off(info, pod_info)
        change()
        for pod_info in pod_infos:
            self._put_on(info, pod_info)
        self.ports.free(info, info.used_ports - ports)

    # Pods

    def add_pod(self, pod: Pod) -> None:
        """A pod that the API server shows on a node; it replaces what was assumed or known of it."""
        if not pod.uid:
            log.warning("pod %s has no uid and is left out", pod.key)
            return
        self.changes()
        known = self._placements.get(pod.uid)
        if known is not None:
            if known.assumed and known.node.name != pod.spec.node_name:
                log.warning(
                    "pod %s was assumed on node %s and is on %s", pod.key, known.node.name, pod.spec.node_name
                )
            elif known.takes_the_same_as(pod):
                # Another pod with the same port may have freed it.
                self.ports.take(known.node, known.info.pod.host_ports)
                self.assumed_total -= known.assumed
                if known.info.pod.metadata.labels != pod.metadata.labels:
                    # API servers give a pod the zone of its node when it is bound: this is the usual case.
                    self._classify_anew(known, pod)
                known.confirm(pod)
                return
            self._drop(pod.uid)
        share_parts(pod)
        self._place(pod, pod.spec.node_name, assumed=False)

    def _classify_anew(self, placement: Placement, pod: Pod) -> None:
        info, node = placement.info, placement.node
        new = self.counts.class_of(pod)
        if node.row >= 0:
            self.counts.remove(node, info.pod_class)
            new = self.counts.place(node, new)
        info.pod_class = new

    def remove_pod(self, uid: str) -> Pod | None:
        """Forgets a pod, assumed or added; returns it, or None if it was unknown."""
        return self._drop(uid)

    def assume(self, pod: Pod, node_name: str) -> Pod:
        """Places a pod on the node chosen for it; returns the copy that has this node as its `nodeName`."""
        uid = pod.metadata.uid
        if uid in self._placements:
            raise AssumeError(f"pod {uid}({pod.key}) is in the cache, so can't be assumed")
        if not uid:
            raise AssumeError(f"pod {pod.key} has no uid, so can't be assumed")
        assumed = on_node(pod, node_name)
        assumed.__dict__.update(pod.__dict__)
        self._place(assumed, node_name, assumed=True)
        return assumed

    def forget(self, pod: Pod) -> None:
        """Takes back an assumption; nothing happens if the pod is gone already."""
        known = self._placements.get(pod.uid)
        if known is None:
            return
        there = known.node.name
        if pod.spec.node_name != there:
            raise AssumeError(
                f"pod {pod.uid}({pod.key}) was assumed on {pod.spec.node_name} but assigned to {there}"
            )
        if not known.assumed:
            raise AssumeError(f"pod {pod.uid}({pod.key}) wasn't assumed so cannot be forgotten")
        self._drop(pod.uid)

    def take_away(self, uid: str) -> Placement | None:
        """Takes a pod from its node until `put_back`, for as long as nothing else happens."""
        placement = self._placements.get(uid)
        if placement is not None:
            self._drop(uid)
            self.away[uid] = placement.info.pod
        return placement

    def put_back(self, placement: Placement) -> None:
        """Has a pod where it was before `take_away`."""
        del self.away[placement.info.pod.uid]
        self._place(placement.info.pod, placement.node.name, assumed=placement.assumed)

    def is_assumed(self, uid: str) -> bool:
        known = self._placements.get(uid)
        return known is not None and known.assumed

    # What if

    def what_if(self, info: NodeInfo, of: object = None) -> Trial:
        """Lets pods be added to and removed from one node's row; everything is undone at the end."""
        return Trial(self, info, of)

    def settle(self) -> None:
        """Ends trials that were left open: nobody but who began them may see a node as it only would be."""
        if self.trials:
            log.error(
                "a plugin left a what-if open: it has to end before the method does and before an await"
            )
            self.undo_trials()

    def undo_trials(self, keep: int = 0) -> None:
        """Ends all trials but the first so many."""
        undo_all_but(keep, self.trials)

    def pod_info(self, pod: Pod) -> PodInfo:
        return PodInfo(pod, self.counts.class_of(pod))

    # The parts of a row that pods change

    def use(self, info: NodeInfo, pod_info: PodInfo) -> None:
        """Adds a pod to a node's row: usage, ports, volumes, the list of pods. Counts are not touched."""
        info.add(pod_info)
        self.ports.take(info, pod_info.pod.host_ports)
        if pod_info.volume_uses:
            self.volumes.use(info.name, pod_info.volume_uses)
        if info.row >= 0:
            table = self.table
            table.requested.hold(info.row, pod_info.request)
            table.nonzero_requested.hold(info.row, pod_info.nonzero)
            table.pod_count.data[info.row] += 1
            table.usage_changes.note(info.row)
            table.pod_changes.note(info.row)

    def unuse(self, info: NodeInfo, pod_info: PodInfo) -> None:
        info.remove(pod_info)
        self.ports.free(info, pod_info.pod.host_ports)
        if pod_info.volume_uses:
            self.volumes.unuse(info.name, pod_info.volume_uses)
        if info.row >= 0:
            table = self.table
            table.requested.release(info.row, pod_info.request)
            table.nonzero_requested.release(info.row, pod_info.nonzero)
            table.pod_count.data[info.row] -= 1
            table.usage_changes.note(info.row)
            table.pod_changes.note(info.row)

    def _put_on(self, info: NodeInfo, pod_info: PodInfo) -> None:
        self.use(info, pod_info)
        if info.row >= 0:
            pod_info.pod_class = self.counts.place(info, pod_info.pod_class)
            self.priorities.place(info, pod_info)

    def _take_off(self, info: NodeInfo, pod_info: PodInfo) -> None:
        self.unuse(info, pod_info)
        if info.row >= 0:
            self.counts.remove(info, pod_info.pod_class)
            self.priorities.remove(info, pod_info)

    def _place(self, pod: Pod, node_name: str, *, assumed: bool) -> None:
        self.changes()
        info = self.table.by_name.get(node_name) or self._ghosts.get(node_name)
        if info is None:
            info = self._ghosts[node_name] = NodeInfo(self.table, node_name)
        pod_info = self.pod_info(pod)
        if pod_info.problem:
            log.warning("%s", pod_info.problem)
        self._put_on(info, pod_info)
        self._placements[pod.uid] = Placement(pod_info, info, assumed)
        self.assumed_total += assumed

    def _drop(self, uid: str) -> Pod | None:
        placement = self._placements.pop(uid, None)
        if placement is None:
            return None
        self.assumed_total -= placement.assumed
        self.changes()
        info = placement.node
        self._take_off(info, placement.info)
        if info.row < 0 and not info.pods:
            self._ghosts.pop(info.name, None)
        return placement.info.pod

    @property
    def ghost_count(self) -> int:
        return len(self._ghosts)
