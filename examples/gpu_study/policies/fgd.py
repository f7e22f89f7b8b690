"""FGD, fragmentation gradient descent: the way that makes the fragmentation grow least."""

from __future__ import annotations

import numpy as np

from examples.gpu_study.devices import Ints
from examples.gpu_study.fragmentation import Fragmentation
from examples.gpu_study.gpu_requests import WHOLE, GpuRequest, PolicyArgs
from examples.gpu_study.options import ChoosesGpus, Options
from moorage import Handle


class FGD(ChoosesGpus):
    """The policy of the paper, with its scores: whole numbers from 0 to 100, so that many nodes are equal."""

    def __init__(self, args: PolicyArgs, handle: Handle) -> None:
        super().__init__(args, handle)
        self._fragmentation = Fragmentation(args.typical_pods)

    def worth(self, request: GpuRequest, ways: Options) -> Ints:
        growth = self._fragmentation.growth(ways, self.devices.models)
        return (100 / (1 + np.exp(growth / WHOLE))).astype(np.int64)
