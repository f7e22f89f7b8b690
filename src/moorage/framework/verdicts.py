"""What a filter says about many nodes at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from moorage.framework.status import Code, Status
from moorage.state.columns import Bools


class Verdicts:
    """`codes[i]` is an index into `statuses`; 0 means that node i passed.

    Most filters have one reason: `Verdicts.where(rejected, Status.unschedulable("..."))`.
    """

    __slots__ = ("codes", "statuses")

    def __init__(self, codes: NDArray[np.integer] | None, statuses: Sequence[Status | None]) -> None:
        self.codes = codes
        """One number per node, or None if every node passed."""
        self.statuses = statuses
        """What the codes stand for; the first is None."""

    @classmethod
    def passed(cls) -> Verdicts:
        """Every node passes."""
        return _PASSED

    @classmethod
    def where(cls, rejected: Bools, status: Status) -> Verdicts:
        """The nodes with True in `rejected` get `status`."""
        return cls(rejected.view(np.int8), (None, status))

    @classmethod
    def each(cls, answers: Sequence[Status | None]) -> Verdicts:
        """One answer per node."""
        statuses: list[Status | None] = [None]
        places: dict[Status, int] = {}
        codes = np.zeros(len(answers), dtype=np.int32)
        for i, answer in enumerate(answers):
            if answer is not None and answer.code is not Code.SUCCESS:
                place = places.get(answer)
                if place is None:
                    place = places[answer] = len(statuses)
                    statuses.append(answer)
                codes[i] = place
        return cls(codes, statuses) if len(statuses) > 1 else _PASSED

    def at(self, index: int) -> Status | None:
        """The answer for the node at this place; None if it passed."""
        return None if self.codes is None else self.of(int(self.codes[index]))

    def of(self, code: int) -> Status | None:
        """What a code stands for; None for one that is out of range."""
        return self.statuses[code] if 0 < code < len(self.statuses) else None


_PASSED = Verdicts(None, (None,))
