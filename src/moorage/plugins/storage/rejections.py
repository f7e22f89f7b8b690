"""Why the claims of a pod rule nodes out, collected for many nodes at once."""

from __future__ import annotations

import numpy as np

from moorage.framework.status import Status
from moorage.framework.verdicts import Verdicts
from moorage.plugins.storage.masks import Mask, either, has_any, without

AFFINITY, UNBOUND, NO_SPACE, GONE, _FAILED = 1, 2, 4, 8, 16
"""Why a node is rejected: bits, of which a node may have several; _FAILED stands alone."""

_REASONS = {
    AFFINITY: "node(s) didn't match PersistentVolume's node affinity",
    UNBOUND: "node(s) didn't find available persistent volumes to bind",
    NO_SPACE: "node(s) did not have enough free storage",
    GONE: "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)",
}
_STATUSES = [
    Status.unresolvable(*(text for bit, text in _REASONS.items() if code & bit)) for code in range(_FAILED)
]


class Rejections:
    """Why which of some rows are rejected."""

    def __init__(self) -> None:
        self._masks: dict[int, Mask] = {}
        self.problem = ""

    @property
    def not_failed(self) -> Mask:
        return without(True, self._masks.get(_FAILED, False))

    @property
    def left(self) -> Mask:
        """The rows that are not rejected."""
        left: Mask = True
        for rows in self._masks.values():
            left = without(left, rows)
        return left

    def mark(self, rows: Mask, reason: int) -> None:
        if rows is not False:
            self._masks[reason] = either(self._masks.get(reason, False), rows)

    def fail(self, rows: Mask, problem: str) -> None:
        """Of these rows nothing else counts any more."""
        if has_any(rows):
            self.mark(rows, _FAILED)
            self.problem = problem

    def summed_up(self, size: int) -> Verdicts:
        """The reasons that occur, numbered from 1."""
        if not self._masks:
            return Verdicts.passed()
        if len(self._masks) == 1:
            ((reason, rows),) = self._masks.items()
            rejected = np.ones(size, dtype=np.bool_) if isinstance(rows, bool) else rows
            return Verdicts.where(rejected, self._status(reason))
        codes = np.zeros(size, dtype=np.int8)
        for reason, rows in self._masks.items():
            if reason != _FAILED:
                codes |= np.int8(reason) * rows
        codes[self._masks.get(_FAILED, False)] = _FAILED
        present = np.flatnonzero(np.bincount(codes, minlength=_FAILED + 1)[1:]) + 1
        places = np.zeros(_FAILED + 1, dtype=np.int8)
        places[present] = np.arange(1, len(present) + 1)
        return Verdicts(places[codes], (None, *map(self._status, present.tolist())))

    def _status(self, code: int) -> Status:
        return Status.error(self.problem) if code == _FAILED else _STATUSES[code]
