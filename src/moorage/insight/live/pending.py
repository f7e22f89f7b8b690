"""The waiting pods by what they wait for."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from moorage.insight.live.waiting import Waiting, message

Document = dict[str, Any]

_NAMED = 10
_NUMBER = re.compile(r"\d+")
_COUNTED = re.compile(r"^\d+ ")


@dataclass
class Group:
    """Pods that wait for the same reasons."""

    cause: str
    message: str
    first: Waiting
    """The one that waits longest."""
    keys: list[str] = field(default_factory=list)
    count: int = 0
    tries: int = 0

    def add(self, waiting: Waiting) -> None:
        self.count += 1
        self.tries += waiting.queued.attempts
        if waiting.position < self.first.position:
            self.first = waiting
        if len(self.keys) < _NAMED:
            self.keys.append(waiting.queued.pod.key)

    def document(self, first: Document) -> Document:
        """`first` is what the queue tells of the first pod."""
        return {
            "cause": self.cause,
            "message": self.message,
            "plugins": first["plugins"],
            "count": self.count,
            "oldest": first["since"],
            "tries": self.tries,
            "waitsFor": first["waitsFor"],
            "pods": self.keys,
        }


class Groups:
    """Puts pods together that the same plugins reject, in messages that differ in numbers only."""

    def __init__(self) -> None:
        self._by_key: dict[tuple[str, ...], Group] = {}
        self._causes: dict[str, str] = {}

    def add(self, waiting: Waiting) -> None:
        queued = waiting.queued
        text = message(queued)
        cause = self._causes.get(text)
        if cause is None:
            cause = self._causes[text] = _cause(text)
        key = (queued.pod.spec.scheduler_name, queued.gating_plugin, cause, *sorted(queued.rejecting_plugins))
        group = self._by_key.get(key)
        if group is None:
            group = self._by_key[key] = Group(cause or _without_message(waiting), text, waiting)
        group.add(waiting)

    def __iter__(self) -> Iterator[Group]:
        """The largest first, among equals the one that waits longest."""
        return iter(sorted(self._by_key.values(), key=lambda each: (-each.count, each.first.position)))


def _cause(text: str) -> str:
    """The reasons in a message without what differs from pod to pod and from try to try."""
    _, colon, rest = text.partition("nodes are available: ")
    if not colon:
        return _NUMBER.sub("N", text)
    reasons = rest.partition(". ")[0].rstrip(".")
    return ", ".join(sorted(_COUNTED.sub("", reason) for reason in reasons.split(", ")))


def _without_message(waiting: Waiting) -> str:
    if waiting.queued.gated:
        return f"held back by {waiting.queued.gating_plugin}"
    return "not tried yet" if not waiting.queued.attempts else "to be tried again"
