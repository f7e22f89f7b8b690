"""What there is to say about the pods that wait, by cause."""

from __future__ import annotations

import re
from typing import Any

from moorage.insight.words.amounts import age, counted, listed, sentence
from moorage.insight.words.causes import suggestion_text
from moorage.insight.words.events import waits_for
from moorage.insight.words.gangs import what_is_lacking
from moorage.insight.words.reasons import about_nodes, about_pod

Document = dict[str, Any]

_AVAILABLE = "nodes are available: "
_COUNTED = re.compile(r"(\d+) (.+)", re.DOTALL)
_NEXT = re.compile(r", (?=\d+ )")
_MOST_NAMED = 3


def of_gang(group: Document) -> str:
    gang: Document | None = group.get("gang")
    return f" of pod group {gang['name']}" if gang is not None and gang.get("exists", True) else ""


def cause(group: Document) -> str:
    """Why the pods of a group wait, without numbers: `nodes lack cpu and have taints ...`."""
    if group.get("gang") is not None:
        return what_is_lacking(group["gang"], cause)
    message: str = group.get("message") or ""
    _, found, rest = message.partition(_AVAILABLE)
    plugins: list[str] = group.get("plugins") or []
    by = plugins[0] if len(plugins) == 1 else ""
    if not found:
        return about_pod(by, [message]) if message else str(group.get("cause") or "not known")
    # The sentence of PostFilter comes behind the first stop.
    reasons = rest.partition(". ")[0].removesuffix(".")
    clauses = []
    for reason in _NEXT.split(reasons):
        numbered = _COUNTED.fullmatch(reason)
        if numbered is None:
            return about_pod(by, [reasons])
        clauses.append((int(numbered[1]), about_nodes(by or "a plugin", numbered[2]).many))
    ordered = [clause for _, clause in sorted(clauses, key=lambda each: -each[0])]
    return f"nodes {listed(list(dict.fromkeys(ordered)), 4)}"


def words_for_group(group: Document, now: float) -> list[str]:
    """What a group of waiting pods has in common, and what would help the first of them."""
    count = int(group["count"])
    oldest = f", the oldest for {age(now - group['oldest'])}" if group.get("oldest") else ""
    tries = int(group.get("tries") or 0)
    tried = f", {counted(tries, 'try', 'tries')}" if tries else ", not tried yet"
    said = [f"{counted(count, 'pod')}{of_gang(group)}{oldest}{tried}: {cause(group)}."]
    names: list[str] = group.get("pods") or []
    shown = names[:_MOST_NAMED]
    more = count - len(shown)
    said.append(", ".join(shown) + (f" and {more} more" if more > 0 else ""))
    if group.get("waitsFor"):
        said.append(sentence(f"tried again when {waits_for(group['waitsFor'])}"))
    if group.get("advice"):
        who = "It" if count == 1 else names[0] if names else "The first"
        who = "The whole group" if group.get("gang") and not group["gang"].get("alone") else who
        fits = "would preempt others" if group["advice"].get("then") == "preempts" else "would fit"
        said.append(f"{who} {fits} if: {suggestion_text(group['advice'])}.")
    return said


def words_for_best(best: Document | None, pods: int) -> str:
    """The one change that frees the most pods; nothing is said of one that frees a single pod."""
    if not best or int(best.get("frees") or 0) < 2:
        return ""
    frees, names = int(best["frees"]), best.get("pods") or []
    shown = ", ".join(names[:_MOST_NAMED])
    more = frees - min(len(names), _MOST_NAMED)
    who = f"{shown} and {more} more" if more > 0 else shown
    what = suggestion_text(best["suggestion"])
    return f"The one change that would free the most, {frees} of {pods} pods ({who}): {what}."
