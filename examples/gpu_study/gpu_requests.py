"""What pods ask of GPUs and what nodes have of them, as annotations and labels."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from moorage import Pod

WHOLE = 1000
"""The thousandths of one GPU."""

GPUS = "example.com/gpus"
GPU_MILLI = "example.com/gpu-milli"
GPU_MODELS = "example.com/gpu-models"
"""On pods: how many GPUs, how many thousandths of each, and the models that will do, with `|` between."""

GPU_MODEL = "example.com/gpu-model"
PLACE = "example.com/place"
"""On nodes, beside GPUS: the model, and the node's place among equally good ones; the lowest goes first."""


class GpuRequest(NamedTuple):
    """All that a policy looks at in a pod."""

    cpu: int
    gpus: int = 0
    milli: int = 0
    """Thousandths of each GPU; fewer than 1000 share one with others."""
    models: str = ""

    @property
    def is_shared(self) -> bool:
        return self.gpus == 1 and self.milli < WHOLE

    @property
    def total(self) -> int:
        return self.gpus * self.milli

    def takes(self, model: str) -> bool:
        return not self.models or model in self.models.split("|")


def request_of(pod: Pod) -> GpuRequest:
    notes, cpu = pod.annotations, pod.requests["cpu"]
    gpus = int(notes.get(GPUS, "0"))
    if not gpus:
        return GpuRequest(cpu)
    return GpuRequest(cpu, gpus, int(notes.get(GPU_MILLI, WHOLE)), notes.get(GPU_MODELS, ""))


class TypicalPod(msgspec.Struct, frozen=True):
    """What many pods ask for, and which share of all pods they are, 0 to 1."""

    cpu: int
    gpus: int
    milli: int
    models: str
    share: float

    @property
    def request(self) -> GpuRequest:
        return GpuRequest(self.cpu, self.gpus, self.milli, self.models)


class PolicyArgs(msgspec.Struct, rename="camel"):
    typical_pods: list[TypicalPod] = []
    seed: int = 0
    """For policies that throw dice."""
