"""Pods stay for five minutes on a node that is not ready or cannot be reached, unless they say otherwise."""

from __future__ import annotations

from moorage.cluster.store import Document

_TAINTS = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
_SECONDS = 300


def add_tolerations(document: Document) -> None:
    spec = document["spec"]
    tolerations = spec.get("tolerations") or []
    missing = [key for key in _TAINTS if not any(_tolerates(each, key) for each in tolerations)]
    if missing:
        spec["tolerations"] = [
            *tolerations,
            *(
                {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": _SECONDS}
                for key in missing
            ),
        ]


def _tolerates(toleration: Document, key: str) -> bool:
    return toleration.get("key", "") in ("", key) and toleration.get("effect", "") in ("", "NoExecute")
