"""Moorage: fragmentation gradient descent with prices for models and sizes, and CPU kept in proportion."""

from __future__ import annotations

import numpy as np

from examples.gpu_study.devices import Ints
from examples.gpu_study.fragmentation import DIGITS, Floats, Fragmentation
from examples.gpu_study.gpu_requests import WHOLE, GpuRequest, PolicyArgs
from examples.gpu_study.gpu_values import gpu_values
from examples.gpu_study.options import ChoosesGpus, Options
from moorage import Handle

COST_OF_WASTE = 8
"""How many times as dear as other fragmentation it is to waste a part of a GPU for good."""
STEPS = 10
"""Costs are compared in tenths of a GPU; among equals the proportion of CPU to GPU decides."""
_FURTHEST = 1 << 21


class Moorage(ChoosesGpus):
    """The way that costs the least GPU: by fragmentation, by what is wasted, and by the model's scarcity.

    It knows what FGD knows, the typical pods, and the nodes.
    """

    def __init__(self, args: PolicyArgs, handle: Handle) -> None:
        super().__init__(args, handle)
        self._fragmentation = Fragmentation(args.typical_pods)
        self._values = gpu_values(args.typical_pods)
        self._scarcity = np.zeros(0)
        cpu = sum(pod.share * pod.cpu for pod in args.typical_pods if pod.gpus)
        gpu = sum(pod.share * pod.request.total for pod in args.typical_pods)
        self._cpu_per_gpu = cpu / gpu if gpu else 0.0

    def worth(self, request: GpuRequest, ways: Options) -> Ints:
        growth = self._fragmentation.growth(ways, self.devices.models)
        cost = growth / WHOLE + self._scarcities()[ways.before.models] * request.total / WHOLE
        if request.is_shared:
            cost += COST_OF_WASTE * self._waste(request, ways)
        steps = np.floor(np.round(-cost * STEPS, DIGITS)).astype(np.int64)
        return steps * 2 * _FURTHEST - self._imbalance(ways)

    def _waste(self, request: GpuRequest, ways: Options) -> Floats:
        """What the GPU was worth, less what the pod and what is left of the GPU are worth."""
        every = np.arange(len(ways.nodes))
        free = ways.before.gpus[every, ways.gpus]
        waste: Floats = self._values[free] - self._values[free - request.milli] - self._values[request.milli]
        return waste

    def _imbalance(self, ways: Options) -> Ints:
        """By how many thousandths of a CPU the node departs from the proportion that typical pods ask for."""
        before = np.abs(ways.before.cpu - self._cpu_per_gpu * ways.before.free_gpu)
        after = np.abs(ways.after.cpu - self._cpu_per_gpu * ways.after.free_gpu)
        growth: Ints = np.clip(after - before, 1 - _FURTHEST, _FURTHEST - 1).astype(np.int64)
        return growth

    def _scarcities(self) -> Floats:
        """How much more is asked for a GPU of each model than for one of the least wanted model.

        Every typical pod asks evenly for all GPUs that will do for it.
        """
        models = self.devices.models
        if len(self._scarcity) != len(models):
            self.devices.rows(self.handle.nodes)  # so that all nodes are counted
            there = self.devices.gpus_of_models()
            asked, all_asked = np.zeros(len(models)), 0.0
            for pod in self.args.typical_pods:
                will_do = np.array([pod.request.takes(model) for model in models]) & (there > 0)
                if pod.request.total and will_do.any():
                    asked += will_do * pod.share * pod.request.total / there[will_do].sum()
                    all_asked += pod.share * pod.request.total
            average = all_asked / there.sum() if all_asked else 1.0
            has_gpus = there > 0
            least = asked[has_gpus].min() if has_gpus.any() else 0.0
            self._scarcity = np.where(has_gpus, asked - least, 0) / average
        return self._scarcity
