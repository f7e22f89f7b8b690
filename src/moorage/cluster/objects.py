"""Creating, changing and deleting objects, with all that an API server does on the way."""

from __future__ import annotations

import time
from collections.abc import Callable

from moorage.cluster.access.rbac import Authorizer
from moorage.cluster.admission.chain import Admission
from moorage.cluster.decoding import shape
from moorage.cluster.definitions import Definition, Definitions, spec_differs
from moorage.cluster.deletion import DeleteOptions, Deletion
from moorage.cluster.errors import (
    CHANGED,
    Cause,
    Refusal,
    already_exists,
    bad_request,
    conflict,
    invalid,
    invalid_value,
    not_found,
    unreasoned,
)
from moorage.cluster.kinds.metadata import name_rule_of, validate_metadata, validate_metadata_update
from moorage.cluster.kinds.namespaces import NamespaceStrategy
from moorage.cluster.merging.apply import apply, same_but_for_times
from moorage.cluster.merging.field_sets import NOTHING, FieldSet
from moorage.cluster.merging.managed_fields import track
from moorage.cluster.naming import fill_on_create, fill_on_update, generated_name
from moorage.cluster.schema.conform import Undecodable
from moorage.cluster.schema.conversion_problems import conversion_problem
from moorage.cluster.store import Document, Exists, Store, Stored
from moorage.cluster.times import timestamp
from moorage.cluster.writing import Options

_NAME_TRIES = 8
_CREATED_BY_UPDATE = frozenset(
    (
        "endpoints",
        "events",
        "leases.coordination.k8s.io",
        "limitranges",
        "services",
        "clusterroles.rbac.authorization.k8s.io",
        "clusterrolebindings.rbac.authorization.k8s.io",
        "roles.rbac.authorization.k8s.io",
        "rolebindings.rbac.authorization.k8s.io",
    )
)
"""Resources whose objects a PUT may create."""
_UNTRACKED = frozenset(("events",))
"""Resources nobody applies, whose fields need no owners."""


class Objects:
    """The one door for writes. Documents that come in have the right shape and become the store's."""

    def __init__(
        self,
        store: Store,
        definitions: Definitions,
        admission: Admission,
        authorizer: Authorizer,
        *,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.store = store
        self.definitions = definitions
        self.clock = clock
        self._admission = admission
        self._authorizer = authorizer
        self._deletion = Deletion(store, clock)

    def get(self, definition: Definition, namespace: str, name: str) -> Stored:
        found = self.store.get(definition.storage, namespace, name)
        if found is None:
            raise not_found(definition.name, name)
        return found

    def create(self, definition: Definition, namespace: str, document: Document, options: Options) -> Stored:
        strategy = definition.strategy
        metadata = document["metadata"]
        if metadata.get("resourceVersion"):
            raise bad_request("resourceVersion should not be set on objects to be created")
        _check_namespace(metadata.get("namespace", ""), namespace)
        fill_on_create(document, namespace, self.clock())
        generate = metadata.get("generateName") if metadata["name"] else ""
        strategy.default(document)
        self._track(definition, None, document, options, "")
        strategy.prepare_create(document)
        if strategy.counts_generations:
            metadata["generation"] = 1
        self._admission.admit(
            definition, document, None, operation="CREATE", subresource="", user=options.user
        )
        self._validate(definition, document)
        self._authorizer.check_escalation(options.user, definition, document, None)
        options.warnings += strategy.warnings(document)
        if options.dry_run:
            if self.store.get(definition.storage, namespace, metadata["name"]) is not None:
                raise already_exists(definition.name, metadata["name"])
            return Stored(namespace, metadata["name"], document, self.store.revision)
        return self._insert(definition, namespace, document, generate or "")

    def _insert(self, definition: Definition, namespace: str, document: Document, generate: str) -> Stored:
        metadata = document["metadata"]
        for _ in range(_NAME_TRIES):
            try:
                return self.store.create(definition.storage, namespace, metadata["name"], document)
            except Exists:
                if not generate or not metadata["name"].startswith(generate[:58]):
                    break
                metadata["name"] = generated_name(generate)
        raise already_exists(definition.name, metadata["name"])

    def replace(
        self,
        definition: Definition,
        namespace: str,
        name: str,
        document: Document,
        options: Options,
        subresource: str = "",
    ) -> tuple[Stored, bool]:
        """Puts the document in the place of the stored one; says whether it was created by that."""
        metadata = document["metadata"]
        given = metadata.setdefault("name", name)
        if given != name:
            raise bad_request(f"the name of the object ({given}) does not match the name on the URL ({name})")
        _check_namespace(metadata.get("namespace", ""), namespace)
        old = self.store.get(definition.storage, namespace, name)
        if old is None:
            if definition.storage in _CREATED_BY_UPDATE and not subresource:
                return self.create(definition, namespace, document, options), True
            raise not_found(definition.name, name)
        _check_uid(definition, old, document)
        if definition.custom and not metadata.get("resourceVersion"):
            cause = invalid_value("metadata.resourceVersion", 0, "must be specified for an update")
            raise invalid(definition.kind, definition.group, name, [cause])
        return self.update(definition, old, document, options, subresource), False

    def update(
        self,
        definition: Definition,
        old: Stored,
        document: Document,
        options: Options,
        subresource: str = "",
    ) -> Stored:
        """Writes a changed document. One that is not changed is not written."""
        known = old.document
        metadata = document["metadata"]
        _check_version(definition, old, document)
        fill_on_update(document, known)
        strategy = definition.strategy
        if subresource == "status":
            strategy.default(document)
            self._track(definition, known, document, options, subresource)
            strategy.prepare_status_update(document, known)
        elif isinstance(strategy, NamespaceStrategy) and subresource == "finalize":
            strategy.prepare_finalize(document, known)
        else:
            strategy.default(document)
            self._track(definition, known, document, options, subresource)
            strategy.prepare_update(document, known)
        metadata = document["metadata"]
        if (
            strategy.counts_generations
            and subresource != "status"
            and strategy.is_new_generation(document, known)
        ):
            metadata["generation"] = known["metadata"].get("generation", 0) + 1
        self._admission.admit(
            definition, document, known, operation="UPDATE", subresource=subresource, user=options.user
        )
        self._validate_update(definition, document, known, subresource)
        if not subresource:
            self._authorizer.check_escalation(options.user, definition, document, known)
            options.warnings += strategy.update_warnings(document, known)
        return self._write(definition, old, document, options)

    def apply(
        self,
        definition: Definition,
        namespace: str,
        name: str,
        applied: Document,
        options: Options,
        subresource: str = "",
    ) -> tuple[Stored, bool]:
        """Server-side apply; says whether the object was created by it."""
        metadata = applied.setdefault("metadata", {})
        if metadata.setdefault("name", name) != name:
            raise bad_request(
                f"the name of the object ({metadata['name']}) does not match the name on the URL ({name})"
            )
        _check_namespace(metadata.get("namespace", ""), namespace)
        old = self.store.get(definition.storage, namespace, name)
        if old is None and subresource:
            raise not_found(definition.name, name)
        merged = apply(
            definition.schema,
            None if old is None else old.document,
            applied,
            manager=options.manager,
            force=options.force,
            subresource=subresource,
            api_version=definition.api_version,
            now=timestamp(self.clock()),
            ignored=_ignored(definition),
        )
        try:
            document = shape(definition, merged, Options())
        except Undecodable as error:
            raise _inconvertible(definition, namespace, name, error.problem) from None
        # What the manager of an apply owns is settled; the rest of the way is that of any write.
        settled = Options(
            options.user, "", options.validation, options.dry_run, options.force, options.warnings
        )
        if old is None:
            return self.create(definition, namespace, document, settled), True
        return self.update(definition, old, document, settled, subresource), False

    def delete(
        self, definition: Definition, namespace: str, name: str, options: DeleteOptions
    ) -> tuple[Stored, bool]:
        """The object as it was last and whether it is gone; if not, it waits for finalizers or its end."""
        old = self.get(definition, namespace, name)
        self._admission.admit(
            definition, old.document, old.document, operation="DELETE", subresource="", user=options.user
        )
        return self._deletion.delete(definition, old, options)

    def _write(self, definition: Definition, old: Stored, document: Document, options: Options) -> Stored:
        known = old.document
        document["metadata"]["resourceVersion"] = known["metadata"]["resourceVersion"]
        if document == known or same_but_for_times(known, document):
            return old
        if options.dry_run:
            return Stored(old.namespace, old.name, document, old.revision)
        new = self.store.update(definition.storage, old, document)
        if self._deletion.is_due(definition, new):
            return self.store.delete(definition.storage, new)
        return new

    def _track(
        self, definition: Definition, old: Document | None, new: Document, options: Options, subresource: str
    ) -> None:
        if not options.manager or definition.storage in _UNTRACKED:
            return
        tracked = track(
            definition.schema,
            old,
            new,
            manager=options.manager,
            operation="Update",
            subresource=subresource,
            api_version=definition.api_version,
            # Nobody knows when something was scaled: a Scale has no managed fields to keep the time in.
            now="" if subresource == "scale" else timestamp(self.clock()),
            ignored=_ignored(definition),
        )
        if tracked:
            new["metadata"]["managedFields"] = tracked
        else:
            new["metadata"].pop("managedFields", None)

    def _validate(self, definition: Definition, document: Document) -> None:
        causes: list[Cause] = [
            *validate_metadata(
                document,
                namespaced=definition.namespaced,
                name_rule=name_rule_of(definition.storage),
                qualified_finalizers=not definition.custom,
            ),
            *definition.strategy.validate(document),
        ]
        _refuse(definition, document, causes)

    def _validate_update(
        self, definition: Definition, new: Document, old: Document, subresource: str
    ) -> None:
        strategy = definition.strategy
        causes: list[Cause] = list(
            validate_metadata_update(new, old, qualified_finalizers=not definition.custom)
        )
        if subresource == "status":
            causes += strategy.validate_status_update(new, old)
        elif isinstance(strategy, NamespaceStrategy) and subresource == "finalize":
            causes += strategy.validate_finalize(new)
        else:
            by_itself: list[Cause] = []
            if new.get("metadata", {}).get("labels") != old["metadata"].get("labels") or spec_differs(
                new, old
            ):
                by_itself = list(strategy.validate(new))
            changes = list(strategy.validate_update(new, old))
            causes += changes + by_itself if strategy.tells_changes_first else by_itself + changes
        _refuse(definition, new, causes)


def _inconvertible(definition: Definition, namespace: str, name: str, problem: str) -> Refusal:
    kind = f"{definition.group}/{definition.version}, Kind={definition.kind}"
    return unreasoned(
        f"failed to convert new object ({namespace}/{name}; {kind}) to proper version:"
        f" unable to convert unstructured object to {kind}: {conversion_problem(problem)}"
    )


def _ignored(definition: Definition) -> FieldSet | None:
    """A status that has no address of its own is owned like any other field."""
    return NOTHING if definition.custom and "status" not in definition.subresources else None


def _refuse(definition: Definition, document: Document, causes: list[Cause]) -> None:
    if causes:
        metadata = document["metadata"]
        name = metadata.get("name") or metadata.get("generateName", "")
        raise invalid(definition.kind, definition.group, name, causes)


def _check_namespace(given: str, namespace: str) -> None:
    if given and given != namespace:
        raise bad_request(
            "the namespace of the provided object does not match the namespace sent on the request"
        )


def _check_version(definition: Definition, old: Stored, document: Document) -> None:
    """Refuses a document that was made for another version of the object."""
    metadata, known = document["metadata"], old.document["metadata"]
    version = metadata.get("resourceVersion")
    if version and version != "0" and version != known["resourceVersion"]:
        if not version.isascii() or not version.isdigit():
            cause = invalid_value("metadata.resourceVersion", version, "must be a number")
            raise invalid(definition.kind, definition.group, old.name, [cause])
        raise conflict(definition.name, old.name, CHANGED)


def _check_uid(definition: Definition, old: Stored, document: Document) -> None:
    """Refuses a document that is to replace another object of the same name."""
    uid, known = document["metadata"].get("uid"), old.document["metadata"]["uid"]
    if uid and uid != known:
        why = f"Precondition failed: UID in precondition: {uid}, UID in object meta: {known}"
        raise conflict(definition.name, old.name, why)
