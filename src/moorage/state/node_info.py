"""One node with its pods: what a plugin's node-by-node form is asked about."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from moorage.api.nodes import Node
from moorage.api.pods import Pod
from moorage.api.quantities import QuantityError
from moorage.api.requests import Resources, request_summary
from moorage.api.taints import Taint

if TYPE_CHECKING:
    from moorage.state.counts import PodClass
    from moorage.state.images import ImageState
    from moorage.state.node_table import NodeTable

HostPort = tuple[str, str, int]
"""Address, protocol, port."""


class PodInfo:
    """A pod with what was computed of it when it was placed; removal takes away exactly that."""

    __slots__ = ("nonzero", "pod", "pod_class", "problem", "request", "volume_uses")

    def __init__(self, pod: Pod, pod_class: PodClass) -> None:
        self.pod = pod
        self.pod_class = pod_class
        self.volume_uses = pod.volume_uses
        self.problem = ""
        try:
            _, self.request, self.nonzero, _ = request_summary(pod)
        except QuantityError as error:
            self.problem = f"pod {pod.key} has an invalid request and counts as asking for nothing: {error}"
            self.request = self.nonzero = Resources()


_Pods = tuple[dict[str, PodInfo], dict[str, Pod]]


class NodeInfo:
    """A node, the pods on it and what they use. Plugins read it and never change it."""

    __slots__ = ("_infos", "_pods", "_table", "images", "name", "node", "row", "used_ports")

    def __init__(self, table: NodeTable, name: str) -> None:
        """Made by the scheduler, not for plugins."""
        self.name = name
        """The name of the node."""
        self.row = -1
        """For the scheduler, not for plugins."""
        self.node: Node = Node()
        """The node as the API server has it: `node.node.status.conditions`, `node.node.raw`."""
        self.used_ports: set[HostPort] = set()
        """The host ports that pods here use, as (address, protocol, port)."""
        self.images: Mapping[str, ImageState] = {}
        """Image name to ImageState, of the images that are on the node."""
        self._table = table
        self._infos: dict[str, PodInfo] = {}
        self._pods: dict[str, Pod] = {}

    @property
    def exists(self) -> bool:
        """False for a node that pods name but the API server does not have."""
        return self.row >= 0

    @property
    def labels(self) -> dict[str, str]:
        """The labels of the node; read them, never change them."""
        return self.node.metadata.labels

    @property
    def annotations(self) -> dict[str, str]:
        """The annotations of the node."""
        return self.node.metadata.annotations

    @property
    def taints(self) -> tuple[Taint, ...]:
        """The taints of the node."""
        return self.node.spec.taints

    @property
    def allocatable(self) -> Resources:
        """What pods may use in all: cpu in millicores, the others in whole units."""
        return self._table.allocatable.at(self.row)

    @property
    def requested(self) -> Resources:
        """What the pods here ask for."""
        return self._table.requested.at(self.row)

    @property
    def nonzero_requested(self) -> Resources:
        """Cpu and memory with a default for containers that ask for nothing."""
        return self._table.nonzero_requested.at(self.row)

    @property
    def pods(self) -> Collection[Pod]:
        """The pods on the node, those included that are on their way there."""
        return self._pods.values()

    @property
    def pod_infos(self) -> Collection[PodInfo]:
        """For the scheduler, not for plugins."""
        return self._infos.values()

    def has(self, pod: Pod) -> bool:
        """Whether the pod is here, in whatever version."""
        return pod.uid in self._pods

    def info_of(self, pod: Pod) -> PodInfo | None:
        """For the scheduler, not for plugins."""
        return self._infos.get(pod.uid)

    def add(self, pod_info: PodInfo) -> None:
        """For the scheduler, not for plugins."""
        uid = pod_info.pod.metadata.uid
        self._infos[uid] = pod_info
        self._pods[uid] = pod_info.pod

    def remove(self, pod_info: PodInfo) -> None:
        """For the scheduler, not for plugins."""
        uid = pod_info.pod.metadata.uid
        del self._infos[uid]
        del self._pods[uid]

    def pod_changes(self) -> None:
        """For the scheduler, not for plugins: a pod here changed, though in nothing that is counted."""
        if self.row >= 0:
            self._table.pod_changes.note(self.row)

    def pods_as_they_are(self) -> _Pods:
        """For `put_pods_back`, not for plugins: who looks at `pods` now does not see later changes."""
        pods = self._infos, self._pods
        self._infos, self._pods = dict(self._infos), dict(self._pods)
        return pods

    def put_pods_back(self, pods: _Pods) -> None:
        """Restores the pods and their order; not for plugins."""
        self._infos, self._pods = pods

    def __repr__(self) -> str:
        return f"<NodeInfo {self.name} with {len(self._pods)} pods>"
