"""How objects end: at once, after their finalizers, or when the time given to a pod is over."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeVar

from moorage.cluster.access.requests import Query
from moorage.cluster.access.write_options import dry_run_problems
from moorage.cluster.base.errors import Cause, bad_request, invalid, invalid_value, unsupported_value
from moorage.cluster.base.store import Document, Store, Stored
from moorage.cluster.base.times import seconds_of, timestamp
from moorage.cluster.custom.serving import CRDS, terminating
from moorage.cluster.objects.identity import check_deletion
from moorage.cluster.schema.definitions import Definition

BACKGROUND = "Background"
FOREGROUND = "Foreground"
ORPHAN = "Orphan"
_FINALIZERS = {FOREGROUND: "foregroundDeletion", ORPHAN: "orphan"}
_DEFAULT_GRACE = 30
_T = TypeVar("_T")
_TYPES = {bool: "true or false", dict: "an object", int: "a number", list: "a list", str: "a text"}


@dataclass(frozen=True, slots=True)
class DeleteOptions:
    grace_seconds: int | None = None
    propagation: str = ""
    """As is usual for the kind if it is left open and no finalizer of the object says otherwise."""
    uid: str = ""
    resource_version: str = ""
    dry_run: bool = False

    def told(self) -> Document:
        """The options as others are told of them."""
        conditions = {"uid": self.uid, "resourceVersion": self.resource_version}
        given: Document = {
            "gracePeriodSeconds": self.grace_seconds,
            "preconditions": {name: text for name, text in conditions.items() if text} or None,
            "propagationPolicy": self.propagation or None,
            "dryRun": ["All"] if self.dry_run else None,
        }
        return {name: value for name, value in given.items() if value is not None}


def delete_options(query: Query, body: Any) -> DeleteOptions:
    """The options of a DELETE: those in the body or, where there is none, those in the parameters."""
    given = _parameters(query) if body is None else body
    if not isinstance(given, dict):
        raise bad_request("the body of a DELETE must be a DeleteOptions object")
    kind = given.get("kind", "DeleteOptions")
    if kind != "DeleteOptions":
        raise bad_request(f'the body of a DELETE must be a DeleteOptions object, not "{kind}"')
    conditions = _field(given, "preconditions", dict) or {}
    uid, version = (_field(conditions, name, str) or "" for name in ("uid", "resourceVersion"))
    grace, propagation = _field(given, "gracePeriodSeconds", int), _field(given, "propagationPolicy", str)
    orphan, dry_run = _field(given, "orphanDependents", bool), _field(given, "dryRun", list) or []
    causes: list[Cause] = []
    if orphan is not None and propagation is not None:
        why = "orphanDependents and deletionPropagation cannot be both set"
        causes.append(invalid_value("propagationPolicy", propagation, why))
    if propagation not in (None, BACKGROUND, FOREGROUND, ORPHAN):
        known = (FOREGROUND, BACKGROUND, ORPHAN, "nil")
        causes.append(unsupported_value("propagationPolicy", propagation, known))
    causes += dry_run_problems(dry_run)
    if grace is not None and grace >= 2**31:
        causes.append(invalid_value("gracePeriodSeconds", grace, "must be less than 2147483648"))
    if causes:
        raise invalid("DeleteOptions", "meta.k8s.io", "", causes)
    if grace is not None and grace < 0:
        grace = 1
    if orphan is not None:
        propagation = ORPHAN if orphan else BACKGROUND
    return DeleteOptions(grace, propagation or "", uid, version, bool(dry_run))


def _parameters(query: Query) -> Document:
    given = {
        "gracePeriodSeconds": query.number("gracePeriodSeconds"),
        "orphanDependents": query.flag("orphanDependents"),
        "propagationPolicy": query.text("propagationPolicy"),
        "dryRun": [query.text("dryRun")],
    }
    return {name: value for name, value in given.items() if name in query.given}


def _field(given: Document, name: str, type_: type[_T]) -> _T | None:
    value = given.get(name)
    if value is not None and type(value) is not type_:
        raise bad_request(f"{name}: must be {_TYPES[type_]}")
    return value


def delete(
    store: Store, definition: Definition, old: Stored, options: DeleteOptions, now: float
) -> tuple[Stored, bool]:
    """The object as it was last, and whether it is gone."""
    check_deletion(definition, old.document["metadata"], options.uid, options.resource_version)
    changed, at_once = _ending(definition, old.document, options, now)
    if options.dry_run:
        return Stored(old.namespace, old.name, changed, old.revision), at_once
    if changed != old.document:
        old = store.update(definition.storage, old, changed)
    return (store.delete(definition.storage, old) if at_once else old), at_once


def _ending(
    definition: Definition, document: Document, options: DeleteOptions, now: float
) -> tuple[Document, bool]:
    """The object as it is while it ends, and whether it ends at once."""
    if definition.storage == "namespaces":
        held = _is_held(document)
        return _ending_namespace(document, now) if held and not options.dry_run else document, not held
    if definition.storage == CRDS:
        # It stays until all objects of the resource are gone.
        return document if options.dry_run else terminating(document, timestamp(now)), False
    metadata = document["metadata"]
    grace = _grace(definition, document, options.grace_seconds)
    usual = ORPHAN if definition.strategy.orphans_by_default else ""
    finalizers = _finalizers(metadata.get("finalizers", []), options.propagation, usual)
    at_once = not grace and not finalizers
    new = {**metadata, "finalizers": finalizers}
    # A pod is seen to be deleted even when it goes at once.
    if not at_once or definition.storage == "pods":
        new |= _changes(metadata, grace, now)
    if not finalizers:
        del new["finalizers"]
    return {**document, "metadata": new}, at_once


def _changes(metadata: Document, grace: int, now: float) -> Document:
    """What the metadata says from now on of the end of the object, which may come sooner than it did."""
    if "deletionTimestamp" not in metadata:
        changes = {"deletionTimestamp": timestamp(now + grace), "deletionGracePeriodSeconds": grace}
        if "generation" in metadata:
            changes["generation"] = metadata["generation"] + 1
        return changes
    known = metadata.get("deletionGracePeriodSeconds")
    if known is None or grace >= known:
        return {}
    asked = seconds_of(metadata["deletionTimestamp"]) - known
    return {"deletionTimestamp": timestamp(asked + grace), "deletionGracePeriodSeconds": grace}


def _ending_namespace(document: Document, now: float) -> Document:
    """A namespace stays until its content is gone and nothing holds it."""
    metadata = document["metadata"]
    if "deletionTimestamp" in metadata:
        return document
    return {
        **document,
        "metadata": {**metadata, "deletionTimestamp": timestamp(now)},
        "status": {**document.get("status", {}), "phase": "Terminating"},
    }


def is_due(definition: Definition, stored: Stored) -> bool:
    """Whether an object that is to be deleted has nothing to wait for any more."""
    if not stored.is_deleted or stored.finalizers:
        return False
    if definition.storage == "namespaces":
        return not _is_held(stored.document)
    return not stored.document["metadata"].get("deletionGracePeriodSeconds")


def _is_held(document: Document) -> bool:
    """Whether a namespace has to wait for somebody to finish with it."""
    return bool(document.get("spec", {}).get("finalizers") or document["metadata"].get("finalizers"))


def _grace(definition: Definition, document: Document, asked: int | None) -> int:
    """The seconds an object may take to end. Only pods that run take any."""
    if definition.storage != "pods":
        return 0
    spec = document.get("spec", {})
    if not spec.get("nodeName") or document.get("status", {}).get("phase") in ("Succeeded", "Failed"):
        return 0
    if asked is not None:
        return asked
    seconds = spec.get("terminationGracePeriodSeconds", _DEFAULT_GRACE)
    return max(int(seconds), 1) if seconds else 0


def _finalizers(present: list[str], propagation: str, usual: str) -> list[str]:
    if not propagation and not set(present) & set(_FINALIZERS.values()):
        propagation = usual
    if not propagation:
        return present
    others = [each for each in present if each not in _FINALIZERS.values()]
    return [*others, _FINALIZERS[propagation]] if propagation in _FINALIZERS else others
