"""What can be seen of the events a plugin waits for: resources nobody knows, changes that never happen."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from difflib import get_close_matches

from moorage.api.kinds import WATCHED
from moorage.framework.events import (
    ASSIGNED_POD,
    NODE,
    POD,
    UNSCHEDULABLE_POD,
    WATCHABLE,
    WILDCARD,
    Action,
    ClusterEvent,
    is_watchable,
)
from moorage.framework.loading.load_checks import signature_of, why_not_at_once

_PODS = (POD, ASSIGNED_POD, UNSCHEDULABLE_POD)
_ALIKE = 0.7
_HAPPENS = "what happens is Action.ADD, Action.DELETE"
_HINT = ("pod", "old", "new")


def event_mistakes(events: Iterable[ClusterEvent]) -> Iterator[str]:
    """All that is wrong with what a plugin waits for, a line each."""
    for event in events:
        if not isinstance(event.resource, str) or not is_watchable(event.resource):
            yield _unknown(event.resource)
        elif problem := _of_action(event.resource, event.action):
            yield f"events has {problem}"
        if event.hint is not None and (problem := _of_hint(event.hint)):
            yield f"events has for {event.resource} a hint that {problem}"


def _unknown(resource: object) -> str:
    shown = f'events has the unknown resource "{resource}"'
    known = {name.rpartition("/")[2].lower(): name for name in sorted(WATCHABLE - {WILDCARD})}
    known |= {row.resource: row.event for row in WATCHED if row.wakes}
    found = get_close_matches(str(resource).rpartition("/")[2].lower(), known, 1, _ALIKE)
    if found:
        return f'{shown}; did you mean "{known[found[0]]}"?'
    return f"{shown}; those that are not built in are named plural.version.group, as in prices.v1.example.com"


def _of_action(resource: str, action: object) -> str:
    if isinstance(action, bool) or not isinstance(action, int) or not 0 < action <= Action.ALL:
        return f"for {resource} the action {action!r}; use moorage.Action, as in Action.ADD | Action.DELETE"
    if resource == WILDCARD or action & (Action.ADD | Action.DELETE):
        return ""
    aspects = "UPDATE_NODE_" if resource == NODE else "UPDATE_POD_" if resource in _PODS else ""
    happens = [each for each in Action if aspects and str(each.name).startswith(aspects)] or [Action.UPDATE]
    if any(action & each == each for each in happens):
        return ""
    names = f"Action.UPDATE and all of Action.{aspects}*" if aspects else "Action.UPDATE"
    return f"for {resource} an action that never happens there; {_HAPPENS}, {names}"


def _of_hint(hint: object) -> str:
    if not callable(hint):
        return f"cannot be called: {type(hint).__name__}; give a function (pod, old, new)"
    signature = signature_of(hint, in_class=False)
    if signature is not None and not signature.takes(len(_HINT)):
        return f"takes ({', '.join(signature.names)}) and is called with ({', '.join(_HINT)})"
    reason = why_not_at_once(hint)
    return f"{reason} and must answer at once" if reason else ""
