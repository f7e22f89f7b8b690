"""The GPUs of all nodes, and what is free of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from examples.gpu_study.gpu_requests import GPU_MODEL, GPUS, WHOLE, GpuRequest
from moorage import Node, Nodes

Ints = NDArray[np.int64]


@dataclass
class FreeNodes:
    """What is free on some nodes."""

    rows: NDArray[np.intp]
    """Where the nodes stand in the tables of `Devices`."""
    cpu: Ints
    gpus: Ints
    """Thousandths by node and GPU; a GPU that a node does not have is one without anything free."""
    models: Ints
    """Codes; `Devices.models` has the names."""

    def __len__(self) -> int:
        return len(self.rows)

    def at(self, which: NDArray[Any]) -> FreeNodes:
        return FreeNodes(self.rows[which], self.cpu[which], self.gpus[which], self.models[which])

    @cached_property
    def free_gpu(self) -> Ints:
        total: Ints = self.gpus.sum(axis=1)
        return total


class Devices:
    """Which GPUs there are, and what of them is free; grows with the nodes that are seen."""

    def __init__(self) -> None:
        self.models: list[str] = []
        self.counts = np.zeros(0, dtype=np.int64)
        """How many GPUs each node has."""
        self.kinds = np.zeros((0, 1), dtype=np.int64)
        """How many pods of each kind a node has: those that share a GPU, with one GPU, with two, ..."""
        self.versions = np.zeros(0, dtype=np.int64)
        """Goes up with every change of a node's GPUs."""
        self._free = np.zeros((0, 0), dtype=np.int64)
        self._models = np.zeros(0, dtype=np.int64)
        self._rows: dict[str, int] = {}
        self._accepted: dict[str, NDArray[np.bool_]] = {}

    def rows(self, nodes: Nodes) -> NDArray[np.intp]:
        rows: NDArray[np.intp] = nodes.column("example.com/gpu-study-row", self._row, np.intp)
        return rows

    def row(self, node_name: str) -> int:
        return self._rows[node_name]

    def free(self, rows: NDArray[np.intp], cpu: Ints) -> FreeNodes:
        return FreeNodes(rows, cpu, self._free[rows], self._models[rows])

    def have_wrong_model(self, request: GpuRequest, rows: NDArray[np.intp]) -> NDArray[np.bool_]:
        accepted = self._accepted.get(request.models)
        if accepted is None or len(accepted) != len(self.models):
            accepted = np.array([request.takes(model) for model in self.models], dtype=np.bool_)
            self._accepted[request.models] = accepted
        wrong: NDArray[np.bool_] = ~accepted[self._models[rows]]
        return wrong

    def gpus_of_models(self) -> NDArray[np.float64]:
        """How many GPUs there are of each model."""
        gpus = np.zeros(len(self.models))
        np.add.at(gpus, self._models, self.counts)
        return gpus

    def take(self, row: int, request: GpuRequest, gpus: Sequence[int]) -> None:
        self._change(row, request, gpus, 1)

    def give_back(self, row: int, request: GpuRequest, gpus: Sequence[int]) -> None:
        self._change(row, request, gpus, -1)

    def _change(self, row: int, request: GpuRequest, gpus: Sequence[int], sign: int) -> None:
        for gpu in gpus:
            self._free[row, gpu] -= sign * request.milli
        self.kinds[row, kind_of(request)] += sign
        self.versions[row] += 1

    def _row(self, node: Node) -> int:
        """The row of a node, which is made when the node is seen for the first time."""
        row = self._rows.setdefault(node.name, len(self._rows))
        if row == len(self.counts):
            count, model = int(node.labels.get(GPUS, "0")), node.labels.get(GPU_MODEL, "")
            if model not in self.models:
                self.models.append(model)
            width = max(count, self._free.shape[1])
            self._free = _grown(self._free, row + 1, width)
            self._free[row, :count] = WHOLE
            self.kinds = _grown(self.kinds, row + 1, width + 1)
            self.counts = np.append(self.counts, count)
            self.versions = np.append(self.versions, 0)
            self._models = np.append(self._models, self.models.index(model))
        return row


def kind_of(request: GpuRequest) -> int:
    return 0 if request.is_shared else request.gpus


def _grown(table: Ints, rows: int, columns: int) -> Ints:
    return np.pad(table, ((0, rows - table.shape[0]), (0, columns - table.shape[1])))
