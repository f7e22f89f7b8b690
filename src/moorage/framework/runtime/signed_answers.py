"""What plugins said about nodes that promise, by `sign`, to say the same again."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from moorage.api.pods import Pod
from moorage.framework.extension_points import Plugin
from moorage.framework.runtime.calls import Question, ask
from moorage.framework.status import Status
from moorage.framework.verdicts import Verdicts
from moorage.state.columns import Int64s
from moorage.state.lru import Lru
from moorage.state.node_table import NodeTable
from moorage.state.nodes import Nodes

if TYPE_CHECKING:
    from moorage.framework.runtime.profile import Profile

T = TypeVar("T")

_SIGNATURES = 64


def _hashable(signature: object) -> Hashable:
    hash(signature)
    return signature


_SIGN = Question("Sign", _hashable)


class SignedRows:
    """The rows that a plugin was asked about for one signature, and that have not changed since."""

    def __init__(self, table: NodeTable) -> None:
        self._table = table
        self._order = -1
        self._position = 0
        self._known = np.zeros(0, dtype=np.bool_)

    def unknown(self, rows: NDArray[np.intp]) -> NDArray[np.intp]:
        """Those of the rows that the plugin has to be asked about."""
        table, changes = self._table, self._table.pod_changes
        changed = changes.since(self._position)
        if self._order != table.order_version or changed is None:
            self._known = np.zeros(len(table), dtype=np.bool_)
            self._begin(len(table))
        elif changed:
            self._known[changed] = False
        self._order, self._position = table.order_version, changes.end
        return rows[~self._known[rows]]

    def _begin(self, size: int) -> None:
        raise NotImplementedError


class SignedVerdicts(SignedRows):
    def _begin(self, size: int) -> None:
        self._codes = np.zeros(size, dtype=np.int32)
        self._statuses: list[Status | None] = [None]
        self._places: dict[Status, int] = {}

    def of(self, nodes: Nodes, ask_about: Callable[[Nodes], Verdicts | Status]) -> Verdicts | Status:
        rows = nodes.row_numbers()
        new = self.unknown(rows)
        if len(new):
            answer = ask_about(Nodes(self._table, new))
            if isinstance(answer, Status):
                return answer
            self._codes[new] = 0 if answer.codes is None else self._translated(answer)
            self._known[new] = True
        return Verdicts(self._codes[rows], self._statuses)

    def _translated(self, answer: Verdicts) -> NDArray[np.int32]:
        """The codes of an answer as they are used here."""
        assert answer.codes is not None
        used, inverse = np.unique(answer.codes, return_inverse=True)
        places = [self._place(answer.of(code)) if code else 0 for code in used.tolist()]
        return np.array(places, dtype=np.int32)[inverse]

    def _place(self, status: Status | None) -> int:
        if status is None:
            return -1  # no code of the plugin's: whoever reads it says so
        place = self._places.get(status)
        if place is None:
            place = self._places[status] = len(self._statuses)
            self._statuses.append(status)
        return place


class SignedScores(SignedRows):
    def _begin(self, size: int) -> None:
        self._scores = np.zeros(size, dtype=np.int64)

    def of(self, nodes: Nodes, ask_about: Callable[[Nodes], Int64s | Status]) -> Int64s | Status:
        rows = nodes.row_numbers()
        new = self.unknown(rows)
        if len(new):
            answer = ask_about(Nodes(self._table, new))
            if isinstance(answer, Status):
                return answer
            self._scores[new] = answer
            self._known[new] = True
        return self._scores[rows]


class SignedAnswers:
    """All answers of one plugin that it may be held to, by signature."""

    def __init__(self, profile: Profile, plugin: Plugin) -> None:
        self._profile = profile
        self._plugin = plugin
        self._verdicts = Lru[Hashable, SignedVerdicts](_SIGNATURES)
        self._scores = Lru[Hashable, SignedScores](_SIGNATURES)

    def verdicts(self, pod: Pod) -> SignedVerdicts | None:
        """Those of its filter for pods like this one; None if it does not sign the pod."""
        key = self._signature(pod)
        if key is None:
            return None
        return self._verdicts.get(key) or self._verdicts.put(key, SignedVerdicts(self._profile.state.table))

    def scores(self, pod: Pod) -> SignedScores | None:
        """Those of its score, before they are normalized."""
        key = self._signature(pod)
        if key is None:
            return None
        return self._scores.get(key) or self._scores.put(key, SignedScores(self._profile.state.table))

    def _signature(self, pod: Pod) -> Hashable:
        """None, too, if the plugin fails to sign: then it is asked as if it had not."""
        key = ask(_SIGN, self._profile, self._plugin, False, self._plugin.sign, pod)
        return None if isinstance(key, Status) else key
