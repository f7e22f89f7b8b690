"""BestFit: the node on which the least is left."""

from __future__ import annotations

import numpy as np

from examples.gpu_study.devices import FreeNodes, Ints
from examples.gpu_study.gpu_requests import GpuRequest
from examples.gpu_study.gpu_sharing import GpuSharing
from examples.gpu_study.policies.dot_prod import LARGEST_CPU, LARGEST_GPU


class BestFit(GpuSharing):
    """Prefers the node with the smallest sum of CPU and GPU left."""

    def merits(self, request: GpuRequest, nodes: FreeNodes) -> Ints:
        left = (nodes.cpu - request.cpu) / LARGEST_CPU * 0.5
        left += (nodes.free_gpu - request.total) / LARGEST_GPU * 0.5
        return ((1 - left) * 100).astype(np.int64)
