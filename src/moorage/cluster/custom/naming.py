"""Which names a definition gets, and what its status says about that."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from moorage.cluster.base.quoting import quoted
from moorage.cluster.base.store import Document
from moorage.cluster.custom.approval import approval
from moorage.cluster.custom.definition_rules import is_established

_NO_NAMES: Document = {"plural": "", "kind": ""}
_ORDER = ("plural", "singular", "shortNames", "kind", "listKind", "categories")


class Taken(NamedTuple):
    """The names that the definitions of a group have."""

    resources: set[str]
    kinds: set[str]


def taken_names(accepted: Iterable[Document]) -> Taken:
    resources: set[str] = set()
    kinds: set[str] = set()
    for names in accepted:
        resources.update(
            (names.get("plural", ""), names.get("singular", ""), *(names.get("shortNames") or ()))
        )
        kinds.update((names.get("kind", ""), names.get("listKind", "")))
    return Taken(resources - {""}, kinds - {""})


def named_status(definition: Document, taken: Taken, now: str) -> Document:
    """The status with the names that are free for the definition, and whether it is served by them.

    What is served once stays so, under the names it had, even if it now asks for names that others have.
    """
    status = definition.get("status") or {}
    wanted = definition["spec"]["names"]
    before = status.get("acceptedNames") or _NO_NAMES
    names, conflict = _accepted(wanted, before, taken)
    conditions = status.get("conditions") or []
    if conflict:
        reason, message = conflict
        conditions = with_condition(conditions, "NamesAccepted", "False", reason, message, now)
    else:
        conditions = with_condition(
            conditions, "NamesAccepted", "True", "NoConflicts", "no conflicts found", now
        )
    if conflict and not is_established(definition):
        conditions = with_condition(
            conditions, "Established", "False", "NotAccepted", "not all names are accepted", now
        )
    elif not is_established(definition):
        message = "the initial names have been accepted"
        conditions = with_condition(conditions, "Established", "True", "InitialNamesAccepted", message, now)
    reason, message = approval(definition)
    if reason:
        state = "True" if reason == "ApprovedAnnotation" else "False"
        kind = "KubernetesAPIApprovalPolicyConformant"
        conditions = with_condition(conditions, kind, state, reason, message, now)
    return {**status, "conditions": conditions, "acceptedNames": names}


def _accepted(wanted: Document, before: Document, taken: Taken) -> tuple[Document, tuple[str, str] | None]:
    """The names that are granted; and of those that are not, the last in order with the reason."""
    granted, conflict = {**before}, None

    def grant(name: str, reason: str, used: set[str]) -> None:
        nonlocal conflict
        value = wanted.get(name, "")
        if value != before.get(name, "") and value in used:
            conflict = (reason, f"{quoted(value)} is already in use")
        else:
            granted[name] = value

    grant("plural", "PluralConflict", taken.resources)
    grant("singular", "SingularConflict", taken.resources)
    had = before.get("shortNames") or []
    short_names = wanted.get("shortNames") or []
    in_use = [each for each in short_names if each not in had and each in taken.resources]
    if in_use:
        conflict = ("ShortNamesConflict", _all_in_use(in_use))
    else:
        granted["shortNames"] = short_names
    grant("kind", "KindConflict", taken.kinds)
    grant("listKind", "ListKindConflict", taken.kinds)
    granted["categories"] = wanted.get("categories") or []
    always = ("plural", "kind")
    return {name: granted[name] for name in _ORDER if granted.get(name) or name in always}, conflict


def _all_in_use(names: list[str]) -> str:
    texts = [f"{quoted(name)} is already in use" for name in dict.fromkeys(names)]
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"


def with_condition(
    conditions: list[Document], kind: str, state: str, reason: str, message: str, now: str
) -> list[Document]:
    """The conditions with this one set; the time of its last change stays unless its state is another."""
    new = {"type": kind, "status": state, "lastTransitionTime": now, "reason": reason, "message": message}
    for place, condition in enumerate(conditions):
        if condition.get("type") == kind:
            if condition.get("status") == state and condition.get("lastTransitionTime"):
                new["lastTransitionTime"] = condition["lastTransitionTime"]
            return [*conditions[:place], {**condition, **new}, *conditions[place + 1 :]]
    return [*conditions, new]
