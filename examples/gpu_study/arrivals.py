"""In which order pods arrive, and which are typical: the protocol of the paper."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence

from examples.gpu_study.gpu_requests import TypicalPod
from examples.gpu_study.trace_files import TracePod

ASKED_PERCENT = 130
"""Pods arrive until they have asked for so much of all GPUs."""
TYPICAL_PERCENT = 95
"""The most frequent requests that make up this share of all pods are typical."""


def arrivals(pods: Sequence[TracePod], capacity: int, dice: random.Random) -> list[TracePod]:
    """All pods in a random order; then more of them, drawn at random, until enough was asked for.

    `capacity` is in thousandths of a GPU. If there are too many pods, some are left out at random.
    """
    arriving = list(pods)
    dice.shuffle(arriving)
    asked, most = sum(pod.request.total for pod in pods), capacity * ASKED_PERCENT // 100
    if asked >= most:
        while asked > most:
            asked -= arriving.pop(dice.randrange(len(arriving))).request.total
        return arriving
    while True:
        pod = dice.choice(pods)
        # As the authors do: a pod with several GPUs counts with one when it is asked whether it is too much.
        if asked + pod.request.milli > most:
            return arriving
        asked += pod.request.total
        arriving.append(pod)


def typical_pods(pods: Sequence[TracePod]) -> list[TypicalPod]:
    counts = Counter(pod.request for pod in pods)
    by_frequency = sorted(
        counts.items(),
        key=lambda item: (item[1], item[0].cpu, item[0].milli, item[0].gpus, item[0].models),
        reverse=True,
    )
    typical, covered = [], 0
    for request, count in by_frequency:
        if covered * 100 >= len(pods) * TYPICAL_PERCENT:
            break
        typical.append((request, count))
        covered += count
    return [TypicalPod(*request, share=count / covered) for request, count in typical]
