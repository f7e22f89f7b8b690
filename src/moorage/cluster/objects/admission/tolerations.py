"""Pods stay for five minutes on a node that is not ready or cannot be reached, unless they say otherwise."""

from __future__ import annotations

from moorage.cluster.base.store import Document

_SECONDS = 300
_DEFAULTS = tuple(
    {
        "key": f"node.kubernetes.io/{state}",
        "operator": "Exists",
        "effect": "NoExecute",
        "tolerationSeconds": _SECONDS,
    }
    for state in ("not-ready", "unreachable")
)
"""Shared by all pods, as stored documents are never changed in place."""


def add_tolerations(document: Document) -> None:
    spec = document["spec"]
    tolerations = spec.get("tolerations")
    if not tolerations:
        spec["tolerations"] = list(_DEFAULTS)
        return
    missing = [default for default in _DEFAULTS if not any(_covers(each, default) for each in tolerations)]
    if missing:
        spec["tolerations"] = [*tolerations, *missing]


def _covers(toleration: Document, default: Document) -> bool:
    key, effect = toleration.get("key", ""), toleration.get("effect", "")
    return key in ("", default["key"]) and effect in ("", default["effect"])
