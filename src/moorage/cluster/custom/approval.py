"""Who may define resources in the groups of the Kubernetes community."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlsplit

from moorage.cluster.base.errors import Cause, invalid_value, required
from moorage.cluster.base.quoting import quoted
from moorage.cluster.base.store import Document
from moorage.cluster.custom.formats import is_uri

ANNOTATION = "api-approved.kubernetes.io"
_SEE = "see https://github.com/kubernetes/enhancements/pull/1111"
_MISSING = f'protected groups must have approval annotation "{ANNOTATION}", {_SEE}'
_WRONG = (
    f'protected groups must have approval annotation "{ANNOTATION}" with either a URL or a reason starting '
    f'with "unapproved", {_SEE}'
)


def is_protected(group: str) -> bool:
    return f".{group}".endswith((".k8s.io", ".kubernetes.io"))


def approval_problems(document: Document) -> Iterator[Cause]:
    """A definition in such a group names the review it went through, or says that there was none."""
    reason, message = approval(document)
    field = f"metadata.annotations[{ANNOTATION}]"
    if reason == "MissingAnnotation":
        yield required(field, message)
    elif reason == "InvalidAnnotation":
        yield invalid_value(field, document["metadata"]["annotations"][ANNOTATION], message)


def approval(document: Document) -> tuple[str, str]:
    """The state of the approval as conditions put it, with a message; empty where none is needed."""
    if not is_protected(document["spec"].get("group", "")):
        return "", ""
    given = (document["metadata"].get("annotations") or {}).get(ANNOTATION, "")
    if not given:
        return "MissingAnnotation", _MISSING
    if given.startswith("unapproved"):
        return "UnapprovedAnnotation", f"not approved: {quoted(given)}"
    if is_uri(given) and _has_host(given):
        return "ApprovedAnnotation", f"approved in {given}"
    return "InvalidAnnotation", _WRONG


def _has_host(url: str) -> bool:
    try:
        found = urlsplit(url)
    except ValueError:
        return False
    return bool(found.scheme and found.netloc)
