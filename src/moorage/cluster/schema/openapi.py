"""What the API server says about its types and operations: OpenAPI v3, as far as clients use it.

kubectl looks here whether dry runs and field validation are supported, how lists of built-in types are
merged, and for `kubectl explain`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from hashlib import sha512
from typing import Any, NamedTuple

import msgspec

from moorage.cluster.schema.builtin import type_name
from moorage.cluster.schema.definitions import Definition, Definitions
from moorage.cluster.schema.model import ABSENT, ANY, ARRAY, ATOMIC, OBJECT, Field, Schema

OpenAPI = dict[str, Any]

_WRITE = ("dryRun", "fieldManager", "fieldValidation")
_PAGE = ("continue", "fieldSelector", "labelSelector", "limit", "resourceVersion", "resourceVersionMatch")
_DELETE = ("dryRun", "gracePeriodSeconds", "orphanDependents", "propagationPolicy")
_QUERY = {
    "create": _WRITE,
    "update": _WRITE,
    "patch": (*_WRITE, "force"),
    "delete": _DELETE,
    "deletecollection": (*_PAGE, *_DELETE, "sendInitialEvents", "timeoutSeconds"),
    "list": (*_PAGE, "allowWatchBookmarks", "sendInitialEvents", "timeoutSeconds", "watch"),
}
_LOG = (
    "container",
    "follow",
    "insecureSkipTLSVerifyBackend",
    "limitBytes",
    "previous",
    "sinceSeconds",
    "stream",
    "tailLines",
    "timestamps",
)
_QUERY_TYPES = {
    **dict.fromkeys(("allowWatchBookmarks", "follow", "force", "insecureSkipTLSVerifyBackend"), "boolean"),
    **dict.fromkeys(("orphanDependents", "previous", "sendInitialEvents", "timestamps", "watch"), "boolean"),
    **dict.fromkeys(("gracePeriodSeconds", "limit", "limitBytes", "sinceSeconds"), "integer"),
    **dict.fromkeys(("tailLines", "timeoutSeconds"), "integer"),
}
_ACTIONS = {"create": "post", "update": "put"}  # what the rest is called as the verb
_PATCHES = ("application/apply-patch+yaml", "application/json-patch+json", "application/merge-patch+json")
_STRATEGIC = "application/strategic-merge-patch+json"
_METHODS = {"get": "get", "create": "post", "update": "put", "patch": "patch", "delete": "delete"}
_COLLECTION_METHODS = {"list": "get", "create": "post", "deletecollection": "delete"}


class _Subject(NamedTuple):
    """What an address gives and takes."""

    kind: dict[str, str]
    component: str
    custom: bool


_Rendered = tuple[list[Definition], OpenAPI, str]
"""Definitions, the document about them, and its hash."""
_rendered: dict[tuple[str, str], _Rendered] = {}
"""The last of each group and version, good for as long as the definitions are the same."""


def openapi_v3_index(definitions: Definitions) -> dict[str, Any]:
    """Which documents there are; their addresses change when they do."""
    places = dict.fromkeys((each.group, each.version) for each in definitions)
    paths = {}
    for group, version in places:
        place = _base(group, version).lstrip("/")
        *_, digest = _render(definitions, group, version)
        paths[place] = {"serverRelativeURL": f"/openapi/v3/{place}?hash={digest}"}
    return {"paths": paths}


def openapi_v3_document(definitions: Definitions, group: str, version: str) -> dict[str, Any]:
    """The types and operations of one group in one version. It is shared: nobody may change it."""
    return _render(definitions, group, version)[1]


def _render(definitions: Definitions, group: str, version: str) -> _Rendered:
    served = [each for each in definitions if (each.group, each.version) == (group, version)]
    last = _rendered.get((group, version))
    if last is not None and list(map(id, last[0])) == list(map(id, served)):
        return last
    document = _document(served)
    digest = sha512(msgspec.json.encode(document)).hexdigest().upper()
    _rendered[group, version] = rendered = (served, document, digest)
    return rendered


def _document(served: Iterable[Definition]) -> OpenAPI:
    components = _Components()
    paths: dict[str, OpenAPI] = {}
    for definition in served:
        _add_paths(definition, components, paths)
    return {
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes", "version": "unversioned"},
        "paths": paths,
        "components": {"schemas": components.schemas},
    }


def _base(group: str, version: str) -> str:
    return f"/apis/{group}/{version}" if group else f"/api/{version}"


def _add_paths(definition: Definition, components: _Components, paths: dict[str, OpenAPI]) -> None:
    kind = _kind(definition.group, definition.version, definition.kind)
    name = components.add(definition, kind)
    base = _base(definition.group, definition.version)
    within = f"{base}/namespaces/{{namespace}}" if definition.namespaced else base
    collection = f"{within}/{definition.plural}"
    item = f"{collection}/{{name}}"
    own = _Subject(kind, name, definition.custom)
    paths[collection] = _operations(definition.verbs, _COLLECTION_METHODS, own, collection)
    if definition.namespaced and "list" in definition.verbs:
        everywhere = f"{base}/{definition.plural}"
        paths[everywhere] = _operations(("list",), _COLLECTION_METHODS, own, everywhere)
    if "get" in definition.verbs:
        paths[item] = _operations(set(definition.verbs) - {"create"}, _METHODS, own, item)
    for part in definition.subresources.values():
        subject = own
        if part.kind:
            place = (part.group, part.version) if part.version else (definition.group, definition.version)
            subject = _Subject(_kind(*place, part.kind), "", definition.custom)
        address = f"{item}/{part.name}"
        paths[address] = _operations(part.verbs, _METHODS, subject, address)


def _kind(group: str, version: str, kind: str) -> dict[str, str]:
    return {"group": group, "version": version, "kind": kind}


def _operations(verbs: Collection[str], methods: dict[str, str], subject: _Subject, path: str) -> OpenAPI:
    """The operations at an address, and the parameters all of them have."""
    served = [verb for verb in methods if verb in verbs]
    queries = [_LOG if path.endswith("/log") else _QUERY.get(verb, ()) for verb in served]
    common = {name for name in queries[0] if all(name in query for query in queries)} if queries else set()
    found: OpenAPI = {}
    for verb, query in zip(served, queries, strict=True):
        own = sorted(name for name in query if name not in common)
        found[methods[verb]] = _operation(verb, methods[verb], subject, own)
    places = [name for name in ("name", "namespace") if f"{{{name}}}" in path]
    found["parameters"] = [
        *(_parameter(name, "path", required=True) for name in places),
        *(_parameter(name, "query") for name in sorted({*common, "pretty"})),
    ]
    return found


def _operation(verb: str, method: str, subject: _Subject, query: Iterable[str]) -> OpenAPI:
    shape = _reference(subject.component) if subject.component else {"type": "object"}
    answer: OpenAPI = {"description": "OK"}
    if verb not in ("list", "deletecollection"):
        answer["content"] = {"application/json": {"schema": shape}}
    found: OpenAPI = {
        **_told({"parameters": [_parameter(name, "query") for name in query]}),
        "responses": {"200": answer},
        "x-kubernetes-action": _ACTIONS.get(verb, verb),
        "x-kubernetes-group-version-kind": subject.kind,
    }
    if method in ("post", "put"):
        found["requestBody"] = {"content": {"application/json": {"schema": shape}}, "required": True}
    if method == "patch":
        patches = _PATCHES if subject.custom else (*_PATCHES, _STRATEGIC)
        content = {media_type: {"schema": {"type": "object"}} for media_type in patches}
        found["requestBody"] = {"content": content, "required": True}
    return found


def _parameter(name: str, place: str, *, required: bool = False) -> OpenAPI:
    schema = {"type": _QUERY_TYPES.get(name, "string"), "uniqueItems": True}
    return {"name": name, "in": place, **_told({"required": required}), "schema": schema}


# Types

_MACHINERY = "io.k8s.apimachinery.pkg"
_SPECIAL: dict[str, tuple[str, OpenAPI]] = {
    "quantity": (f"{_MACHINERY}.api.resource.Quantity", {"oneOf": [{"type": "string"}, {"type": "number"}]}),
    "int-or-string": (
        f"{_MACHINERY}.util.intstr.IntOrString",
        {"format": "int-or-string", "oneOf": [{"type": "integer"}, {"type": "string"}]},
    ),
    "date-time": (f"{_MACHINERY}.apis.meta.v1.Time", {"type": "string", "format": "date-time"}),
    "micro-time": (f"{_MACHINERY}.apis.meta.v1.MicroTime", {"type": "string", "format": "date-time"}),
}


class _Components:
    """The schemas of a document, each under its name; asking for one adds those it refers to."""

    def __init__(self) -> None:
        self.schemas: dict[str, OpenAPI] = {}

    def add(self, definition: Definition, kind: dict[str, str]) -> str:
        """Adds the schema of a kind and gives its name there, for example.com: com.example.v1.Thing."""
        name = type_name(definition.schema)
        if name:
            self._built_in(definition.schema)
        else:
            name = ".".join((*reversed(definition.group.split(".")), definition.version, definition.kind))
            self.schemas[name] = self._inline(definition.schema, built_in=False)
        self.schemas[name]["x-kubernetes-group-version-kind"] = [kind]
        return name

    def _built_in(self, schema: Schema) -> OpenAPI:
        name = type_name(schema)
        if name not in self.schemas:
            self.schemas[name] = {}  # types may refer to themselves
            self.schemas[name].update(self._inline(schema, built_in=True))
        return _reference(name)

    def _shown(self, schema: Schema, built_in: bool) -> OpenAPI:
        if type_name(schema):
            return self._built_in(schema)
        if built_in and schema.format in _SPECIAL:
            name, shown = _SPECIAL[schema.format]
            self.schemas[name] = shown
            return _reference(name)
        return self._inline(schema, built_in)

    def _inline(self, schema: Schema, built_in: bool) -> OpenAPI:
        is_free = built_in and schema.keeps_unknown and schema.type == ANY
        is_either = schema.format == "int-or-string"
        fields = schema.fields
        shown = _told(
            {
                "description": schema.description,
                "type": OBJECT if is_free else schema.type,
                "format": "" if is_either else schema.format,
                "x-kubernetes-int-or-string": is_either,
                "properties": {name: self._field(field, built_in) for name, field in fields.items()},
                "required": [name for name, field in fields.items() if field.required],
            }
        )
        if schema.values is not None and schema.type == OBJECT:
            shown["additionalProperties"] = self._shown(schema.values, built_in)
        if schema.items is not None:
            shown["items"] = self._shown(schema.items, built_in)
        extensions = {
            "x-kubernetes-list-type": schema.list_type if schema.type == ARRAY else "",
            "x-kubernetes-list-map-keys": list(schema.list_keys),
            "x-kubernetes-map-type": ATOMIC if schema.map_type == ATOMIC else "",
            "x-kubernetes-embedded-resource": schema.embedded,
            "nullable": schema.nullable,
            "x-kubernetes-preserve-unknown-fields": schema.keeps_unknown and not is_free,
        }
        return {**shown, **schema.rules, **_told(extensions)}

    def _field(self, field: Field, built_in: bool) -> OpenAPI:
        shown = self._shown(field.schema, built_in)
        more = _told(
            {
                "x-kubernetes-patch-strategy": field.patch_strategy,
                "x-kubernetes-patch-merge-key": field.patch_key,
            }
        )
        if field.default is not ABSENT and field.default is not None:
            more["default"] = field.default
        if more and "$ref" in shown:
            return {"allOf": [shown], **more}
        return {**shown, **more}


def _reference(name: str) -> OpenAPI:
    return {"$ref": f"#/components/schemas/{name}"}


def _told(fields: OpenAPI) -> OpenAPI:
    """Without those that say nothing."""
    return {name: value for name, value in fields.items() if value}
