"""Pod affinity and anti-affinity: terms that could be preferences instead of requirements."""

from __future__ import annotations

from collections.abc import Iterator

from moorage.insight.advice.drafts import Draft, drop_if_empty, items, part
from moorage.insight.advice.remedies.node_affinity import PREFERRED, REQUIRED
from moorage.insight.advice.remedy import Remedy, Sight
from moorage.insight.advice.steps import Document

PLUGIN = "InterPodAffinity"
_FIXES = frozenset({PLUGIN})
_WORDS = {"podAffinity": "pod affinity", "podAntiAffinity": "pod anti-affinity"}
_MOST_TERMS = 4


def remedies_of_pod(sight: Sight) -> Iterator[Remedy]:
    """Each term for itself, then all of a kind, then all; first as preferences, then not at all."""
    affinity = (sight.pod.raw.get("spec") or {}).get("affinity") or {}
    terms = [
        (kind, place) for kind in _WORDS for place in range(len(items(affinity.get(kind) or {}, REQUIRED)))
    ]
    for kind, place in terms[:_MOST_TERMS]:
        term = items(affinity[kind], REQUIRED)[place]
        text = f"its {_WORDS[kind]} to {told(term)} were only preferred"
        yield _preferred(sight, [(kind, place)], text, 40)
    for kind in _WORDS:
        of_kind = [each for each in terms if each[0] == kind]
        if len(of_kind) > 1:
            text = f"its required {_WORDS[kind]} were only preferred"
            yield _preferred(sight, of_kind, text, 44)
    if len({kind for kind, _ in terms}) > 1:
        text = "its required pod affinity and anti-affinity were only preferred"
        yield _preferred(sight, terms, text, 48)
    if terms:
        yield _none(sight)


def told(term: Document) -> str:
    """Which pods a term speaks of, and where."""
    selector = term.get("labelSelector") or {}
    wanted = [f"{key}={value}" for key, value in (selector.get("matchLabels") or {}).items()]
    for line in items(selector, "matchExpressions"):
        values = ", ".join(line.get("values") or [])
        wanted.append(f"{line.get('key')} {line.get('operator')}{f' ({values})' if values else ''}")
    return f"{', '.join(wanted) or 'pods'} by {term.get('topologyKey', '')}"


def _preferred(sight: Sight, places: list[tuple[str, int]], text: str, cost: float) -> Remedy:
    def edit(draft: Draft) -> None:
        affinity = part(draft.edit(sight.pod), "spec", "affinity")
        for kind, place in reversed(places):
            found = part(affinity, kind)
            term = items(found, REQUIRED)[place]
            found[REQUIRED] = [each for index, each in enumerate(found[REQUIRED]) if index != place]
            found[PREFERRED] = [*items(found, PREFERRED), {"weight": 100, "podAffinityTerm": term}]
            drop_if_empty(found, REQUIRED)

    return Remedy("pod affinity", text, cost, edit, fixes=_FIXES)


def _none(sight: Sight) -> Remedy:
    def edit(draft: Draft) -> None:
        document = draft.edit(sight.pod)
        affinity = part(document, "spec", "affinity")
        for kind in _WORDS:
            if kind in affinity:
                part(affinity, kind).pop(REQUIRED, None)
                drop_if_empty(affinity, kind)
        drop_if_empty(document["spec"], "affinity")

    text = "it had no required pod affinity or anti-affinity"
    return Remedy("pod affinity", text, 50, edit, fixes=_FIXES)
