"""What the rest of a shared GPU is worth, by the sizes that pods typically ask for.

Which sizes go together on a GPU is a cutting-stock problem: pods of 650 and 320 thousandths fill one, two of
470 do, and beside one of 810 there is hardly anything to put. Its linear program has a price for every size.
The value of so many free thousandths is the dearest set of pods that fits into them; a whole GPU is worth 1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import gcd

import numpy as np
from numpy.typing import NDArray

from examples.gpu_study.gpu_requests import WHOLE, TypicalPod

Floats = NDArray[np.float64]

MOST_STEPS = 500
_CLOSE = 1e-7


def gpu_values(typical_pods: Sequence[TypicalPod]) -> Floats:
    """The value of 0, 1, ..., 1000 free thousandths."""
    demand: dict[int, float] = {}
    for pod in typical_pods:
        if pod.gpus and pod.milli:
            demand[pod.milli] = demand.get(pod.milli, 0.0) + pod.gpus * pod.share
    if not demand:
        return np.arange(WHOLE + 1) / WHOLE
    unit = gcd(WHOLE, *demand)
    values, _ = dearest_sets(_prices(demand, unit), unit)
    return np.repeat(values, unit)[: WHOLE + 1]


def _prices(demand: Mapping[int, float], unit: int) -> dict[int, float]:
    """The prices in the optimum, by column generation: a column says how many pods of each size share a GPU.

    It begins with GPUs for pods of one size only, and as long as a dearer set than a GPU is worth is found,
    that set takes the place of the column that is used up first.
    """
    sizes = sorted(demand)
    wanted = np.array([demand[size] for size in sizes])
    columns = np.diag([float(WHOLE // size) for size in sizes])
    prices: dict[int, float] = {}
    for _ in range(MOST_STEPS):
        dual = np.linalg.solve(columns.T, np.ones(len(sizes)))
        prices = dict(zip(sizes, dual.tolist(), strict=True))
        values, dearest = dearest_sets(prices, unit)
        if values[-1] <= 1 + _CLOSE:
            break
        new = np.array([float(dearest.count(size)) for size in sizes])
        used, gain = np.linalg.solve(columns, wanted), np.linalg.solve(columns, new)
        lasts = np.where(gain > _CLOSE, used / np.where(gain > _CLOSE, gain, 1), np.inf)
        columns[:, np.argmin(lasts)] = new
    return prices


def dearest_sets(prices: Mapping[int, float], unit: int) -> tuple[Floats, list[int]]:
    """The value of the dearest set of sizes for every number of units, and that set for a whole GPU."""
    count = WHOLE // unit
    values, last = np.zeros(count + 1), [0] * (count + 1)
    for room in range(1, count + 1):
        values[room] = values[room - 1]
        for size, price in prices.items():
            left = room - size // unit
            if left >= 0 and values[left] + price > values[room] + _CLOSE / 10:
                values[room], last[room] = values[left] + price, size
    dearest, room = [], count
    while room:
        dearest += [last[room]] if last[room] else []
        room -= last[room] // unit or 1
    return values, dearest
