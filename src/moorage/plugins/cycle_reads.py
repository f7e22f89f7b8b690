"""Reading back what a plugin stored at an earlier point of the same attempt."""

from __future__ import annotations

from typing import Any

from moorage.framework.cycle_state import CycleState, NotFound


class StateMissing(LookupError):
    """The plugin's earlier point did not run in this attempt, as when a profile disables it."""


def read_or_fail(cycle: CycleState, key: str, doing: str) -> Any:
    """What is stored under `key`; raises with the words kube-scheduler uses if there is nothing."""
    try:
        return cycle.read(key)
    except NotFound as error:
        raise StateMissing(f'{doing} "{key}" from cycleState: {error}') from None
