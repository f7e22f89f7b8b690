"""What the status of a definition says: the names it gets, whether it is served, and who approved it."""

from __future__ import annotations

import re
from collections.abc import Iterable

from moorage.cluster.base.errors import listed
from moorage.cluster.base.go_text import quoted
from moorage.cluster.base.parts import condition, is_true
from moorage.cluster.base.store import Document
from moorage.cluster.custom.formats import is_uri

_NO_NAMES: Document = {"plural": "", "kind": ""}
_RESOURCES = ("plural", "singular", "shortNames")
_KINDS = ("kind", "listKind")
_PROTECTED = (".k8s.io", ".kubernetes.io")
APPROVAL = "api-approved.kubernetes.io"
_WITH_HOST = re.compile("[^/]+://[^/?#]")
_SEE = "see https://github.com/kubernetes/enhancements/pull/1111"
_MISSING = f'protected groups must have approval annotation "{APPROVAL}", {_SEE}'
_WRONG = (
    f'protected groups must have approval annotation "{APPROVAL}" with either a URL or a reason starting '
    f'with "unapproved", {_SEE}'
)


def is_established(document: Document) -> bool:
    return is_true(document, "Established")


def named_status(definition: Document, others: Iterable[Document], now: str) -> Document:
    """The status with the names that are free for the definition, and whether it is served by them.

    `others` are the names of all definitions of the group. What is served once stays so, under the names it
    had, even if it now asks for names that others have.
    """
    status = definition.get("status") or {}
    before = status.get("acceptedNames") or _NO_NAMES
    names, conflict = _accepted(definition["spec"]["names"], before, list(others))
    why = conflict or ("NoConflicts", "no conflicts found")
    status = with_condition(status, now, "NamesAccepted", not conflict, *why)
    if not is_established(definition):
        accepted = ("InitialNamesAccepted", "the initial names have been accepted")
        why = ("NotAccepted", "not all names are accepted") if conflict else accepted
        status = with_condition(status, now, "Established", not conflict, *why)
    reason, message = approval(definition)
    if reason:
        kind, approved = "KubernetesAPIApprovalPolicyConformant", reason == "ApprovedAnnotation"
        status = with_condition(status, now, kind, approved, reason, message)
    return {**status, "acceptedNames": names}


def _accepted(
    wanted: Document, before: Document, others: list[Document]
) -> tuple[Document, tuple[str, str] | None]:
    """The names that are granted; and of those that are not, the last in order with the reason."""
    granted: Document = {}
    conflict = None
    for sort in (_RESOURCES, _KINDS):
        taken = {text for names in others for name in sort for text in _texts(names.get(name))}
        for name in sort:
            had = _texts(before.get(name))
            in_use = [each for each in _texts(wanted.get(name)) if each not in had and each in taken]
            if in_use:
                texts = (f"{quoted(each)} is already in use" for each in dict.fromkeys(in_use))
                conflict = (f"{name[0].upper()}{name[1:]}Conflict", listed(texts))
            granted[name] = (before if in_use else wanted).get(name, "")
    granted["categories"] = wanted.get("categories")
    return {name: value for name, value in granted.items() if value or name in _NO_NAMES}, conflict


def _texts(names: str | list[str] | None) -> list[str]:
    return [names] if isinstance(names, str) and names else list(names or ())


def with_condition(status: Document, now: str, kind: str, holds: bool, reason: str, message: str) -> Document:
    """The status with a condition. The time of its last change stays unless its state is another."""
    state, conditions = "True" if holds else "False", status.get("conditions") or []
    known = condition(status, kind)
    since = (known or {}).get("lastTransitionTime") if (known or {}).get("status") == state else None
    new = {
        "type": kind,
        "status": state,
        "lastTransitionTime": since or now,
        "reason": reason,
        "message": message,
    }
    if known is None:
        return {**status, "conditions": [*conditions, new]}
    changed = [{**each, **new} if each is known else each for each in conditions]
    return {**status, "conditions": changed}


def approval(document: Document) -> tuple[str, str]:
    """The state of the approval as conditions put it, with a message; empty where none is needed."""
    if not f".{document['spec'].get('group', '')}".endswith(_PROTECTED):
        return "", ""
    given = (document["metadata"].get("annotations") or {}).get(APPROVAL, "")
    if not given:
        return "MissingAnnotation", _MISSING
    if given.startswith("unapproved"):
        return "UnapprovedAnnotation", f"not approved: {quoted(given)}"
    if is_uri(given) and _WITH_HOST.match(given):
        return "ApprovedAnnotation", f"approved in {given}"
    return "InvalidAnnotation", _WRONG
