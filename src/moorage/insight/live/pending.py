"""The waiting pods by what they wait for."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from moorage.insight.live.waiting import Waiting, WaitingPods, message, since

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
    pods: list[Waiting] = field(default_factory=list)


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
        group.pods.append(waiting)

    def __iter__(self) -> Iterator[Group]:
        """The largest first, among equals the one that waits longest."""
        groups = self._by_key.values()
        return iter(sorted(groups, key=lambda each: (-len(each.pods), each.first.position)))


def documents(groups: Iterable[Group], pods: WaitingPods) -> list[Document]:
    return [_document(group, pods) for group in groups]


def _document(group: Group, pods: WaitingPods) -> Document:
    shown = pods.document(group.first)
    return {
        "cause": group.cause,
        "message": group.message,
        "plugins": shown["plugins"],
        "count": len(group.pods),
        "oldest": min(since(each.queued) for each in group.pods),
        "tries": sum(each.queued.attempts for each in group.pods),
        "waitsFor": shown["waitsFor"],
        "pods": [each.queued.pod.key for each in group.pods[:_NAMED]],
    }


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
