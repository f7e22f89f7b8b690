"""GpuPacking: GPUs in use before idle ones, and nodes in use before idle ones."""

from __future__ import annotations

import numpy as np

from examples.gpu_study.devices import FreeNodes, Ints
from examples.gpu_study.gpu_requests import WHOLE, GpuRequest
from examples.gpu_study.gpu_sharing import GpuSharing


class GpuPacking(GpuSharing):
    """Prefers nodes where the pod fits on GPUs in use, then those with GPUs in use, then idle ones."""

    def merits(self, request: GpuRequest, nodes: FreeNodes) -> Ints:
        if not request.total:
            return np.zeros(len(nodes), dtype=np.int64)
        fullest_first = np.sort(nodes.gpus, axis=1)
        has_room = fullest_first >= request.milli
        taken = has_room & (np.cumsum(has_room, axis=1) <= request.gpus)
        idle_taken = np.count_nonzero(taken & (fullest_first == WHOLE), axis=1)
        free_percent = np.where(taken, fullest_first * 100 // WHOLE, 0).sum(axis=1)
        idle = np.count_nonzero(fullest_first == WHOLE, axis=1)
        on_used_gpus = np.maximum(100 - free_percent // 10, 50)
        on_used_nodes = np.maximum(50 - idle_taken, 33)
        on_idle_nodes = np.maximum(33 - idle, idle)
        is_idle = idle == self.devices.counts[nodes.rows]
        merits: Ints = np.where(is_idle, on_idle_nodes, np.where(idle_taken > 0, on_used_nodes, on_used_gpus))
        return merits
