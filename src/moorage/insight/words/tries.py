"""What there is to say about a pod that was tried on a state, from the document of an evaluation."""

from __future__ import annotations

from typing import Any

from moorage.insight.words.amounts import listed, sentence
from moorage.insight.words.causes import what_would_help, who_must_go, why_nothing_fits
from moorage.insight.words.choices import why_this_node
from moorage.insight.words.evaluations import detail_of_try
from moorage.insight.words.gangs import words_for_gang
from moorage.insight.words.groups import cause
from moorage.insight.words.reasons import about_pod

Document = dict[str, Any]


def words_for_try(document: Document) -> list[str]:
    """Sentences from the document of a pod that was only tried: where it would go, or why it would not."""
    gate: Document | None = document.get("preEnqueue")
    if gate is not None:
        why = about_pod(gate["plugin"], gate["reasons"])
        said = [sentence(f"It would not enter the queue: {why}")]
        return [*said, *what_would_help(document.get("advice") or ())]
    detail = detail_of_try(document)
    best: list[str] = document.get("best") or []
    gang: Document | None = document.get("gang")
    waits_for_gang = gang is not None and not gang["fits"]
    about_gang = [] if gang is None else words_for_gang(gang, cause)
    on: str = document.get("onNode") or ""
    now = f"On {on}; tried again on this state, it" if on else "It"
    if detail["outcome"] == "error":
        error: Document = document["schedulerError"]
        said = [sentence(f"The attempt fails at {error.get('phase') or 'scheduling'}: {error['message']}")]
    elif best and waits_for_gang:
        said = [f"{now} would stay pending, though it would fit {best[0]} by itself."]
    elif best:
        where = f"node {best[0]}" if len(best) == 1 else f"one of the nodes {listed(best, 5, 'or')}"
        said = [
            f"On {on}, and it would go there again." if on in best else f"{now} would go to {where}.",
            *_as_would_be(why_this_node(detail)),
        ]
    else:
        said = [f"{now} would stay pending.", *why_nothing_fits(detail, document.get("closest"))]
        if detail["outcome"] == "nominated":
            said.append(who_must_go(detail))
    advice = what_would_help(document.get("advice") or (), whole_gang=waits_for_gang)
    return [*about_gang, *said, *advice]


def _as_would_be(said: list[str]) -> list[str]:
    changed = ((" was the only ", " is the only "), (" was taken ", " is taken "))
    for past, present in changed:
        said = [each.replace(past, present) for each in said]
    return said
