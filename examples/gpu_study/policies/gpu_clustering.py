"""GpuClustering: pods of one kind together, those that share a GPU, have one, have two, ..."""

from __future__ import annotations

import numpy as np

from examples.gpu_study.devices import FreeNodes, Ints, kind_of
from examples.gpu_study.gpu_requests import GpuRequest
from examples.gpu_study.gpu_sharing import GpuSharing
from examples.gpu_study.policies.dot_prod import LARGEST_GPU


class GpuClustering(GpuSharing):
    """Prefers nodes with this kind of pods only, then those that have it too, then those without GPU pods."""

    def merits(self, request: GpuRequest, nodes: FreeNodes) -> Ints:
        if not request.gpus:
            return np.zeros(len(nodes), dtype=np.int64)
        kinds = self.devices.kinds[nodes.rows] > 0
        how_many = np.count_nonzero(kinds, axis=1)
        has_this = kinds[:, kind_of(request)]
        preferred = np.where(has_this, np.where(how_many == 1, 75, 50), np.where(how_many == 0, 25, 0))
        return preferred + 25 * (LARGEST_GPU - nodes.free_gpu) // LARGEST_GPU
