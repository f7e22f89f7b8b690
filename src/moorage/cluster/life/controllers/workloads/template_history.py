"""The templates that an owner of pods has had, kept as ControllerRevisions."""

from __future__ import annotations

from typing import NamedTuple

from moorage.cluster.base.parts import number, part, selector_of
from moorage.cluster.base.store import Document, Stored
from moorage.cluster.life.controllers import objects
from moorage.cluster.life.controllers.workloads.revisions import short_hash
from moorage.cluster.objects.writes import InternalWriter

REVISIONS = "controllerrevisions.apps"
_LONGEST_PREFIX = 223  # of a revision's name, before the hash


class History(NamedTuple):
    old: list[Stored]
    """All but the newest, the oldest first."""
    newest: Stored
    """The one with the template that the owner has now."""
    collisions: int
    """How often the name of a revision was taken; belongs into the owner's status."""

    def named(self, name: str) -> Stored | None:
        return next((each for each in (*self.old, self.newest) if each.name == name), None)


class TemplateHistory:
    """The revisions of owners of one kind.

    Each is labelled as the owner's pods are, and with a hash. Its data is a patch that brings its template
    back, as `kubectl rollout undo` applies it.
    """

    def __init__(self, writer: InternalWriter, kind: str, hash_label: str) -> None:
        self._writer = writer
        self._store = writer.store
        self._kind = kind
        self._hash_label = hash_label

    def of(self, owner: Stored) -> History:
        """The history, after the template of now was made the newest in it."""
        known = self._claimed(owner)
        data = _patch(owner)
        collisions = owner.status.get("collisionCount") or 0
        highest = max((number(each.document, "revision") for each in known), default=0)
        same = [each for each in known if each.document.get("data") == data]
        if not same:
            newest, collisions = self._create(owner, data, highest + 1, collisions)
        elif same[-1] is known[-1]:
            newest = same[-1]
        else:  # an old one comes back
            newest = self._renumbered(same[-1], highest + 1)
        return History([each for each in known if each.name != newest.name], newest, collisions)

    def hash_of(self, revision: Stored) -> str:
        return revision.labels.get(self._hash_label, revision.name)

    def forget(self, revisions: list[Stored]) -> None:
        for each in revisions:
            objects.delete_if_there(self._writer, REVISIONS, each)

    def _claimed(self, owner: Stored) -> list[Stored]:
        """The revisions of an owner, the oldest first, after fitting ones were adopted and others let go."""
        selector = selector_of(owner.spec.get("selector"))
        found = []
        for each in self._store.objects(REVISIONS, owner.namespace):
            revision: Stored | None = None
            fits = selector.matches(each.labels)
            if objects.is_controlled_by(each, owner):
                if fits or owner.is_deleted:
                    revision = each
                else:
                    objects.drop_owners(self._writer, REVISIONS, each, {owner.uid})
            elif fits and objects.controller_of(each) is None and not (each.is_deleted or owner.is_deleted):
                revision = objects.adopt(self._writer, REVISIONS, each, self._reference(owner))
            if revision is not None:
                found.append(revision)
        return sorted(found, key=lambda each: (number(each.document, "revision"), each.created, each.name))

    def _renumbered(self, revision: Stored, position: int) -> Stored:
        changed = self._writer.change(
            REVISIONS, revision, lambda document: document.update(revision=position)
        )
        return changed or revision

    def _create(self, owner: Stored, data: Document, position: int, collisions: int) -> tuple[Stored, int]:
        while True:
            code = short_hash([data, collisions])
            name = f"{owner.name[:_LONGEST_PREFIX]}-{code}"
            present = self._store.get(REVISIONS, owner.namespace, name)
            if present is None:
                made = self._revision(owner, data, position, name, code)
                return self._writer.create(REVISIONS, made), collisions
            if present.document.get("data") == data and objects.is_controlled_by(present, owner):
                return present, collisions
            collisions += 1

    def _revision(self, owner: Stored, data: Document, position: int, name: str, code: str) -> Document:
        labels = part(owner.spec, "template", "metadata", "labels")
        metadata: Document = {
            "name": name,
            "namespace": owner.namespace,
            "labels": {**labels, self._hash_label: code},
            "ownerReferences": [self._reference(owner)],
        }
        if owner.annotations:
            metadata["annotations"] = owner.annotations
        return objects.copied({"metadata": metadata, "data": data, "revision": position})

    def _reference(self, owner: Stored) -> Document:
        return objects.controller_reference(owner, "apps/v1", self._kind)


def template_of(revision: Stored) -> Document:
    """The pod template that a revision keeps."""
    template = part(revision.document, "data", "spec", "template")
    return {name: value for name, value in template.items() if name != "$patch"}


def _patch(owner: Stored) -> Document:
    return {"spec": {"template": {**part(owner.spec, "template"), "$patch": "replace"}}}
