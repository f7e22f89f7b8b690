"""Whether a device is one that a request asks for, by the selectors of its class and its own."""

from __future__ import annotations

from typing import NamedTuple, Protocol, TypeAlias

from moorage.api.devices import Device
from moorage.plugins.devices.allocation.candidates import Candidate
from moorage.plugins.devices.allocation.failures import AllocationFailed

_MOST_VERDICTS = 64
"""Of so many expressions a device remembers what they said about it."""


class SelectorError(Exception):
    """An expression that cannot be used, or not for this device; the text begins with which of the two."""


class Selectors(Protocol):
    def matches(self, expression: str, driver: str, device: Device) -> bool:
        """Asks one expression about one device; raises SelectorError."""


class Asked(NamedTuple):
    """One selector of a request."""

    expression: str
    where: str
    """How an error names the selector."""


Selection: TypeAlias = tuple[Asked, ...]
"""All selectors of a request, in the order in which they are asked: the first that says no ends it."""


def is_selected(selectors: Selectors, selection: Selection, candidate: Candidate) -> bool:
    """Whether all selectors say yes; raises AllocationFailed."""
    verdicts = candidate.verdicts
    for expression, where in selection:
        verdict = verdicts.get(expression)
        if verdict is None:
            verdict = _ask(selectors, expression, candidate)
        if verdict is not True:
            if verdict is False:
                return False
            raise AllocationFailed(f"{where}: {verdict}")
    return True


def is_ruled_out(selection: Selection, candidate: Candidate) -> bool:
    """Whether it is known without asking that not all selectors say yes."""
    for expression, _ in selection:
        verdict = candidate.verdicts.get(expression)
        if verdict is not True:
            return verdict is False
    return False


def _ask(selectors: Selectors, expression: str, candidate: Candidate) -> bool | str:
    verdict: bool | str
    try:
        verdict = selectors.matches(expression, candidate.driver, candidate.device)
    except SelectorError as error:
        verdict = str(error)
    if len(candidate.verdicts) >= _MOST_VERDICTS:
        candidate.verdicts.clear()
    candidate.verdicts[expression] = verdict
    return verdict
