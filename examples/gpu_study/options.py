"""The ways to put a pod on a node, for policies that look at what would be left."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from examples.gpu_study.devices import FreeNodes, Ints
from examples.gpu_study.gpu_requests import GpuRequest
from examples.gpu_study.gpu_sharing import GpuSharing


@dataclass
class Options:
    """One entry for every way, and the nodes that were asked about."""

    asked: FreeNodes
    nodes: NDArray[np.intp]
    """The place of the node among those asked about."""
    gpus: NDArray[np.intp]
    """The GPU of a pod that shares one; 0 for others."""
    before: FreeNodes
    after: FreeNodes


def options(request: GpuRequest, nodes: FreeNodes) -> Options:
    """A pod that shares a GPU may take any that has room; of equally full ones the first stands for all."""
    everywhere = np.arange(len(nodes))
    has_room = (nodes.gpus >= request.milli) & (request.gpus > 0)
    if request.is_shared:
        equal = nodes.gpus[:, :, None] == nodes.gpus[:, None, :]
        has_twin_before = np.tril(equal, -1).any(axis=2)
        of, gpus = np.nonzero(has_room & ~has_twin_before)
        taken = np.zeros((len(of), nodes.gpus.shape[1]), dtype=np.int64)
        taken[np.arange(len(of)), gpus] = request.milli
    else:
        of, gpus = everywhere, np.zeros(len(nodes), dtype=np.intp)
        taken = (has_room & (np.cumsum(has_room, axis=1) <= request.gpus)) * request.milli
    before = nodes.at(of)
    after = FreeNodes(before.rows, before.cpu - request.cpu, before.gpus - taken, before.models)
    return Options(nodes, of, gpus, before, after)


class ChoosesGpus(GpuSharing):
    """A policy that judges every way to put a pod on a node; the best counts for the node."""

    def worth(self, request: GpuRequest, ways: Options) -> Ints:
        """How good each way is, in any unit."""
        raise NotImplementedError

    def merits(self, request: GpuRequest, nodes: FreeNodes) -> Ints:
        ways = options(request, nodes)
        best = np.full(len(nodes), np.iinfo(np.int64).min >> 24)
        np.maximum.at(best, ways.nodes, self.worth(request, ways))
        return best

    def pick(self, request: GpuRequest, node: FreeNodes) -> int:
        ways = options(request, node)
        return int(ways.gpus[np.argmax(self.worth(request, ways))])
