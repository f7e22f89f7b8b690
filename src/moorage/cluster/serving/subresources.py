"""The parts of objects that have addresses of their own: status, scale, binding, eviction, log, token."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache

from moorage.cluster.access.requests import Answer, Query, Stream
from moorage.cluster.access.token_requests import token_request
from moorage.cluster.access.tokens import Tokens
from moorage.cluster.access.write_options import Options
from moorage.cluster.base.errors import bad_request, method_not_allowed, not_found, path_not_found
from moorage.cluster.base.store import Document, Stored
from moorage.cluster.objects.admission.attempt import CREATE
from moorage.cluster.objects.admission.chain import admit_content
from moorage.cluster.objects.binding import bind
from moorage.cluster.objects.deletion import delete_options
from moorage.cluster.objects.eviction import evict
from moorage.cluster.objects.hooks.wishes import Wish
from moorage.cluster.objects.identity import check_name
from moorage.cluster.objects.scaling import patched_scale, scale_definition, scale_of, write_scale
from moorage.cluster.schema.builtin import schema_of
from moorage.cluster.schema.definitions import Definition
from moorage.cluster.serving.handlers import Call, Handlers

_SUCCESS: Document = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}


class Subresources:
    def __init__(
        self,
        handlers: Handlers,
        tokens: Tokens,
        log_answer: Callable[[Document, Query], Answer | Stream],
    ) -> None:
        self._handlers = handlers
        self._objects = handlers.objects
        self._tokens = tokens
        self._log_answer = log_answer

    def handle(self, call: Call) -> Answer | Stream:
        definition, place, verb = call.definition, call.place, call.verb
        part = definition.subresources.get(place.subresource)
        if part is None:
            raise not_found(definition.name, place.name) if definition.custom else path_not_found()
        if verb not in part.verbs or (definition.namespaced and not place.namespace):
            raise method_not_allowed()
        if part.name == "log":
            return self._log_answer(self._objects.get(*call.where).document, call.query)
        if part.name == "scale":
            return self._scale(call)
        if verb == "get":
            return self._handlers.answer(call, self._objects.get(*call.where))
        options = call.options()
        if verb != "create":
            return self._handlers.write(call, options)
        match part.name:
            case "binding":
                return self.bind(call, options)
            case "eviction":
                return self._handlers.answer_once(call, lambda: self._evict(call, options), options)
            case "token":
                return self._handlers.answer_once(call, lambda: self._token(call, options), options)
        raise method_not_allowed()

    def bind(self, call: Call, options: Options) -> Answer:
        """A Binding, posted to its pod or to the collection of bindings."""
        return self._handlers.answer_once(call, lambda: self._bind(call, options), options)

    def _bind(self, call: Call, options: Options) -> Document:
        name = call.place.name
        binding = call.document(options, of_kind("", "v1", "Binding"))
        given = binding["metadata"].get("name", "")
        if name and given and given != name:
            raise bad_request("name in URL does not match name in Binding object")
        if not name and not given:
            raise bad_request("metadata.name: the Binding must name the pod")
        posted_to = "pods" if name else "bindings"
        place = call.place.namespace
        bind(self._objects, place, name or given, binding, options=options, posted_to=posted_to)
        return _SUCCESS

    def _evict(self, call: Call, options: Options) -> Document:
        place = call.place
        eviction = call.document(options, of_kind("policy", "v1", "Eviction"))
        name = eviction["metadata"].get("name", "")
        if name and name != place.name:
            raise bad_request("name in URL does not match name in Eviction object")
        admit_content("pods", place.name, place.namespace, self._objects.store)
        eviction = self._admitted(call, options, eviction, of_kind("policy", "v1", "Eviction"))
        given = delete_options(Query(""), eviction.get("deleteOptions"))
        given = replace(given, dry_run=given.dry_run or options.dry_run)
        evict(self._objects, place.namespace, place.name, given)
        return _SUCCESS

    def _token(self, call: Call, options: Options) -> Document:
        store = self._objects.store
        admit_content(call.definition.name, call.place.name, call.place.namespace, store)
        account = self._objects.get(*call.where).document
        kind = of_kind("authentication.k8s.io", "v1", "TokenRequest")
        asked = self._admitted(call, options, call.document(options, kind), kind)
        return token_request(asked, account, tokens=self._tokens, store=store, now=self._objects.clock())

    def _admitted(self, call: Call, options: Options, document: Document, kind: Definition) -> Document:
        """What is posted to a part of an object, as others have changed it who have a say in it."""
        place = call.place
        wish = Wish(
            call.definition,
            CREATE,
            options,
            document,
            None,
            place.name,
            place.namespace,
            place.subresource,
            kind=kind,
        )
        return self._objects.hooks.admit(wish).document or {}

    def _scale(self, call: Call) -> Answer:
        definition, name = call.definition, call.place.name
        stored = self._objects.get(*call.where)
        if call.verb == "get":
            return self._shown_scale(call, stored)
        options = call.options()
        if call.verb == "patch":
            body = call.request.body
            scale = patched_scale(definition, stored, body, call.content_type, options)
        else:
            scale = call.document(options, of_kind("autoscaling", "v1", "Scale"))
        check_name(scale["metadata"].get("name", name), name)
        written = write_scale(self._objects, definition, stored, scale, options)
        return self._shown_scale(call, written, options)

    def _shown_scale(self, call: Call, stored: Stored, options: Options | None = None) -> Answer:
        document = scale_of(call.definition, stored)
        scale = Stored(stored.namespace, stored.name, document, stored.revision)
        return self._handlers.answer(replace(call, definition=scale_definition()), scale, options)


@cache
def of_kind(group: str, version: str, kind: str) -> Definition:
    """A definition for reading objects that are only sent and never kept."""
    return Definition(group, version, kind.lower(), kind, True, schema_of(group, version, kind))
