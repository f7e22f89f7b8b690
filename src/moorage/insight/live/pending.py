"""The waiting pods by what they wait for."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from moorage.api.pods import Pod
from moorage.framework.runtime.profile import Profile
from moorage.insight.gangs import IsGated, group_of_kubernetes, is_incomplete, standing
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
    gang: Document | None = None
    """How the gang stands of which all of them are members."""

    def add(self, waiting: Waiting) -> None:
        self.count += 1
        self.tries += waiting.queued.attempts
        if waiting.position < self.first.position:
            self.first = waiting
        if len(self.keys) < _NAMED:
            self.keys.append(waiting.queued.pod.key)

    def document(self, first: Document) -> Document:
        """`first` is what the queue tells of the first pod."""
        gang = {} if self.gang is None else {"gang": self.gang}
        return {
            "cause": self.cause,
            "message": self.message,
            "plugins": first["plugins"],
            "count": self.count,
            "oldest": first["since"],
            "tries": self.tries,
            "waitsFor": first["waitsFor"],
            "pods": self.keys,
            **gang,
        }


class Groups:
    """Puts pods together that the same plugins reject, in messages that differ in numbers only.

    The members of a gang that wait for one another are one group, whatever each of them was told.
    """

    def __init__(self, profiles: Mapping[str, Profile], is_gated: IsGated) -> None:
        self._profiles = profiles
        self._is_gated = is_gated
        self._by_key: dict[tuple[str, ...], Group] = {}
        self._causes: dict[str, str] = {}
        self._gangs: dict[tuple[str, str], bool] = {}

    def add(self, waiting: Waiting) -> None:
        queued = waiting.queued
        text = message(queued)
        name = "" if queued.gated else self._incomplete_gang(queued.pod)
        if name:
            self._add_member(waiting, name, text)
            return
        cause = self._causes.get(text)
        if cause is None:
            cause = self._causes[text] = _cause(text)
        key = (queued.pod.spec.scheduler_name, queued.gating_plugin, cause, *sorted(queued.rejecting_plugins))
        group = self._by_key.get(key)
        if group is None:
            group = self._by_key[key] = Group(cause or _without_message(waiting), text, waiting)
        group.add(waiting)

    def _add_member(self, waiting: Waiting, name: str, text: str) -> None:
        scheduler = waiting.queued.pod.spec.scheduler_name
        group = self._by_key.get((scheduler, "", "gang", name))
        if group is None:
            gang = standing(self._profiles.get(scheduler), waiting.queued.pod, self._is_gated, text)
            cause = _cause(text) or _without_message(waiting)
            group = self._by_key[scheduler, "", "gang", name] = Group(cause, text, waiting, gang=gang)
        elif group.gang is not None and text and not group.gang.get("message"):
            group.message = text
            group.gang["message"] = text
        group.add(waiting)

    def _incomplete_gang(self, pod: Pod) -> str:
        """The gang for whose other members a pod waits; empty if it goes alone."""
        profile = self._profiles.get(pod.spec.scheduler_name)
        if profile is not None and (group := group_of_kubernetes(profile, pod)):
            return group if is_incomplete(profile, group) else ""
        gangs = None if profile is None else profile.gangs
        if profile is None or gangs is None:
            return ""
        missing = gangs.missing_gang(pod)
        gang = None if missing else gangs.gang_of(pod)
        if gang is None:
            return missing
        key = profile.name, gang.key
        if key not in self._gangs:
            placement, members = profile.state.placement, gangs.members_of(gang)
            placed = sum(not each.deleting and placement(each.uid) is not None for each in members)
            self._gangs[key] = placed < gang.minimum
        return gang.key if self._gangs[key] else ""

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
