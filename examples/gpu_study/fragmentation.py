"""Fragmentation: how much free GPU typical pods could not use."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from examples.gpu_study.devices import FreeNodes
from examples.gpu_study.gpu_requests import TypicalPod
from examples.gpu_study.options import Options

Floats = NDArray[np.float64]

DIGITS = 6
"""To which sums are rounded, so that what is equal does not differ by their order."""


class Fragmentation:
    """The measure of the paper: for each typical pod, what is free on a node but of no use to it.

    That is everything if the pod does not fit there, or asks for no GPU; else what is free on those GPUs
    that have too little for it. The mean over typical pods, by their share, is the node's fragmentation.
    """

    def __init__(self, typical_pods: Sequence[TypicalPod]) -> None:
        self._typical = [pod for pod in typical_pods if pod.gpus and pod.milli]
        self._cpu = np.array([pod.cpu for pod in self._typical], dtype=np.int64)
        self._gpus = np.array([pod.gpus for pod in self._typical], dtype=np.int64)
        self._shares = np.array([pod.share for pod in self._typical], dtype=np.float64)
        sizes = [pod.milli for pod in self._typical]
        self._sizes, self._size_of = np.unique(np.array(sizes, dtype=np.int64), return_inverse=True)
        self._takes = np.zeros((0, len(self._typical)), dtype=np.bool_)

    def growth(self, ways: Options, models: Sequence[str]) -> Floats:
        """By how much it would grow, in thousandths of a GPU, for each way to put a pod on a node."""
        growth = self.of(ways.after, models) - self.of(ways.asked, models)[ways.nodes]
        return np.round(growth, DIGITS)

    def of(self, nodes: FreeNodes, models: Sequence[str]) -> Floats:
        """In thousandths of a GPU, for each node."""
        if len(self._takes) != len(models):
            takes = [[pod.request.takes(model) for pod in self._typical] for model in models]
            self._takes = np.array(takes, dtype=np.bool_).reshape(len(models), len(self._typical))
        has_room = nodes.gpus[:, None, :] >= self._sizes[None, :, None]
        useful = np.where(has_room, nodes.gpus[:, None, :], 0).sum(axis=2)[:, self._size_of]
        fits = np.count_nonzero(has_room, axis=2)[:, self._size_of] >= self._gpus
        fits &= self._takes[nodes.models]
        fits &= nodes.cpu[:, None] >= self._cpu
        fragments: Floats = nodes.free_gpu - (useful * fits) @ self._shares
        return fragments
