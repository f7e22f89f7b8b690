"""Reading what a plugin wrote at an earlier point of the same attempt."""

from __future__ import annotations

from typing import Any

from moorage.framework.cycle_state import CycleState, NothingWritten


class MissingState(LookupError):
    """The earlier point is disabled, so that there is nothing to read."""


def read(cycle: CycleState, key: str, doing: str) -> Any:
    """The value under `key`; where there is none, an error that says what was being done."""
    try:
        return cycle.read(key)
    except NothingWritten as error:
        raise MissingState(f'{doing} "{key}" from cycleState: {error}') from None
