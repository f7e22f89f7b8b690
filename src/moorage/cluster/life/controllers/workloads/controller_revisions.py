"""The templates that an owner of pods has had, kept as ControllerRevisions."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from moorage.cluster.base.parts import number, part, selector_of
from moorage.cluster.base.store import Document, Stored
from moorage.cluster.life.controllers import objects
from moorage.cluster.life.controllers.workloads.revisions import short_hash
from moorage.cluster.objects.writes import InternalWriter

REVISIONS = "controllerrevisions.apps"
HASH_LABEL = "controller-revision-hash"
_LONGEST_PREFIX = 223  # of a revision's name, before the hash


class History(NamedTuple):
    current: Stored
    """The revision with the template that the owner has now."""
    old: list[Stored]
    """All others, the oldest first."""


class ControllerRevisions:
    """The revisions of owners of one kind.

    Each is labelled as the owner's pods are, and with a hash: `hash_label`. Its data is a patch that brings
    its template back, as `kubectl rollout undo` applies it.
    """

    def __init__(
        self, writer: InternalWriter, resource: str, api_version: str, kind: str, hash_label: str = HASH_LABEL
    ) -> None:
        self._writer = writer
        self._store = writer.store
        self._resource = resource
        self._api_version = api_version
        self._kind = kind
        self._hash_label = hash_label

    def history(self, owner: Stored) -> History | None:
        """The revisions of an owner, after one for its template was made or became the newest.

        None if the owner had to be changed first: it is then in its controller's queue again.
        """
        data = _patch(owner)
        claimed = self._claim(owner)
        same = [each for each in claimed if each.document.get("data") == data]
        old = [each for each in claimed if each.document.get("data") != data]
        newest = max((revision_number(each) for each in old), default=0) + 1
        if not same:
            made = self._create(owner, data, newest)
            return None if made is None else History(made, old)
        *copies, current = same
        for each in copies:
            objects.delete_if_there(self._writer, REVISIONS, each)
        if revision_number(current) < newest:
            changed = self._writer.change(
                REVISIONS, current, lambda document: document.update(revision=newest)
            )
            if changed is None:
                return None
            current = changed
        return History(current, old)

    def hash_of(self, revision: Stored) -> str:
        return revision.labels.get(self._hash_label, revision.name)

    def forget_oldest(self, old: list[Stored], limit: int, in_use: Collection[str]) -> None:
        """Deletes old revisions beyond those to be kept, but none whose hash is in use."""
        superfluous = len(old) - limit
        for each in old:
            if superfluous <= 0:
                return
            if self.hash_of(each) not in in_use:
                objects.delete_if_there(self._writer, REVISIONS, each)
                superfluous -= 1

    def _claim(self, owner: Stored) -> list[Stored]:
        """The revisions of an owner, the oldest first, after fitting ones were adopted and others let go."""
        selector = selector_of(owner.spec.get("selector"))
        reference = objects.controller_reference(owner, self._api_version, self._kind)
        found = []
        for each in self._store.objects(REVISIONS, owner.namespace):
            fits = selector.matches(each.labels)
            if objects.is_controlled_by(each, owner):
                if fits:
                    found.append(each)
                else:
                    objects.drop_owners(self._writer, REVISIONS, each, {owner.uid})
            elif fits and objects.controller_of(each) is None and not each.is_deleted:
                adopted = objects.adopt(self._writer, REVISIONS, each, reference)
                if adopted is not None:
                    found.append(adopted)
        return sorted(found, key=lambda each: (revision_number(each), each.created, each.name))

    def _create(self, owner: Stored, data: Document, revision: int) -> Stored | None:
        collisions = owner.status.get("collisionCount")
        code = short_hash([data, collisions])
        name = f"{owner.name[:_LONGEST_PREFIX]}-{code}"
        present = self._store.get(REVISIONS, owner.namespace, name)
        if present is not None:
            if present.document.get("data") == data and objects.is_controlled_by(present, owner):
                return present
            status = {**owner.status, "collisionCount": (collisions or 0) + 1}
            objects.write_status(self._writer, self._resource, owner, status)
            return None
        labels = part(owner.spec, "template", "metadata", "labels")
        metadata: Document = {
            "name": name,
            "namespace": owner.namespace,
            "labels": {**labels, self._hash_label: code},
            "ownerReferences": [objects.controller_reference(owner, self._api_version, self._kind)],
        }
        if owner.annotations:
            metadata["annotations"] = owner.annotations
        document = {"metadata": metadata, "data": data, "revision": revision}
        return self._writer.create(REVISIONS, objects.copied(document))


def revision_number(revision: Stored) -> int:
    return number(revision.document, "revision")


def _patch(owner: Stored) -> Document:
    return {"spec": {"template": {**part(owner.spec, "template"), "$patch": "replace"}}}
