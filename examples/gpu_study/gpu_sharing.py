"""GPUs that pods share: which nodes have room, which is best by a policy, and which GPUs a pod gets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from examples.gpu_study.devices import Devices, FreeNodes, Ints
from examples.gpu_study.gpu_requests import PLACE, GpuRequest, PolicyArgs, request_of
from moorage import (
    CycleState,
    FilterPlugin,
    Handle,
    Nodes,
    Pod,
    PreFilterPlugin,
    ReservePlugin,
    ScorePlugin,
    Status,
    Verdicts,
)

MOST_PLACES = 1 << 20
MOST_REQUESTS = 2000
"""Of so many different requests the merits are kept."""


class Kept(NamedTuple):
    """What a policy said about every node for one request, and about which state of the node."""

    merits: Ints
    cpu: Ints
    versions: Ints


class GpuSharing(PreFilterPlugin, FilterPlugin, ScorePlugin, ReservePlugin):
    """Keeps account of GPUs. What derives from it is a policy: it says how good a node is for a request.

    CPU and memory are left to NodeResourcesFit. The account is kept in memory, as the study needs it; in a
    cluster, PreBind would have to write the GPUs on the pod, and the account be made from the pods at start.
    """

    args_type = PolicyArgs
    args: PolicyArgs

    def __init__(self, args: PolicyArgs, handle: Handle) -> None:
        super().__init__(args, handle)
        self.devices = Devices()
        self._taken: dict[str, tuple[int, GpuRequest, Sequence[int]]] = {}
        self._kept: dict[GpuRequest, Kept] = {}
        self._on: dict[str, set[str]] = {}
        """The pods of `_taken` by node, as UIDs."""
        self._pod_counts = np.zeros(0, dtype=np.int64)

    # What a policy writes

    def merits(self, request: GpuRequest, nodes: FreeNodes) -> Ints:
        """How good each node is, in any unit; asked again only about nodes that have changed."""
        raise NotImplementedError

    def pick(self, request: GpuRequest, node: FreeNodes) -> int:
        """Which GPU of the node a pod gets that shares one: the fullest in which it has room."""
        gpus = node.gpus[0]
        return int(np.argmin(np.where(gpus >= request.milli, gpus, np.iinfo(np.int64).max)))

    # What the scheduler asks

    def pre_filter(self, cycle: CycleState, pod: Pod) -> None:
        """GPUs of pods that have ended are free again."""
        nodes = self.handle.nodes
        counts = nodes.pod_count
        if len(counts) != len(self._pod_counts):
            changed = np.arange(len(counts))
        else:
            changed = np.flatnonzero(counts != self._pod_counts)
        self._pod_counts = counts.copy()
        for index in changed.tolist():
            if known := self._on.get(nodes.names[index]):
                for uid in known - {each.uid for each in nodes.info(index).pods}:
                    self._give_back(uid, nodes.names[index])

    def filter_nodes(self, cycle: CycleState, pod: Pod, nodes: Nodes) -> Verdicts:
        request = request_of(pod)
        if not request.gpus:
            return Verdicts.passed()
        free = self.free(nodes)
        has_no_room = np.count_nonzero(free.gpus >= request.milli, axis=1) < request.gpus
        wrong = self.devices.have_wrong_model(request, free.rows)
        return Verdicts(np.where(wrong, 1, 2 * has_no_room), (None, _WRONG_MODEL, _NO_ROOM))

    def score_nodes(self, cycle: CycleState, pod: Pod, nodes: Nodes) -> Ints:
        """Merits, and among equals the place of the node."""
        places: Ints = nodes.column(PLACE, lambda node: int(node.labels.get(PLACE, "0")), np.int64)
        return self._merits(request_of(pod), self.free(nodes)) * MOST_PLACES - places

    def normalize_scores(self, cycle: CycleState, pod: Pod, scores: Ints) -> Ints:
        """The best node gets 100, the next 99, and so on: merits need not fit into 0 to 100."""
        best_first = np.argsort(-scores, kind="stable")
        ranks = np.empty_like(scores)
        ranks[best_first] = np.arange(len(scores))
        return np.maximum(100 - ranks, 0)

    def reserve(self, cycle: CycleState, pod: Pod, node_name: str) -> Status | None:
        request = request_of(pod)
        if request.gpus:
            nodes = self.handle.nodes
            index = nodes.index(node_name)
            assert index is not None
            node = self.free(nodes.subset(np.array([index])))
            if nodes.info(index).has(pod):
                node.cpu = (
                    node.cpu + request.cpu
                )  # the pod counts there already, and is to be judged as before
            gpus = [self.pick(request, node)] if request.is_shared else free_gpus(request, node.gpus[0])
            row = int(node.rows[0])
            self.devices.take(row, request, gpus)
            self._taken[pod.uid] = (row, request, gpus)
            self._on.setdefault(node_name, set()).add(pod.uid)
            if index < len(self._pod_counts):
                self._pod_counts[index] = -1  # one that comes hides one that goes
        return None

    def unreserve(self, cycle: CycleState, pod: Pod, node_name: str) -> None:
        self._give_back(pod.uid, node_name)

    # How it is done

    def free(self, nodes: Nodes) -> FreeNodes:
        return self.devices.free(self.devices.rows(nodes), nodes.allocatable["cpu"] - nodes.requested["cpu"])

    def gpus_of(self, pod: Pod) -> Sequence[int]:
        """The GPUs that were picked for a pod, by number."""
        return self._taken[pod.uid][2] if pod.uid in self._taken else ()

    def _give_back(self, uid: str, node_name: str) -> None:
        if uid in self._taken:
            self.devices.give_back(*self._taken.pop(uid))
            self._on[node_name].discard(uid)

    def _merits(self, request: GpuRequest, nodes: FreeNodes) -> Ints:
        size = len(self.devices.counts)
        kept = self._kept.get(request)
        if kept is None or len(kept.merits) != size:
            if len(self._kept) >= MOST_REQUESTS:
                self._kept.clear()
            kept = Kept(np.zeros(size, np.int64), np.zeros(size, np.int64), np.full(size, -1))
            self._kept[request] = kept
        rows, versions = nodes.rows, self.devices.versions[nodes.rows]
        changed = (kept.versions[rows] != versions) | (kept.cpu[rows] != nodes.cpu)
        if changed.any():
            asked = nodes.at(changed)
            kept.merits[asked.rows] = self.merits(request, asked)
            kept.cpu[asked.rows], kept.versions[asked.rows] = asked.cpu, versions[changed]
        return kept.merits[rows]


_WRONG_MODEL = Status.unresolvable("wrong GPU model")
_NO_ROOM = Status.unschedulable("too little of its GPUs is free")


def free_gpus(request: GpuRequest, gpus: Ints) -> Sequence[int]:
    """The first GPUs that have room, as many as are asked for."""
    found: list[int] = np.flatnonzero(gpus >= request.milli)[: request.gpus].tolist()
    return found
