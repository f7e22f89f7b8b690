"""DotProd: the node whose free resources and the pod's requests have the smallest product."""

from __future__ import annotations

import numpy as np

from examples.gpu_study.devices import FreeNodes, Ints
from examples.gpu_study.gpu_requests import GpuRequest
from examples.gpu_study.gpu_sharing import GpuSharing

LARGEST_CPU, LARGEST_GPU = 128_000, 8_000
"""What the largest node of the trace has: amounts are compared as shares of it."""


class DotProd(GpuSharing):
    """Prefers the node where little is free of what the pod asks for much."""

    def merits(self, request: GpuRequest, nodes: FreeNodes) -> Ints:
        product = (nodes.cpu / LARGEST_CPU) * (request.cpu / LARGEST_CPU)
        product += (nodes.free_gpu / LARGEST_GPU) * (request.total / LARGEST_GPU)
        return (100 * (1 - product / 2)).astype(np.int64)
