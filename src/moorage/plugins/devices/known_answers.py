"""What is known of nodes for claims that ask for the same: nodes that are alike share an answer.

Of each row a number is kept. Rows with the same number look the same to the search, in devices and in what of
them is in use, so that one of them is asked for all. A row is looked at again when something of its pools
changed.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import NamedTuple

import numpy as np

from moorage.api.nodes import Node
from moorage.framework.status import Status
from moorage.plugins.devices.allocation.allocator import Allocator, InCommon
from moorage.plugins.devices.allocation.in_use import DevicesInUse
from moorage.plugins.devices.allocation.slice_index import SliceIndex
from moorage.state.columns import Int32s, Int64s
from moorage.state.node_table import NodeTable
from moorage.state.nodes import Nodes

_UNKNOWN, OF_ITS_OWN = -1, 0
"""Numbers of rows that are to be looked at, and of such as share no answer."""
_MOST_ANSWERS = 8192


class Answer(NamedTuple):
    """What the search says of a node: why not, or that there is a plan and what it scores."""

    status: Status | None
    score: int = 0


class KnownAnswers:
    """The answers for one kind of claims."""

    def __init__(self, table: NodeTable, slices: SliceIndex, in_use: DevicesInUse) -> None:
        self.in_common = InCommon()
        self._table = table
        self._slices = slices
        self._in_use = in_use
        self._numbers: Int32s = np.empty(0, dtype=np.int32)
        self._made_of: tuple[int, int, int] = (-1, -1, -1)
        self._position = 0
        self._by_signature: dict[Hashable, int] = {}
        self._answers: list[Answer] = []
        """By number; the first stands for none."""
        self.statuses: list[Status | None] = [None]
        """What nodes are rejected with."""
        self.any_scores = False
        """Whether one of them scores anything."""
        self._codes = np.zeros(1, dtype=np.int32)
        self._scores = np.zeros(1, dtype=np.int64)
        self._forget()

    def numbers(self, nodes: Nodes, allocator: Allocator, ask: Callable[[Node], Answer]) -> Int32s:
        """For each node the number of its answer, or OF_ITS_OWN."""
        self._bring_up_to_date()
        rows = nodes.rows
        numbers: Int32s = self._numbers[rows]
        unknown = (numbers == _UNKNOWN).nonzero()[0]
        if len(unknown):
            for place in unknown.tolist():
                info = nodes.info(place)
                self._numbers[info.row] = self._number(info.node, allocator, ask)
            numbers = self._numbers[rows]
        return numbers

    def answer(self, number: int) -> Answer:
        return self._answers[number]

    def codes(self, numbers: Int32s) -> Int32s:
        """For numbers of answers the places of what they say in `statuses`."""
        if len(self._codes) < len(self._answers):
            places = {status: place for place, status in enumerate(self.statuses)}
            for answer in self._answers[len(self._codes) :]:
                if answer.status not in places:
                    places[answer.status] = len(self.statuses)
                    self.statuses.append(answer.status)
            said = [places[answer.status] for answer in self._answers]
            self._codes = np.array(said, dtype=np.int32)
        return self._codes[numbers]

    def scores(self, numbers: Int32s) -> Int64s:
        if len(self._scores) < len(self._answers):
            self._scores = np.array([answer.score for answer in self._answers], dtype=np.int64)
        return self._scores[numbers]

    def _number(self, node: Node, allocator: Allocator, ask: Callable[[Node], Answer]) -> int:
        signature = allocator.node_signature(node)
        if signature is None:
            return OF_ITS_OWN
        number = self._by_signature.get(signature)
        if number is None:
            answer = ask(node)
            if answer.status is not None and not answer.status.rejected:
                return OF_ITS_OWN  # its text names what is on this node
            number = self._by_signature[signature] = len(self._answers)
            self._answers.append(answer)
            self.any_scores = self.any_scores or answer.score != 0
        return number

    def _bring_up_to_date(self) -> None:
        made_of = (self._table.order_version, self._table.labels_version, self._slices.revision)
        changed = None if made_of != self._made_of else self._in_use.changes.since(self._position)
        self._position = self._in_use.changes.end
        if changed is None or len(self._answers) > _MOST_ANSWERS:
            self._made_of = made_of
            self._forget()
            return
        for pool in set(changed):
            homes = self._slices.homes_of(pool)
            if homes is None:
                self._numbers[:] = _UNKNOWN
                return
            for name in homes:
                info = self._table.by_name.get(name)
                if info is not None:
                    self._numbers[info.row] = _UNKNOWN

    def _forget(self) -> None:
        self._numbers = np.full(len(self._table), _UNKNOWN, dtype=np.int32)
        self._by_signature.clear()
        self._answers[:] = [Answer(None)]
        self.any_scores = False
        self._codes, self._scores = self._codes[:1], self._scores[:1]
