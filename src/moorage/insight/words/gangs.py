"""What there is to say about the gang of a pod."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from moorage.insight.words.amounts import counted, listed, sentence

Document = dict[str, Any]

_FIT = re.compile(r"pod group \S+: (\d+) of (\d+) members fit(.*?)(?:; (\S+) does not: (.*))?", re.DOTALL)
_MAKING_ROOM = "pod group is waiting for preemption to complete"


def words_for_gang(gang: Document, cause: Callable[[Document], str]) -> list[str]:
    """What the gang as a whole lacks, and how many members it has; `cause` tells a message in words."""
    name = gang["name"]
    if not gang.get("exists", True):
        return [f"It names the pod group {name}, which does not exist: it waits until there is one."]
    if "withdrawn" in gang:
        return [_in_log(gang, cause)]
    return [sentence(f"pod group {name}: {what_is_lacking(gang, cause)}"), *_room(gang), _members(gang)]


def what_is_lacking(gang: Document, cause: Callable[[Document], str]) -> str:
    """A clause: `3 of 4 members fit; default/train-3 does not: nodes lack cpu`."""
    if not gang.get("exists", True):
        return f"the pod group {gang['name']} does not exist"
    minimum, members, running = gang["minimum"], gang["members"], gang["running"]
    if gang.get("fits"):
        if running >= minimum:
            return f"{running} of the {minimum} members that it needs have a node, so others go their own way"
        return f"enough of its members fit, it needs {minimum}"
    if members < minimum:
        return f"it needs {minimum} members, and there {'is' if members == 1 else 'are'} only {members}"
    if members - gang["gated"] < minimum:
        held = "is held back by its gates" if gang["gated"] == 1 else "are held back by their gates"
        return f"it needs {minimum} of its {members} members, and {gang['gated']} {held}"
    message = gang.get("message") or ""
    if message == _MAKING_ROOM:
        return "others have to go for it, and then it is tried again"
    found = _FIT.fullmatch(message)
    if found is None:
        return _told(message, cause) if message else f"its members wait, it needs {minimum} of them"
    fitting, needed, where, pod, why = found.groups()
    text = f"{fitting} of {needed} members fit{where}"
    return f"{text}; {pod} does not: {_told(why, cause)}" if pod else text


def _told(message: str, cause: Callable[[Document], str]) -> str:
    return cause({"message": message}) if message else "not known"


def _room(gang: Document) -> list[str]:
    if not gang.get("nodes"):
        return []
    gone, nodes = listed(gang.get("victims") or [], 5), listed(gang["nodes"], 5)
    who = f"{gone} must go" if gone else "others must go"
    return [f"Preemption makes room for the group on {nodes}: {who}, then it is tried there."]


def _members(gang: Document) -> str:
    running, waiting, gated = gang["running"], gang["waiting"], gang["gated"]
    parts = [
        "none has a node" if not running else f"{running} {'has a node' if running == 1 else 'have nodes'}"
    ]
    parts += [f"{waiting} {'waits' if waiting == 1 else 'wait'}"] if waiting else []
    parts += [f"{gated} {'is' if gated == 1 else 'are'} held back"] if gated else []
    return f"It has {counted(gang['members'], 'member')}: {listed(parts, 5)}."


def _in_log(gang: Document, cause: Callable[[Document], str]) -> str:
    """As far as a log tells: members are those that were tried."""
    members, withdrawn, running = gang["members"], gang["withdrawn"], gang["running"]
    text = f"pod group {gang['name']}: of {counted(members, 'member')} in the log, "
    parts = [f"{running} {'has a node' if running == 1 else 'have nodes'}"] if running else []
    if withdrawn:
        parts.append(f"{withdrawn} got a node at the last try and gave it back")
    failed: Document | None = gang.get("failed")
    left = members - running - withdrawn
    if left:
        parts.append(f"{left} got none")
    text += listed(parts, 5)
    return sentence(
        f"{text}; {failed['pod']} did not fit: {_told(failed['message'], cause)}" if failed else text
    )
