"""What a log tells of a gang: what came of the last attempt of each of its members."""

from __future__ import annotations

from typing import Any, Protocol

from moorage.insight.log.attempts import Attempt
from moorage.insight.log.entries import ASSUMED, BOUND, WITHDRAWN, Entry

Document = dict[str, Any]

_EVERYTHING = 10**9


class Attempts(Protocol):
    """A log, in memory or of a file."""

    def attempts(self, *, limit: int) -> list[Attempt]: ...


def gang_in_log(log: Attempts, name: str) -> Document | None:
    """The gang of this name as far as the log knows its members; None if it does not."""
    last: dict[str, Entry] = {}
    for attempt in log.attempts(limit=_EVERYTHING):
        entry = attempt.entry
        if name and entry.gang == name:
            last.setdefault(entry.key, entry)
    if not last:
        return None
    outcomes = [entry.outcome for entry in last.values()]
    running = sum(outcome in (ASSUMED, BOUND) for outcome in outcomes)
    withdrawn = outcomes.count(WITHDRAWN)
    others = [entry for entry in last.values() if entry.outcome not in (ASSUMED, BOUND, WITHDRAWN)]
    document: Document = {
        "name": name,
        "exists": True,
        "fits": not others and not withdrawn,
        "members": len(last),
        "running": running,
        "withdrawn": withdrawn,
    }
    if others:
        first = min(others, key=lambda entry: entry.number)
        document["failed"] = {"pod": first.key, "message": first.message}
    return document
