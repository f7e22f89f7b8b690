"""The metadata of what is written: which object a writer says it means, and what the server adds."""

from __future__ import annotations

import random
import uuid
from typing import NamedTuple

from moorage.cluster.access.requests import Place
from moorage.cluster.base import errors
from moorage.cluster.base.store import Document, Stored
from moorage.cluster.base.times import timestamp
from moorage.cluster.schema.definitions import Definition, keep_field

_SUFFIX_LETTERS = "bcdfghjklmnpqrstvwxz2456789"  # no vowels, so that no words come about
_SUFFIX_LENGTH = 5
_LONGEST_BASE = 63 - _SUFFIX_LENGTH
_OF_SERVER = ("selfLink", "deletionTimestamp", "deletionGracePeriodSeconds")


def check_address(metadata: Document, place: Place) -> None:
    """Refuses an object that is not the one its address names."""
    check_name(metadata.get("name", ""), place.name)
    errors.check_namespace(metadata, place.namespace)


def check_name(given: str, name: str) -> None:
    if not given:
        why = f"({name} based on URL) was undeterminable: name must be provided"
        raise errors.bad_request(f"the name of the object {why}")
    if given != name:
        why = f"({given}) does not match the name on the URL ({name})"
        raise errors.bad_request(f"the name of the object {why}")


def check_replaced(definition: Definition, old: Stored, metadata: Document) -> None:
    """Refuses to replace another object of the same name, or one that the writer does not know."""
    uid, known = metadata.get("uid"), old.document["metadata"]
    if uid and uid != known["uid"]:
        raise other_object(definition.name, known, uid)
    if definition.strategy.updates_name_version and not metadata.get("resourceVersion"):
        cause = errors.invalid_value("metadata.resourceVersion", 0, "must be specified for an update")
        raise errors.invalid(definition.plural, definition.group, old.name, [cause])


def check_version(definition: Definition, old: Stored, metadata: Document) -> None:
    """Refuses a document that was made for another version of the object."""
    version = metadata.get("resourceVersion") or "0"
    if version in ("0", old.document["metadata"]["resourceVersion"]):
        return
    if not version.isascii() or not version.isdigit():
        cause = errors.invalid_value("metadata.resourceVersion", version, "must be a number")
        raise errors.invalid(definition.kind, definition.group, old.name, [cause])
    raise errors.conflict(definition.name, old.name)


def check_deletion(definition: Definition, metadata: Document, uid: str, version: str) -> None:
    """Refuses to delete another object than the one that is meant."""
    kind = f"{definition.kind}.{definition.group}" if definition.group else definition.kind
    for what, wanted, found, happened in (
        ("UID", uid, metadata["uid"], "deleted and then recreated"),
        ("ResourceVersion", version, metadata["resourceVersion"], "modified"),
    ):
        if wanted and wanted != found:
            why = f"the {what} in the precondition ({wanted}) does not match the {what} in record ({found})."
            raise errors.conflict(kind, metadata["name"], f"{why} The object might have been {happened}")


def other_object(resource: str, metadata: Document, uid: str) -> errors.Refusal:
    """A write that is meant for an object of the same name that is no longer there."""
    folder = resource.partition(".")[0]
    place = "/".join(filter(None, ("/registry", folder, metadata.get("namespace"), metadata["name"])))
    return errors.conflict(
        resource,
        metadata["name"],
        f"StorageError: invalid object, Code: 4, Key: {place}, ResourceVersion: 0, AdditionalErrorMsg: "
        f"Precondition failed: UID in precondition: {uid}, UID in object meta: {metadata['uid']}",
    )


def random_suffix() -> str:
    return "".join(random.choices(_SUFFIX_LETTERS, k=_SUFFIX_LENGTH))


def generated_name(base: str) -> str:
    return base[:_LONGEST_BASE] + random_suffix()


def is_generated(name: str, base: str) -> bool:
    """Whether a name may have been made from this beginning."""
    return name[:-_SUFFIX_LENGTH] == base[:_LONGEST_BASE]


def clear_on_create(document: Document, namespace: str) -> None:
    """Takes from a new object what only the server says, and gives it its namespace."""
    metadata = document["metadata"]
    for name in (*_OF_SERVER, "uid", "creationTimestamp"):
        metadata.pop(name, None)
    if namespace:
        metadata["namespace"] = namespace
    else:
        metadata.pop("namespace", None)


class Origin(NamedTuple):
    """What an object gets by chance and by the clock when it is created."""

    uid: str
    suffix: str
    time: str


def origin(now: float) -> Origin:
    uid = str(uuid.UUID(int=random.getrandbits(128), version=4))
    return Origin(uid, random_suffix(), timestamp(now))


def fill_on_create(document: Document, origin: Origin) -> None:
    """Gives a new object its uid, its time and, where only a prefix is given, a name."""
    metadata = document["metadata"]
    if not metadata.get("name"):
        base = metadata.get("generateName", "")
        metadata["name"] = base[:_LONGEST_BASE] + origin.suffix if base else ""
    metadata["uid"] = origin.uid
    metadata["creationTimestamp"] = origin.time
    metadata.pop("generation", None)


def fill_on_update(new: Document, old: Document) -> None:
    """Takes over from the stored object what an update cannot change."""
    metadata, known = new["metadata"], old["metadata"]
    for name in (*_OF_SERVER, "creationTimestamp", "generation", "generateName"):
        keep_field(metadata, known, name)
    metadata.setdefault("uid", known["uid"])
    if not metadata.get("resourceVersion"):
        metadata["resourceVersion"] = known["resourceVersion"]
    if "namespace" in known:
        metadata.setdefault("namespace", known["namespace"])
