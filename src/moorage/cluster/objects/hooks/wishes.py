"""What somebody wants to write, as webhooks and policies are told of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from moorage.cluster.access.users import User
from moorage.cluster.access.write_options import Options
from moorage.cluster.base.store import Document
from moorage.cluster.objects.admission.attempt import CREATE, DELETE, UPDATE
from moorage.cluster.objects.decoding import conformed_value, from_stored, to_stored
from moorage.cluster.schema.definitions import Definition

_OPTIONS = {CREATE: "CreateOptions", UPDATE: "UpdateOptions", DELETE: "DeleteOptions"}
_EXEMPT = "admissionregistration.k8s.io"


@dataclass(frozen=True)
class Wish:
    """A write on its way. `document` and `old` are as they are worked on, in no form of a certain version."""

    definition: Definition
    operation: str
    options: Options
    document: Document | None
    old: Document | None
    name: str
    namespace: str
    subresource: str = ""
    kind: Definition | None = None
    """Of what is sent, where that is not an object of the resource: a Binding, a Scale."""

    @property
    def is_exempt(self) -> bool:
        """What says whom to ask is nobody else's to decide."""
        return self.definition.group == _EXEMPT and not self.definition.custom

    @property
    def is_of_namespace(self) -> bool:
        return self.definition.storage == "namespaces"

    def labels(self) -> list[dict[str, str]]:
        """Those of the object before and after."""
        found = [each for each in (self.document, self.old) if each is not None]
        return [each["metadata"].get("labels") or {} for each in found]

    def seen_as(self, definition: Definition, document: Document | None) -> Document | None:
        """One of the documents as a version of the resource shows it."""
        if document is None or self.kind is not None:
            return document
        return from_stored(definition, document)

    def taken_from(self, definition: Definition, changed: Any) -> Document:
        """A document that came back in this version, as it is worked on further."""
        if self.kind is not None:
            return dict(conformed_value(self.kind, changed).document)
        shaped: Document = conformed_value(definition, changed).document
        if definition is not self.definition and self.definition.custom:
            shaped = from_stored(self.definition, shaped)
            definition = self.definition
        return to_stored(definition, shaped)

    def request(self, definition: Definition) -> Document:
        """The AdmissionRequest without its uid, for those who know the resource in this version."""
        own, seen = self.definition, self.kind
        told = _type_of(seen) if seen is not None else _type_of(definition)
        part = {"subResource": self.subresource} if self.subresource else {}
        request_part = {"requestSubResource": self.subresource} if self.subresource else {}
        named = {"name": self.name, "namespace": self.namespace}
        return {
            "kind": told,
            "resource": _resource_of(definition),
            **part,
            "requestKind": _type_of(seen) if seen is not None else _type_of(own),
            "requestResource": _resource_of(own),
            **request_part,
            **{name: text for name, text in named.items() if text},
            "operation": self.operation,
            "userInfo": _user_info(self.options.user),
            "object": self.seen_as(definition, self.document),
            "oldObject": self.seen_as(definition, self.old),
            "dryRun": self.options.dry_run,
            "options": {
                "kind": _OPTIONS[self.operation],
                "apiVersion": "meta.k8s.io/v1",
                **self.options.told,
            },
        }


def _type_of(definition: Definition) -> Document:
    return {"group": definition.group, "version": definition.version, "kind": definition.kind}


def _resource_of(definition: Definition) -> Document:
    return {"group": definition.group, "version": definition.version, "resource": definition.plural}


def _user_info(user: User) -> Document:
    found = {
        "username": user.name,
        "uid": user.uid,
        "groups": list(user.groups),
        "extra": {name: list(values) for name, values in user.extra.items()},
    }
    return {name: value for name, value in found.items() if value}
