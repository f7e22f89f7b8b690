"""The revisions of a deployment: each is a replica set with the template of that time."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import msgspec

from moorage.cluster.base.store import Document, Stored
from moorage.cluster.life.controllers.objects import controller_reference
from moorage.cluster.life.controllers.workloads.rollout_sizes import (
    DESIRED,
    MAXIMUM,
    surge_and_unavailable,
    wanted,
)

HASH_LABEL = "pod-template-hash"
REVISION = "deployment.kubernetes.io/revision"
HISTORY = "deployment.kubernetes.io/revision-history"
LONGEST_HISTORY = 2000  # characters
_NOT_COPIED = frozenset(
    (
        "kubectl.kubernetes.io/last-applied-configuration",
        REVISION,
        HISTORY,
        DESIRED,
        MAXIMUM,
        "deprecated.deployment.rollback.to",
    )
)
_LONGEST_NAME = 253
_LARGEST = 2**63 - 1
_NUMBER = re.compile(r"[+-]?[0-9]+")
_LONGEST_NUMBER = 100  # characters; longer ones are not worth the work
_SAFE = "bcdfghjklmnpqrstvwxz2456789"  # no vowels: no words come out


def oldest_first(replica_sets: Iterable[Stored]) -> list[Stored]:
    return sorted(replica_sets, key=lambda each: (each.created, each.name))


def find_new(deployment: Stored, replica_sets: Iterable[Stored]) -> Stored | None:
    """The replica set that has the deployment's template; the oldest if there are several."""
    template = _without_hash(deployment.spec.get("template") or {})
    for each in oldest_first(replica_sets):
        if _without_hash(each.spec.get("template") or {}) == template:
            return each
    return None


def revision_of(stored: Stored) -> int:
    """0 where there is none that can be read."""
    return _number(stored.annotations.get(REVISION, "")) or 0


def next_revision(old: Iterable[Stored]) -> int:
    highest = max((0, *map(revision_of, old)))
    return highest + 1 if highest < _LARGEST else -_LARGEST - 1  # as numbers of 64 bits do


def template_hash(deployment: Stored) -> str:
    """A short text that another template, or a collision, changes."""
    return short_hash([deployment.spec.get("template"), deployment.status.get("collisionCount")])


def short_hash(content: Any) -> str:
    """A short text, good for a name, that other content changes."""
    number = 2166136261
    for byte in msgspec.json.encode(content, order="sorted"):
        number = (number ^ byte) * 16777619 & 0xFFFFFFFF
    return "".join(_SAFE[ord(digit) % len(_SAFE)] for digit in str(number))


def new_replica_set(deployment: Stored, replicas: int, revision: int) -> Document:
    """The replica set for the deployment's template."""
    spec = deployment.spec
    code = template_hash(deployment)
    template = spec.get("template") or {}
    metadata = template.get("metadata") or {}
    labels = {**(metadata.get("labels") or {}), HASH_LABEL: code}
    selector = spec.get("selector") or {}
    made: Document = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {
            "name": f"{deployment.name[: _LONGEST_NAME - 1 - len(code)]}-{code}",
            "namespace": deployment.namespace,
            "labels": labels,
            "annotations": {},
            "ownerReferences": [controller_reference(deployment, "apps/v1", "Deployment")],
        },
        "spec": {
            "replicas": replicas,
            "selector": {
                **selector,
                "matchLabels": {**(selector.get("matchLabels") or {}), HASH_LABEL: code},
            },
            "template": {**template, "metadata": {**metadata, "labels": labels}},
        },
    }
    if spec.get("minReadySeconds"):
        made["spec"]["minReadySeconds"] = spec["minReadySeconds"]
    annotations = made["metadata"]["annotations"]
    annotate_revision(annotations, deployment, revision)
    annotate_sizes(annotations, deployment)
    copied: Document = msgspec.json.decode(msgspec.json.encode(made))
    return copied


def annotate_revision(annotations: dict[str, str], deployment: Stored, revision: int) -> None:
    """Puts the annotations of the newest replica set in order; a reused one remembers its old revisions."""
    known = deployment.annotations
    annotations.update((name, value) for name, value in known.items() if name not in _NOT_COPIED)
    before = annotations.get(REVISION)
    number = _number(before) if before else 0
    if number is None or number >= revision:
        return
    annotations[REVISION] = str(revision)
    if not before:
        return
    history = [each for each in annotations.get(HISTORY, "").split(",") if each]
    history.append(before)
    while len(history) > 1 and len(",".join(history)) > LONGEST_HISTORY:
        history.pop(0)
    annotations[HISTORY] = ",".join(history)


def annotate_sizes(annotations: dict[str, str], deployment: Stored) -> None:
    total = wanted(deployment)
    annotations[DESIRED] = str(total)
    annotations[MAXIMUM] = str(total + surge_and_unavailable(deployment)[0])


def superfluous(deployment: Stored, old: Iterable[Stored]) -> list[Stored]:
    """Old replica sets beyond the history that is to be kept, as far as they are empty and settled."""
    limit = deployment.spec.get("revisionHistoryLimit", 10)
    kept = sorted(
        (each for each in old if not each.is_deleted), key=lambda each: (revision_of(each), each.created)
    )
    return [
        each
        for each in kept[: max(len(kept) - limit, 0)]
        if not wanted(each)
        and not each.status.get("replicas")
        and each.generation <= each.status.get("observedGeneration", 0)
    ]


def _without_hash(template: Document) -> Any:
    metadata = dict(template.get("metadata") or {})
    metadata.pop("creationTimestamp", None)
    labels = dict(metadata.pop("labels", None) or {})
    labels.pop(HASH_LABEL, None)
    return labels, {name: value for name, value in metadata.items() if value}, {**template, "metadata": None}


def _number(text: str) -> int | None:
    """A whole number of 64 bits; None if the text is none."""
    if len(text) > _LONGEST_NUMBER or not _NUMBER.fullmatch(text):
        return None
    number = int(text)
    return number if -_LARGEST - 1 <= number <= _LARGEST else None
