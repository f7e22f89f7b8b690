"""Creating, changing and deleting objects, with all that an API server does on the way."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import TypeVar

import msgspec

from moorage.cluster.access import claim_rights
from moorage.cluster.access.escalation import check_escalation
from moorage.cluster.access.rbac import Authorizer
from moorage.cluster.access.requests import Place
from moorage.cluster.access.signer_rights import check_signer, check_subject
from moorage.cluster.access.users import User
from moorage.cluster.access.write_options import Options
from moorage.cluster.base import errors
from moorage.cluster.base.errors import Cause, Refusal
from moorage.cluster.base.outside import Answers, Unanswered
from moorage.cluster.base.store import Document, Exists, Store, Stored
from moorage.cluster.base.times import Clock, timestamp
from moorage.cluster.custom.serving import CRDS
from moorage.cluster.kinds import metadata as metadata_rules
from moorage.cluster.objects import deletion, identity
from moorage.cluster.objects.admission.attempt import CREATE, DELETE, UPDATE, Attempt
from moorage.cluster.objects.admission.chain import admit, allocate
from moorage.cluster.objects.admission.quotas import charge
from moorage.cluster.objects.decoding import before_write, from_stored, shape
from moorage.cluster.objects.deletion import DeleteOptions
from moorage.cluster.objects.hooks.hooks import Hooks
from moorage.cluster.objects.hooks.wishes import Wish
from moorage.cluster.objects.identity import check_deletion
from moorage.cluster.objects.merging import managed_fields
from moorage.cluster.objects.merging.apply import apply, same_but_for_times
from moorage.cluster.objects.merging.field_sets import NOTHING, FieldSet
from moorage.cluster.objects.merging.managed_fields import APPLY, Manager
from moorage.cluster.objects.yaml_bodies import repetition_error
from moorage.cluster.schema.conform import Undecodable
from moorage.cluster.schema.definitions import Definition, Definitions
from moorage.cluster.schema.mistakes import conversion_problem

_NAME_TRIES = 8
T = TypeVar("T")

_MOST_OPEN = 1000

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Document).decode  # quicker than a deep copy


class Objects:
    """The one door for writes. Documents that come in have the right shape and become the store's."""

    def __init__(
        self,
        store: Store,
        definitions: Definitions,
        authorizer: Authorizer,
        hooks: Hooks,
        clock: Clock = time.time,
    ) -> None:
        self.store = store
        self.definitions = definitions
        self.hooks = hooks
        self.clock = clock
        self._authorizer = authorizer

    def definition_of(self, resource: str) -> Definition:
        definition = self.definitions.of_storage(resource)
        if definition is None:
            raise LookupError(f"{resource}: is not served")
        return definition

    def get(self, definition: Definition, namespace: str, name: str) -> Stored:
        found = self.store.get(definition.storage, namespace, name)
        if found is None:
            raise errors.not_found(definition.name, name)
        return found

    def create(self, definition: Definition, namespace: str, document: Document, options: Options) -> Stored:
        strategy = definition.strategy
        metadata = document["metadata"]
        if metadata.get("resourceVersion"):
            raise errors.bad_request("resourceVersion should not be set on objects to be created")
        errors.check_namespace(metadata, namespace)
        identity.clear_on_create(document, namespace)
        strategy.default(document)
        self._track(definition, None, document, options, "")
        suffix = options.fixed("suffix", identity.random_suffix)
        attempt = Attempt(definition, document, None, CREATE, self.store, lambda: suffix)
        admit(attempt)
        wish = self._wish(definition, CREATE, options, document, None)

        def readmit(changed: Document) -> None:
            errors.check_namespace(changed["metadata"], namespace)
            admit(attempt._replace(document=changed))

        wish = self.hooks.mutate(wish, readmit)
        document = _document_of(wish)
        metadata = document["metadata"]
        errors.check_namespace(metadata, namespace)
        identity.fill_on_create(document, options.fixed("origin", lambda: identity.origin(self.clock())))
        generate = metadata.get("generateName") if metadata["name"] else ""
        attempt = attempt._replace(document=document)
        allocate(attempt)
        strategy.prepare_create(document)
        strategy.note_creator(document, _shown_user(options.user))
        if strategy.counts_generations:
            metadata["generation"] = 1
        causes = metadata_rules.validate_metadata(
            document,
            namespaced=definition.namespaced,
            name_rule=metadata_rules.name_rule_of(definition.storage),
            qualified_finalizers=strategy.qualified_finalizers,
        )
        rights = claim_rights.creation_problems(definition, document, self.store)
        _refuse(definition, document, [*rights, *causes, *strategy.validate(document)])
        check_escalation(self._authorizer, options.user, definition, document, None)
        check_subject(definition, document)
        options.warnings += strategy.warnings(document)
        self.hooks.validate(self._wish(definition, CREATE, options, document, None))
        charge(attempt, dry_run=options.dry_run)
        if options.dry_run:
            if self.store.get(definition.storage, namespace, metadata["name"]) is not None:
                raise self._in_the_way(definition, namespace, metadata["name"])
            kept = _kept(definition, document)
            return Stored(namespace, metadata["name"], kept, self.store.revision)
        return self._insert(definition, namespace, document, generate or "")

    def _insert(self, definition: Definition, namespace: str, document: Document, generate: str) -> Stored:
        metadata = document["metadata"]
        for _ in range(_NAME_TRIES):
            try:
                kept = _kept(definition, document)
                return self.store.create(definition.storage, namespace, metadata["name"], kept)
            except Exists:
                if not generate or not identity.is_generated(metadata["name"], generate):
                    break
                metadata["name"] = identity.generated_name(generate)
        raise self._in_the_way(definition, namespace, metadata["name"])

    def _in_the_way(self, definition: Definition, namespace: str, name: str) -> Refusal:
        refusal = errors.already_exists(definition.name, name)
        if self.get(definition, namespace, name).is_deleted:
            refusal.message = f"object is being deleted: {refusal.message}"
        return refusal

    def replace(
        self, definition: Definition, place: Place, document: Document, options: Options
    ) -> tuple[Stored, bool]:
        """Puts the document in the place of the stored one; says whether it was created by that."""
        identity.check_address(document["metadata"], place)
        old = self.store.get(definition.storage, place.namespace, place.name)
        if old is None:
            if definition.strategy.created_by_update and not place.subresource:
                return self.create(definition, place.namespace, document, options), True
            raise errors.not_found(definition.name, place.name)
        identity.check_replaced(definition, old, document["metadata"])
        return self.update(definition, old, document, options, place.subresource), False

    def update(
        self, definition: Definition, old: Stored, document: Document, options: Options, subresource: str = ""
    ) -> Stored:
        """Writes a changed document. One that is not changed is not written."""
        known = before_write(definition, old.document)
        identity.check_version(definition, old, document["metadata"])
        identity.fill_on_update(document, known)
        strategy = definition.strategy
        if subresource != "finalize":
            strategy.default(document)
            self._track(definition, known, document, options, subresource)
        attempt = Attempt(definition, document, known, UPDATE, self.store)
        admit(attempt, subresource)
        check_signer(self._authorizer, options.user, definition, document, known, subresource)
        if subresource != "scale":  # of which others have been told already
            wish = self._wish(definition, UPDATE, options, document, known, subresource)
            readmit = partial(_readmit, attempt, subresource)
            document = _document_of(self.hooks.mutate(wish, readmit))
            identity.fill_on_update(document, known)
            attempt = attempt._replace(document=document)
        strategy.prepare_change(document, known, subresource)
        allocate(attempt, subresource)
        counts = strategy.counts_generations and subresource != "status"
        if counts and strategy.is_new_generation(document, known):
            document["metadata"]["generation"] = known["metadata"].get("generation", 0) + 1
        qualified = strategy.qualified_finalizers
        causes = metadata_rules.validate_metadata_update(document, known, qualified_finalizers=qualified)
        rights = self._lacking_rights(definition, known, document, options, subresource)
        changes = strategy.validate_change(document, known, subresource, options.warnings)
        _refuse(definition, document, [*rights, *causes, *changes])
        if not subresource:
            check_escalation(self._authorizer, options.user, definition, document, known)
            options.warnings += strategy.update_warnings(document, known)
        if subresource != "scale":
            self.hooks.validate(self._wish(definition, UPDATE, options, document, known, subresource))
        if not subresource:
            charge(attempt, dry_run=options.dry_run)
        return self._write(definition, old, document, options)

    def apply(
        self,
        definition: Definition,
        place: Place,
        applied: Document,
        options: Options,
        repeated: list[str] | None = None,
    ) -> tuple[Stored, bool]:
        """Server-side apply; says whether the object was created by it.

        `repeated` is what there is to say about keys that the configuration has twice.
        """
        metadata = applied.setdefault("metadata", {})
        old = self.store.get(definition.storage, place.namespace, place.name)
        if old is not None:
            metadata.setdefault("name", place.name)
        identity.check_address(metadata, place)
        if old is None and place.subresource:
            raise errors.not_found(definition.name, place.name)
        merged = apply(
            definition.schema,
            None if old is None else before_write(definition, old.document),
            applied,
            Manager(options.manager, APPLY, definition.api_version, place.subresource),
            force=options.force,
            now=timestamp(self._now(options)),
            ignored=_ignored(definition),
        )
        if repeated and options.validation == "Strict":
            told = f"error strict decoding YAML: error converting YAML to JSON: {repetition_error(repeated)}"
            raise errors.bad_request(told)
        if repeated and options.validation == "Warn":
            options.warnings += repeated
        try:
            document = shape(definition, merged, Options())
        except Undecodable as error:
            raise _inconvertible(definition, place, error.problem) from None
        # What the manager of an apply owns is settled; the rest of the way is that of any write.
        settled = replace(options, manager="")
        if old is None:
            return self.create(definition, place.namespace, document, settled), True
        return self.update(definition, old, document, settled, place.subresource), False

    def delete(
        self,
        definition: Definition,
        namespace: str,
        name: str,
        options: DeleteOptions,
        by: Options | None = None,
    ) -> tuple[Stored, bool]:
        """The object as it was last and whether it is gone; if not, it waits for finalizers or its end.

        `by` says who deletes it, if others have a say in that.
        """
        old = self.get(definition, namespace, name)
        admit(Attempt(definition, old.document, old.document, DELETE, self.store))
        if by is not None:
            check_deletion(definition, old.document["metadata"], options.uid, options.resource_version)
            if definition.storage in ("namespaces", CRDS):  # whoever deletes one means this very one
                by = replace(by, told={**by.told, "preconditions": {"uid": old.uid}})
            self.hooks.admit(self._wish(definition, DELETE, by, None, before_write(definition, old.document)))
        return deletion.delete(self.store, definition, old, options, self.clock())

    def _wish(
        self,
        definition: Definition,
        operation: str,
        options: Options,
        document: Document | None,
        old: Document | None,
        subresource: str = "",
    ) -> Wish:
        metadata = (document or old or {})["metadata"]
        name = metadata.get("name", "")
        namespace = name if definition.storage == "namespaces" else metadata.get("namespace", "")
        return Wish(definition, operation, options, document, old, name, namespace, subresource)

    def _lacking_rights(
        self, definition: Definition, old: Document, new: Document, options: Options, subresource: str
    ) -> Iterable[Cause]:
        if definition.storage != claim_rights.CLAIMS or subresource != "status":
            return ()
        user, verb = options.user, options.verb
        return claim_rights.status_problems(self._authorizer, user, verb, new, old, self.store)

    def _write(self, definition: Definition, old: Stored, document: Document, options: Options) -> Stored:
        known = old.document
        document = _kept(definition, document)
        document["metadata"]["resourceVersion"] = known["metadata"]["resourceVersion"]
        if document == known or same_but_for_times(known, document):
            return old
        if options.dry_run:
            return Stored(old.namespace, old.name, document, old.revision)
        new = self.store.update(definition.storage, old, document)
        if deletion.is_due(definition, new):
            return self.store.delete(definition.storage, new)
        return new

    def _now(self, options: Options) -> float:
        return options.fixed("now", self.clock)

    def _track(
        self, definition: Definition, old: Document | None, new: Document, options: Options, subresource: str
    ) -> None:
        if not options.manager or not definition.strategy.tracked:
            return
        who = Manager(options.manager, managed_fields.UPDATE, definition.api_version, subresource)
        # Nobody knows when something was scaled: a Scale has no managed fields to keep the time in.
        now = "" if subresource == "scale" else timestamp(self._now(options))
        tracked = managed_fields.track(definition.schema, old, new, who, now, _ignored(definition))
        if tracked:
            new["metadata"]["managedFields"] = tracked
        else:
            new["metadata"].pop("managedFields", None)


class InternalWriter:
    """What controllers and nodes write with: the same door, but nobody is asked for rights.

    Nobody is noted as the owner of the fields they set. One that `asks` asks webhooks and policies about
    objects, but not about their status and about events. It raises Unanswered then: once that is asked, the
    same is to be written again.
    """

    def __init__(self, objects: Objects, *, asks: bool = False) -> None:
        self._objects = objects
        self._asks = asks
        self._open: dict[tuple[str, ...], Answers] = {}
        """What is known of writes that have to be tried again."""

    @property
    def store(self) -> Store:
        return self._objects.store

    def create(self, resource: str, document: Document) -> Stored:
        definition = self._objects.definition_of(resource)
        document = {"apiVersion": definition.api_version, "kind": definition.kind, **document}
        namespace = document["metadata"].get("namespace", "")

        def create(options: Options) -> Stored:
            return self._objects.create(definition, namespace, document, options)

        return self._asking(resource, "", document, create)

    def _asking(self, resource: str, place: str, document: Document, write: Callable[[Options], T]) -> T:
        """Writes with what others have said before about the very same write."""
        if not self._asks or resource == "events" or self._objects.hooks.is_idle:
            return write(Options())
        what = resource, place, _encode(document).decode()
        answers = self._open.pop(what, None) or Answers()
        try:
            return write(Options(answers=answers))
        except Unanswered:
            while len(self._open) >= _MOST_OPEN:
                del self._open[next(iter(self._open))]
            self._open[what] = answers
            raise

    def change(
        self, resource: str, stored: Stored, change: Callable[[Document], None], *, subresource: str = ""
    ) -> Stored | None:
        if self.store.get(resource, stored.namespace, stored.name) is not stored:
            return None
        document = _decode(stored.body)
        change(document)
        definition = self._objects.definition_of(resource)
        if subresource:
            return self._objects.update(definition, stored, document, Options(), subresource)

        def update(options: Options) -> Stored:
            return self._objects.update(definition, stored, document, options)

        return self._asking(resource, stored.uid, document, update)

    def delete(
        self,
        resource: str,
        stored: Stored,
        *,
        grace_seconds: int | None = None,
        propagation: str = "Background",
    ) -> None:
        current = self.store.get(resource, stored.namespace, stored.name)
        if current is not None and current.uid == stored.uid:
            options = DeleteOptions(grace_seconds=grace_seconds, propagation=propagation)
            definition = self._objects.definition_of(resource)
            told = options.told()

            def delete(by: Options) -> None:
                by.told = told
                self._objects.delete(definition, *stored.key, options, by)

            self._asking(resource, f"{stored.uid}/delete", told, delete)


def _document_of(wish: Wish) -> Document:
    assert wish.document is not None  # there is one before and after
    return wish.document


def _kept(definition: Definition, document: Document) -> Document:
    """The form in which a document is kept. How that is shown is asked before anything is written."""
    kept = definition.strategy.stored(document)
    if definition.custom:
        from_stored(definition, kept)
    return kept


def _readmit(attempt: Attempt, subresource: str, changed: Document) -> None:
    admit(attempt._replace(document=changed), subresource)


def _shown_user(user: User) -> Document:
    extra = {key: list(values) for key, values in user.extra.items()}
    return {"username": user.name, "uid": user.uid, "groups": list(user.groups), "extra": extra}


def _inconvertible(definition: Definition, place: Place, problem: str) -> Refusal:
    kind = f"{definition.group}/{definition.version}, Kind={definition.kind}"
    return errors.unreasoned(
        f"failed to convert new object ({place.namespace}/{place.name}; {kind}) to proper version:"
        f" unable to convert unstructured object to {kind}: {conversion_problem(problem)}"
    )


def _ignored(definition: Definition) -> FieldSet | None:
    """A status that has no address of its own is owned like any other field."""
    return NOTHING if definition.custom and "status" not in definition.subresources else None


def _refuse(definition: Definition, document: Document, causes: list[Cause]) -> None:
    if causes:
        metadata = document["metadata"]
        name = metadata.get("name") or metadata.get("generateName", "")
        group = definition.storage.partition(".")[2]  # that of the stored form
        raise errors.invalid(definition.kind, group, name, causes)
