"""What there is to say about a pod that a scheduler knows."""

from __future__ import annotations

import time
from typing import Any

from moorage.insight.words.amounts import age, sentence, times
from moorage.insight.words.causes import what_would_help, who_must_go, why_nothing_fits
from moorage.insight.words.choices import what_came_after, why_this_node
from moorage.insight.words.events import waits_for, what_happens
from moorage.insight.words.gangs import words_for_gang
from moorage.insight.words.groups import cause
from moorage.insight.words.reasons import about_pod

Document = dict[str, Any]


def words_for_pod(document: Document, now: float | None = None) -> list[str]:
    """Sentences from the document of a pod: what is, why, and what would help."""
    now = time.time() if now is None else now
    state = document.get("state", "unknown")
    said = {
        "pending": _pending,
        "gated": _gated,
        "placed": _placed,
        "binding": _binding,
    }.get(state, _unknown)(document, now)
    gang: Document | None = document.get("gang")
    about_gang = [] if gang is None else words_for_gang(gang, cause)
    advice = what_would_help(document.get("advice") or (), whole_gang=_is_incomplete(gang))
    if state in ("placed", "binding"):
        return [*said, *about_gang, *advice]
    return [*about_gang, *said, *advice]


def _is_incomplete(gang: Document | None) -> bool:
    """Whether what would help was tried with the whole gang."""
    return gang is not None and not gang.get("fits") and not gang.get("alone")


def _for(document: Document, now: float) -> str:
    since = document.get("since")
    return f" for {age(now - since)}" if since else ""


def _pending(document: Document, now: float) -> list[str]:
    last: Document = document.get("last") or {}
    queue: Document = document.get("queue") or {}
    tries = int(document.get("tries") or 0)
    said = [f"Pending{_for(document, now)}, {times(tries)}."]
    if not last:
        if not tries:
            said.append("It waits for its turn." if queue else "The scheduler has not seen it yet.")
        elif message := queue.get("message"):
            said.append(sentence(f"The last try ended with: {message}"))
        else:
            said.append("What the last try found is no longer in the log.")
    else:
        said += about_attempt(last, document.get("closest"))
    return [*said, *_what_next(queue, now)]


def about_attempt(detail: Document, closest: Document | None) -> list[str]:
    """What one attempt found, if it did not end with the pod on a node."""
    outcome = detail.get("outcome", "")
    if outcome == "error":
        plugins = ", ".join(detail.get("plugins") or ())
        by = f"{plugins} failed" if plugins else "the attempt failed"
        return [
            sentence(f"{by}: {detail.get('message', '')}"),
            "That is no fault of the pod: it is tried again.",
        ]
    if outcome == "refused":
        return [what_came_after(detail)]
    if outcome == "withdrawn":
        why = (detail.get("after") or {}).get("message") or "too few of its group fit"
        return [f"{detail.get('node', '')} was found for it at the last try, and given back: {why}."]
    if outcome == "nominated":
        return [*why_nothing_fits(detail, closest), who_must_go(detail)]
    if outcome in ("assumed", "bound"):
        return [f"{detail.get('node', '')} was chosen at the last try, and the pod is waiting again."]
    return why_nothing_fits(detail, closest)


def _what_next(queue: Document, now: float) -> list[str]:
    where = queue.get("where", "")
    if where == "active":
        return ["It is in line for the next try."]
    if where == "backoff":
        until = queue.get("backoffUntil")
        return [f"It is tried again in {age(max(0.0, until - now))}." if until else "It is tried again soon."]
    if where == "unschedulable" and queue.get("waitsFor"):
        return [f"It is tried again when {waits_for(queue['waitsFor'])}."]
    return []


def _gated(document: Document, now: float) -> list[str]:
    queue: Document = document.get("queue") or {}
    by, message = queue.get("gatedBy") or "", queue.get("message") or ""
    why = about_pod(by, [message] if message else [])
    return [f"Held back{_for(document, now)}, not in the queue.", sentence(why)]


def _placed(document: Document, now: float) -> list[str]:
    last: Document = document.get("last") or {}
    node = document.get("node", "")
    if not last or last.get("node") != node or last.get("outcome") not in ("bound", "assumed"):
        return [
            f"On {node}.",
            "There is no record of why: another scheduler placed it, or it was before the log begins.",
        ]
    tries = int(last.get("try") or document.get("tries") or 1)
    at = f", {age(now - last['time'])} ago" if last.get("time") else ""
    which = "at the first try" if tries == 1 else f"at try {tries}"
    woken = f", woken when {what_happens(last['wokenBy'])}" if tries > 1 and last.get("wokenBy") else ""
    said = [f"Placed on {node}{at}, {which}{woken}.", *why_this_node(last)]
    if after := what_came_after(last):
        said.append(after)
    return said


def _binding(document: Document, now: float) -> list[str]:
    last: Document = document.get("last") or {}
    node = document.get("node") or last.get("node", "")
    since = f" for {age(now - last['time'])}" if last.get("time") else ""
    said = [f"{node} is chosen, and binding it there has been under way{since}."]
    return [*said, *(why_this_node(last) if last.get("node") == node else [])]


def _unknown(document: Document, now: float) -> list[str]:
    last: Document = document.get("last") or {}
    if other := document.get("schedulerName"):
        return [f"It belongs to another scheduler: its spec.schedulerName is {other}."]
    if not last:
        return [
            "This scheduler knows nothing of it: it belongs to another scheduler (spec.schedulerName), "
            "is finished, or was made just now."
        ]
    at = f" {age(now - last['time'])} ago" if last.get("time") else ""
    if last.get("outcome") in ("bound", "assumed"):
        said = [f"It was placed on {last.get('node', '')}{at}."]
        return [*said, *why_this_node(last), *filter(None, [what_came_after(last)])]
    said = [f"Last tried{at}, {times(int(last.get('try') or document.get('tries') or 1))} in all."]
    return [*said, *about_attempt(last, document.get("closest"))]
