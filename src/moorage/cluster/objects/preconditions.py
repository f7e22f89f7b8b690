"""What a writer says about the object it means: which one it is, and in which version."""

from __future__ import annotations

from moorage.cluster.base.errors import Refusal, conflict
from moorage.cluster.base.store import Document
from moorage.cluster.schema.definitions import Definition

_FOLDERS = {
    "endpoints": "services/endpoints",
    "nodes": "minions",
    "replicationcontrollers": "controllers",
    "services": "services/specs",
}
"""Where the original keeps the objects whose resource has another name; its messages tell the place."""
_DEFINITIONS = "customresourcedefinitions.apiextensions.k8s.io"


def check_deletion(definition: Definition, metadata: Document, uid: str, version: str) -> None:
    """Refuses to delete another object than the one that is meant."""
    kind = f"{definition.kind}.{definition.group}" if definition.group else definition.kind
    for what, wanted, happened in (
        ("UID", uid, "deleted and then recreated"),
        ("ResourceVersion", version, "modified"),
    ):
        found = metadata["uid" if what == "UID" else "resourceVersion"]
        if wanted and wanted != found:
            raise conflict(
                kind,
                metadata["name"],
                f"the {what} in the precondition ({wanted}) does not match the {what} in record ({found}). "
                f"The object might have been {happened}",
            )


def other_object(resource: str, metadata: Document, uid: str, *, custom: bool = False) -> Refusal:
    """A write that is meant for an object of the same name that is no longer there."""
    plural, _, group = resource.partition(".")
    folder = f"{group}/{plural}" if custom or resource == _DEFINITIONS else _FOLDERS.get(plural, plural)
    place = "/".join(filter(None, ("/registry", folder, metadata.get("namespace"), metadata["name"])))
    return conflict(
        resource,
        metadata["name"],
        f"StorageError: invalid object, Code: 4, Key: {place}, ResourceVersion: 0, AdditionalErrorMsg: "
        f"Precondition failed: UID in precondition: {uid}, UID in object meta: {metadata['uid']}",
    )
