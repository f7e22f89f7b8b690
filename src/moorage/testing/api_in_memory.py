"""The API server of tests: objects in memory, and the rules by which they are written."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cache
from types import new_class
from typing import Any, NamedTuple
from urllib.parse import unquote

from moorage.api.decoding import from_document
from moorage.api.kinds import known_kind
from moorage.api.meta import Object
from moorage.client.errors import AlreadyExists, ApiError, BadRequest, Conflict, NotFound
from moorage.client.resource_client import document_of
from moorage.framework.listers import Listers
from moorage.testing.patches import json_patch, merge, strategic
from moorage.testing.recording import Write
from moorage.testing.selecting import matches_fields, matches_labels

Document = dict[str, Any]

_PRECONDITIONS = {
    "uid": ("UID", "deleted and then recreated"),
    "resourceVersion": ("ResourceVersion", "modified"),
}
_SUBRESOURCES_OF_NAMESPACES = ("status", "finalize")


class Address(NamedTuple):
    """What a request is about, taken from its path."""

    group: str
    version: str
    plural: str
    namespace: str = ""
    name: str = ""
    subresource: str = ""

    @staticmethod
    def of(path: str) -> Address:
        root, *parts = [unquote(part) for part in path.strip("/").split("/")]
        group = parts.pop(0) if root == "apis" else ""
        version, *rest = parts
        namespace = ""
        is_namespaced = len(rest) > 2 and rest[2] not in _SUBRESOURCES_OF_NAMESPACES
        if rest[0] == "namespaces" and is_namespaced:
            namespace, rest = rest[1], rest[2:]
        plural, name, subresource = (*rest, "", "")[:3]
        return Address(group, version, plural, namespace, name, subresource)

    @property
    def resource(self) -> str:
        """How messages name it: `licenses.example.com`."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name

    @property
    def is_custom(self) -> bool:
        return "." in self.group and not self.group.endswith(".k8s.io")


class ApiInMemory:
    """Answers requests about objects as an API server does, and tells of every change.

    It checks names and resource versions and leaves fields alone: nothing is defaulted or validated. What is
    deleted is gone at once, unless it has finalizers. `put` and `remove` are told of objects as by a watch,
    `wrote` of every write that succeeded.
    """

    def __init__(
        self,
        put: Callable[[Object], None],
        remove: Callable[[Object], None],
        *,
        types: Callable[[str, str, str], type[Object] | None] = known_kind,
        wrote: Callable[[Write], None] = lambda write: None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._put = put
        self._remove = remove
        self._types = types
        self._wrote = wrote
        self._clock = clock
        self._objects: dict[tuple[str, str], dict[tuple[str, str], Document]] = {}
        self._given: dict[tuple[str, str, str], type[Object]] = {}
        self._version = 0

    # What a test puts in and takes out

    def add(self, item: Object) -> None:
        """Takes in an object as it is; it gets a new resource version if it has none or has changed."""
        self._given.setdefault((item.group, item.version, item.resource), type(item))
        version, known = item.metadata.resource_version, self.find(item)
        if version.isdigit():
            self._version = max(self._version, int(version))
        is_changed = known is not None and known["metadata"]["resourceVersion"] == version
        if not version or (is_changed and document_of(item) != known):
            item.metadata.resource_version = self._next_version()
        self._of(item.group, item.resource)[item.namespace, item.name] = document_of(item)
        self._put(item)

    def discard(self, item: Object) -> None:
        self._of(item.group, item.resource).pop((item.namespace, item.name), None)
        self._remove(item)

    def find(self, item: Object) -> Document | None:
        """The newest version of an object."""
        return self._of(item.group, item.resource).get((item.namespace, item.name))

    def documents(self, group: str, plural: str) -> list[Document]:
        """All objects of a resource."""
        return list(self._of(group, plural).values())

    # What a client asks

    def read(self, at: Address, *, label_selector: str = "", field_selector: str = "") -> Document:
        """An object, or a list of them."""
        if at.name:
            return self._known(at)
        items = [
            document
            for (namespace, _), document in self._of(at.group, at.plural).items()
            if not at.namespace or namespace == at.namespace
            if matches_labels(label_selector, document["metadata"].get("labels") or {})
            if matches_fields(field_selector, document)
        ]
        return {"kind": "List", "metadata": {"resourceVersion": str(self._version)}, "items": items}

    def create(self, at: Address, document: Document) -> Document:
        if at.subresource == "binding":
            return self._bind(at, document)
        if at.subresource == "eviction":
            return self.delete(at._replace(subresource=""))
        if at.subresource:
            raise _missing(f"{at.resource}/{at.subresource}")
        meta = dict(document.get("metadata") or {})
        if not meta.get("name") and meta.get("generateName"):
            meta["name"] = f"{meta['generateName']}{self._version + 1:05d}"
        if not meta.get("name"):
            raise BadRequest(400, "BadRequest", f"{at.resource}: name or generateName is required")
        if at.namespace:
            meta["namespace"] = at.namespace
        at = at._replace(name=meta["name"])
        if (at.namespace, at.name) in self._of(at.group, at.plural):
            raise AlreadyExists(409, "AlreadyExists", f'{at.resource} "{at.name}" already exists')
        meta |= {"uid": f"uid-{self._version + 1}", "generation": 1, "creationTimestamp": self._now()}
        made = self._store(at, {**document, "metadata": meta})
        self._wrote(Write("create", at.resource, at.key, document))
        return made

    def update(self, at: Address, document: Document) -> Document:
        made = self._change(at, document)
        self._wrote(Write("update", _part(at), at.key, document))
        return made

    def patch(self, at: Address, kind: str, patch: Any) -> Document:
        """`kind` is `merge`, `json`, `strategic` or `apply`, which merges and knows no managers of fields."""
        if kind == "apply":
            if (at.namespace, at.name) not in self._of(at.group, at.plural):
                return self.create(at._replace(name=""), patch)
            made = self._change(at, strategic(self._known(at), patch))
        elif kind == "strategic" and at.is_custom:
            raise ApiError(
                415, "UnsupportedMediaType", f"{at.resource}: custom resources have no strategic merge"
            )
        elif kind == "json":
            made = self._change(at, json_patch(self._known(at), patch))
        else:
            merged = (strategic if kind == "strategic" else merge)(self._known(at), patch)
            made = self._change(at, merged)
        self._wrote(Write("patch", _part(at), at.key, patch))
        return made

    def delete(self, at: Address, options: Document | None = None) -> Document:
        old = self._known(at)
        meta = old["metadata"]
        for field, wanted in ((options or {}).get("preconditions") or {}).items():
            if wanted != meta.get(field):
                name, fate = _PRECONDITIONS[field]
                differs = f"the {name} in the precondition ({wanted}) does not match the {name} in record"
                why = f"{differs} ({meta.get(field)}). The object might have been {fate}"
                raise _conflict(at, why, old.get("kind", ""))
        if meta.get("finalizers"):
            if "deletionTimestamp" not in meta:
                old = self._store(at, {**old, "metadata": {**meta, "deletionTimestamp": self._now()}})
        else:
            self._take_out(at, old)
        self._wrote(Write("delete", at.resource, at.key))
        return old

    # The rules behind these

    def _bind(self, at: Address, binding: Document) -> Document:
        old, node_name = self._known(at), binding["target"]["name"]
        uid, spec = (binding.get("metadata") or {}).get("uid"), old.get("spec") or {}
        if uid and uid != old["metadata"].get("uid"):
            raise _conflict(at, f"Precondition failed: UID in precondition: {uid}", "pods/binding")
        if spec.get("nodeName"):
            why = f'pod {at.name} is already assigned to node "{spec["nodeName"]}"'
            raise _conflict(at, why, "pods/binding")
        status = {
            key: value for key, value in (old.get("status") or {}).items() if key != "nominatedNodeName"
        }
        scheduled = {"type": "PodScheduled", "status": "True", "lastTransitionTime": self._now()}
        others = [each for each in status.get("conditions") or [] if each.get("type") != "PodScheduled"]
        status["conditions"] = [*others, scheduled]
        self._store(at, {**old, "spec": {**spec, "nodeName": node_name}, "status": status})
        self._wrote(Write("bind", at.resource, at.key, {"spec": {"nodeName": node_name}}))
        return {"kind": "Status", "status": "Success"}

    def _change(self, at: Address, document: Document) -> Document:
        old = self._known(at)
        was, meta = old["metadata"], dict(document.get("metadata") or {})
        if meta.get("resourceVersion") not in (None, "", was["resourceVersion"]):
            modified = "the object has been modified; please apply your changes to the latest version"
            raise _conflict(at, f"{modified} and try again")
        has_status = self._has_status(at)
        if at.subresource == "status":
            if not has_status:
                raise _missing(f"{at.resource}/status")
            new = {**old, "status": document.get("status") or {}}
        elif at.subresource:
            raise _missing(f"{at.resource}/{at.subresource}")
        else:
            fixed = ("name", "namespace", "uid", "creationTimestamp", "deletionTimestamp", "generation")
            new = {**document, "metadata": {**meta, **{key: was[key] for key in fixed if key in was}}}
            if has_status:
                new.pop("status", None)
                new |= {"status": old["status"]} if "status" in old else {}
        new["metadata"] = {**new["metadata"], "resourceVersion": was["resourceVersion"]}
        if new == old:
            return old
        if "deletionTimestamp" in was and not new["metadata"].get("finalizers"):
            self._take_out(at, new)
            return new
        if new.get("spec") != old.get("spec") and "generation" in was:
            new["metadata"]["generation"] = was["generation"] + 1
        return self._store(at, new)

    def _store(self, at: Address, document: Document) -> Document:
        version = self._next_version()
        document = {**document, "metadata": {**document["metadata"], "resourceVersion": version}}
        self._of(at.group, at.plural)[at.namespace, at.name] = document
        kind = self._type(at)
        if kind is not None:
            self._put(from_document(kind, document))
        return document

    def _take_out(self, at: Address, document: Document) -> None:
        del self._of(at.group, at.plural)[at.namespace, at.name]
        kind = self._type(at)
        if kind is not None:
            self._remove(from_document(kind, document))

    def _type(self, at: Address) -> type[Object] | None:
        """What the objects are decoded into; None if nobody reads them."""
        name = at[:3]
        return self._given.get(name) or known_kind(*name) or self._types(*name)

    def _has_status(self, at: Address) -> bool:
        """Whether the status is a part of its own, which it is in a definition that `moorage crd` makes."""
        kind = self._type(at)
        return kind is None or kind is Object or "status" in kind.__struct_fields__

    def _known(self, at: Address) -> Document:
        found = self._of(at.group, at.plural).get((at.namespace, at.name))
        if found is None:
            raise NotFound(404, "NotFound", f'{at.resource} "{at.name}" not found')
        return found

    def _of(self, group: str, plural: str) -> dict[tuple[str, str], Document]:
        return self._objects.setdefault((group, plural), {})

    def _next_version(self) -> str:
        self._version += 1
        return str(self._version)

    def _now(self) -> str:
        return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(self._clock()))


def listed_type(listers: Listers, name: tuple[str, str, str]) -> type[Object] | None:
    """The type in which a plugin wants the objects of a resource; None if none asked for them."""
    asked = [lister.type for lister in listers if lister.name == name]
    typed = [kind for kind in asked if kind is not Object]
    if typed or not asked:
        return typed[0] if typed else None
    return _stand_in(*name)


@cache
def _stand_in(group: str, version: str, resource: str) -> type[Object]:
    """A type for objects that nobody has a type for, which knows where they live."""
    places = {"group": group, "version": version, "resource": resource, "kind": resource}
    return new_class("Untyped", (Object,), exec_body=lambda body: body.update(places))


def _part(at: Address) -> str:
    return f"{at.resource}/{at.subresource}" if at.subresource else at.resource


def _conflict(at: Address, why: str, what: str = "") -> Conflict:
    return Conflict(
        409, "Conflict", f'Operation cannot be fulfilled on {what or at.resource} "{at.name}": {why}'
    )


def _missing(what: str) -> NotFound:
    return NotFound(404, "NotFound", f"the server could not find the requested resource: {what}")
