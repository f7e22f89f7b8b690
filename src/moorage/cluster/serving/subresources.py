"""The parts of objects that have addresses of their own: status, scale, binding, eviction, log, token."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from moorage.cluster.access.requests import Answer, Place, Query, Request, Stream
from moorage.cluster.access.token_requests import token_request
from moorage.cluster.access.tokens import Tokens
from moorage.cluster.access.users import User
from moorage.cluster.access.write_options import Options, options_of
from moorage.cluster.base.errors import Refusal, bad_request, method_not_allowed, not_found, path_not_found
from moorage.cluster.base.store import Document, Stored
from moorage.cluster.objects.admission.namespaces import admit_content
from moorage.cluster.objects.binding import Binder
from moorage.cluster.objects.decoding import read_object
from moorage.cluster.objects.deletion import delete_options
from moorage.cluster.objects.eviction import Evictions
from moorage.cluster.objects.preconditions import check_name
from moorage.cluster.objects.scaling import Scales, scale_definition
from moorage.cluster.schema.definitions import Definition, Definitions
from moorage.cluster.serving.handlers import Handlers
from moorage.cluster.serving.rendering import encode, warning_headers

_SUCCESS: Document = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}
_OPTIONS = {"create": "CreateOptions", "update": "UpdateOptions", "patch": "PatchOptions"}


class Subresources:
    def __init__(
        self,
        definitions: Definitions,
        handlers: Handlers,
        tokens: Tokens,
        log_answer: Callable[[Document, Query], Answer | Stream],
    ) -> None:
        self._definitions = definitions
        self._handlers = handlers
        self._objects = handlers.objects
        self._tokens = tokens
        self._log_answer = log_answer
        self._binder = Binder(handlers.objects.store, handlers.objects.clock)
        self._evictions = Evictions(handlers.objects, definitions)
        self._scales = Scales(handlers.objects)

    def handle(
        self, definition: Definition, place: Place, verb: str, request: Request, query: Query, user: User
    ) -> Answer | Stream:
        part = definition.subresources.get(place.subresource)
        if part is None:
            raise not_found(definition.name, place.name) if definition.custom else path_not_found()
        if verb not in part.verbs or (definition.namespaced and not place.namespace):
            raise method_not_allowed()
        if part.name == "log":
            stored = self._objects.get(definition, place.namespace, place.name)
            return self._log_answer(stored.document, query)
        if part.name == "scale":
            return self._scale(definition, place, verb, request, query, user)
        if verb == "get":
            stored = self._objects.get(definition, place.namespace, place.name)
            return self._handlers.answer(definition, stored, request, query)
        options = options_of(query, user, request, _OPTIONS[verb])
        if verb == "create":
            return self._post(definition, place, request, options)
        try:
            return self._write(definition, place, verb, request, query, options)
        except Refusal as refusal:
            refusal.warnings += options.warnings
            raise

    def bind(self, place: Place, request: Request, query: Query, user: User) -> Answer:
        """A Binding that is posted to the collection of bindings."""
        options = options_of(query, user, request, "CreateOptions")
        return self._bind("", place.namespace, request, options)

    def _write(
        self,
        definition: Definition,
        place: Place,
        verb: str,
        request: Request,
        query: Query,
        options: Options,
    ) -> Answer:
        """The status, and what else is a part of the object itself."""
        content_type = request.header("content-type")
        if verb == "patch":
            stored, _ = self._handlers.patches.patch(definition, place, request.body, content_type, options)
        else:
            document = read_object(definition, request.body, content_type, options)
            stored, _ = self._objects.replace(definition, place, document, options)
        return self._handlers.answer(definition, stored, request, query, options)

    def _post(self, definition: Definition, place: Place, request: Request, options: Options) -> Answer:
        match place.subresource:
            case "binding":
                return self._bind(place.name, place.namespace, request, options)
            case "eviction":
                return self._evict(place, request, options)
            case "token":
                return self._token(definition, place, request, options)
        raise method_not_allowed()

    def _bind(self, name: str, namespace: str, request: Request, options: Options) -> Answer:
        binding = self._typed("", "v1", "Binding", request, options)
        given = binding["metadata"].get("name", "")
        if name and given and given != name:
            raise bad_request("name in URL does not match name in Binding object")
        if not name and not given:
            raise bad_request("metadata.name: the Binding must name the pod")
        posted_to = "pods" if name else "bindings"
        self._binder.bind(namespace, name or given, binding, dry_run=options.dry_run, posted_to=posted_to)
        return Answer(201, encode(_SUCCESS))

    def _evict(self, place: Place, request: Request, options: Options) -> Answer:
        eviction = self._typed("policy", "v1", "Eviction", request, options)
        name = eviction["metadata"].get("name", "")
        if name and name != place.name:
            raise bad_request("name in URL does not match name in Eviction object")
        asked: Any = eviction.get("deleteOptions")
        given = delete_options(Query(""), asked, options.user)
        admit_content("pods", place.name, place.namespace, self._objects.store)
        self._evictions.evict(place.namespace, place.name, given, dry_run=options.dry_run)
        return Answer(201, encode(_SUCCESS))

    def _token(self, definition: Definition, place: Place, request: Request, options: Options) -> Answer:
        admit_content(definition.name, place.name, place.namespace, self._objects.store)
        account = self._objects.get(definition, place.namespace, place.name)
        asked = self._typed("authentication.k8s.io", "v1", "TokenRequest", request, options)
        answered = token_request(
            asked,
            account.document,
            tokens=self._tokens,
            store=self._objects.store,
            now=self._objects.clock(),
        )
        return Answer(201, encode(answered), headers=warning_headers(options.warnings))

    def _scale(
        self, definition: Definition, place: Place, verb: str, request: Request, query: Query, user: User
    ) -> Answer:
        stored = self._objects.get(definition, place.namespace, place.name)
        if verb == "get":
            return self._shown_scale(definition, stored, request, query)
        options = options_of(query, user, request, _OPTIONS[verb])
        if verb == "patch":
            content_type = request.header("content-type")
            scale = self._scales.patched(definition, stored, request.body, content_type, options)
        else:
            scale = self._typed("autoscaling", "v1", "Scale", request, options)
        check_name(scale["metadata"].get("name", place.name), place.name)
        changed = self._scales.write(definition, stored, scale, options)
        return self._shown_scale(definition, changed, request, query, options)

    def _shown_scale(
        self,
        definition: Definition,
        stored: Stored,
        request: Request,
        query: Query,
        options: Options | None = None,
    ) -> Answer:
        scale = Stored(
            stored.namespace, stored.name, self._scales.scale_of(definition, stored), stored.revision
        )
        return self._handlers.answer(scale_definition(), scale, request, query, options)

    def _typed(self, group: str, version: str, kind: str, request: Request, options: Options) -> Document:
        """The body as an object of a kind that is not a resource."""
        return read_object(
            of_kind(group, version, kind), request.body, request.header("content-type"), options
        )


def of_kind(group: str, version: str, kind: str) -> Definition:
    """A definition for reading objects that are only sent and never kept."""
    found = _TRANSIENT.get(kind)
    if found is None:
        from moorage.cluster.schema.builtin import schema_of

        found = Definition(group, version, kind.lower(), kind, True, schema_of(group, version, kind))
        _TRANSIENT[kind] = found
    return found


_TRANSIENT: dict[str, Definition] = {}
