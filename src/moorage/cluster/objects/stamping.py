"""The metadata an API server gives to objects."""

from __future__ import annotations

import random
import uuid

from moorage.cluster.base.store import Document
from moorage.cluster.base.times import timestamp

_SUFFIX_LETTERS = "bcdfghjklmnpqrstvwxz2456789"  # no vowels, so that no words come about
_SUFFIX_LENGTH = 5
_LONGEST_BASE = 63 - _SUFFIX_LENGTH
_OF_SERVER = ("selfLink", "deletionTimestamp", "deletionGracePeriodSeconds")


def random_suffix() -> str:
    return "".join(random.choices(_SUFFIX_LETTERS, k=_SUFFIX_LENGTH))


def generated_name(base: str) -> str:
    return base[:_LONGEST_BASE] + random_suffix()


def is_generated(name: str, base: str) -> bool:
    """Whether a name may have been made from this beginning."""
    return name[:-_SUFFIX_LENGTH] == base[:_LONGEST_BASE]


def fill_on_create(document: Document, namespace: str, now: float) -> None:
    """Gives a new object its uid, its time and, where only a prefix is given, a name."""
    metadata = document["metadata"]
    for name in _OF_SERVER:
        metadata.pop(name, None)
    if not metadata.get("name"):
        base = metadata.get("generateName", "")
        metadata["name"] = generated_name(base) if base else ""
    if namespace:
        metadata["namespace"] = namespace
    else:
        metadata.pop("namespace", None)
    metadata["uid"] = str(uuid.UUID(int=random.getrandbits(128), version=4))
    metadata["creationTimestamp"] = timestamp(now)
    metadata.pop("generation", None)


def fill_on_update(new: Document, old: Document) -> None:
    """Takes over from the stored object what an update cannot change."""
    metadata, known = new["metadata"], old["metadata"]
    for name in (*_OF_SERVER, "creationTimestamp", "generation", "generateName"):
        if name in known:
            metadata[name] = known[name]
        else:
            metadata.pop(name, None)
    metadata.setdefault("uid", known["uid"])
    if not metadata.get("resourceVersion"):
        metadata["resourceVersion"] = known["resourceVersion"]
    if "namespace" in known:
        metadata.setdefault("namespace", known["namespace"])
