"""Random: any node that fits, and any GPU on it."""

from __future__ import annotations

import random

import numpy as np

from examples.gpu_study.devices import FreeNodes, Ints
from examples.gpu_study.gpu_requests import GpuRequest, PolicyArgs
from examples.gpu_study.gpu_sharing import GpuSharing
from moorage import CycleState, Handle, Nodes, Pod


class Random(GpuSharing):
    """Throws dice."""

    def __init__(self, args: PolicyArgs, handle: Handle) -> None:
        super().__init__(args, handle)
        self._dice = random.Random(args.seed)

    def score_nodes(self, cycle: CycleState, pod: Pod, nodes: Nodes) -> Ints:
        scores = np.zeros(len(nodes), dtype=np.int64)
        scores[self._dice.randrange(len(nodes))] = 1
        return scores

    def pick(self, request: GpuRequest, node: FreeNodes) -> int:
        return int(self._dice.choice(np.flatnonzero(node.gpus[0] >= request.milli)))
