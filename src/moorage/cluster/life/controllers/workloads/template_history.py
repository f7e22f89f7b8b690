"""The templates that a StatefulSet has had, kept as ControllerRevisions."""

from __future__ import annotations

from typing import NamedTuple

from moorage.cluster.base.parts import part, selector_of
from moorage.cluster.base.store import Document, Stored
from moorage.cluster.life.controllers import objects
from moorage.cluster.life.controllers.workloads.revisions import short_hash
from moorage.cluster.objects.writes import InternalWriter

REVISIONS = "controllerrevisions.apps"
HASH_LABEL = "controller.kubernetes.io/hash"
_LONGEST_PREFIX = 223


class History(NamedTuple):
    revisions: list[Stored]
    """All there are, the newest last."""
    current: Stored
    """The one that pods had before the last change, as long as not all of them are changed."""
    update: Stored
    """The one that pods should have."""
    collisions: int


class TemplateHistory:
    def __init__(self, writer: InternalWriter, kind: str) -> None:
        self._writer = writer
        self._store = writer.store
        self._kind = kind

    def of(self, owner: Stored) -> History:
        """The history, after the template of now was put into it."""
        revisions = self._adopted(owner)
        data = _data(owner)
        number = max((each.document.get("revision", 0) for each in revisions), default=0) + 1
        same = [each for each in revisions if each.document.get("data") == data]
        collisions = owner.status.get("collisionCount") or 0
        if same and same[-1] is revisions[-1]:
            update = same[-1]
        elif same:  # an old one comes back
            changed = self._writer.change(
                REVISIONS, same[-1], lambda document: document.update(revision=number)
            )
            update = changed or same[-1]
        else:
            update, collisions = self._create(owner, data, number, collisions)
        named = [each for each in revisions if each.name == owner.status.get("currentRevision")]
        current = named[0] if named else update
        # What was changed or created above is not in the list yet.
        revisions = [each for each in revisions if each.name != update.name] + [update]
        return History(revisions, update if current.name == update.name else current, update, collisions)

    def drop_oldest(self, owner: Stored, history: History, in_use: set[str]) -> None:
        """Deletes what the set need not remember."""
        live = {history.current.name, history.update.name, *in_use}
        dead = [each for each in history.revisions if each.name not in live]
        limit = owner.spec.get("revisionHistoryLimit", 10)
        if limit >= 0:
            for each in dead[: max(len(dead) - limit, 0)]:
                objects.delete_if_there(self._writer, REVISIONS, each)

    def _adopted(self, owner: Stored) -> list[Stored]:
        """The revisions of an owner, the newest last, after those that nobody has were adopted."""
        selector = selector_of(owner.spec.get("selector"))
        found = []
        for each in self._store.objects(REVISIONS, owner.namespace):
            revision: Stored | None = each
            if objects.controller_of(each) is None and selector.matches(each.labels) and not owner.is_deleted:
                reference = objects.controller_reference(owner, "apps/v1", self._kind)
                revision = objects.adopt(self._writer, REVISIONS, each, reference)
            if revision is not None and objects.is_controlled_by(revision, owner):
                found.append(revision)
        return sorted(found, key=lambda each: (each.document.get("revision", 0), each.created, each.name))

    def _create(self, owner: Stored, data: Document, number: int, collisions: int) -> tuple[Stored, int]:
        while True:
            code = short_hash([data, collisions])
            name = f"{owner.name[:_LONGEST_PREFIX]}-{code}"
            present = self._store.get(REVISIONS, owner.namespace, name)
            if present is None:
                return self._writer.create(
                    REVISIONS, self._revision(owner, data, number, name, code)
                ), collisions
            if present.document.get("data") == data and objects.is_controlled_by(present, owner):
                return present, collisions
            collisions += 1

    def _revision(self, owner: Stored, data: Document, number: int, name: str, code: str) -> Document:
        labels = part(owner.spec, "template", "metadata", "labels")
        metadata: Document = {
            "name": name,
            "namespace": owner.namespace,
            "labels": {**labels, HASH_LABEL: code},
            "ownerReferences": [objects.controller_reference(owner, "apps/v1", self._kind)],
        }
        if owner.annotations:
            metadata["annotations"] = owner.annotations
        return objects.copied({"metadata": metadata, "data": data, "revision": number})


def template_of(revision: Stored) -> Document:
    """The pod template that a revision keeps."""
    template = part(revision.document, "data", "spec", "template")
    return {name: value for name, value in template.items() if name != "$patch"}


def _data(owner: Stored) -> Document:
    """A patch that brings the template of now back, as `kubectl rollout undo` applies it."""
    return {"spec": {"template": {**part(owner.spec, "template"), "$patch": "replace"}}}
