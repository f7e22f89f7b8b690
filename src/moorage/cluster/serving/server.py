"""The API server without its transport: from a request to its answer."""

from __future__ import annotations

import asyncio
import logging
import re
from time import perf_counter

import msgspec

from moorage.api.durations import Duration, DurationError
from moorage.cluster.access.authentication import Authenticator
from moorage.cluster.access.rbac import Authorizer
from moorage.cluster.access.requests import JSON, Answer, Place, Query, Request, Stream, place_of
from moorage.cluster.access.tokens import Tokens
from moorage.cluster.access.users import Attributes, User
from moorage.cluster.base.errors import NoSuchPath, Refusal, bad_request, method_not_allowed, path_not_found
from moorage.cluster.base.outside import Unanswered
from moorage.cluster.schema.definitions import Definitions
from moorage.cluster.schema.openapi import openapi_v3_document, openapi_v3_index
from moorage.cluster.schema.selecting import field_selector
from moorage.cluster.serving.aggregation import Aggregation
from moorage.cluster.serving.discovery import VERSION, Discovery
from moorage.cluster.serving.handlers import Call, Handlers
from moorage.cluster.serving.issuer import issuer_answer
from moorage.cluster.serving.openapi_v2 import OpenApiV2
from moorage.cluster.serving.rendering import encode, warning_headers
from moorage.cluster.serving.request_metrics import Kind, RequestMetrics, kind_of_request
from moorage.cluster.serving.subresources import Subresources

log = logging.getLogger(__name__)

_VERBS = {"GET": "get", "POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_HEALTH = frozenset(("/healthz", "/livez", "/readyz"))
_PRETTY = re.compile("[?&]pretty=([^&]+)")
_SHOWN_TO_PEOPLE = ("curl", "Wget", "Mozilla/5.0")
_TEXT = "text/plain; charset=utf-8"
_LONGEST = 34.0  # seconds that others have for what they say about a request
_TOO_LATE = "request did not complete within requested timeout - context deadline exceeded"


class ApiServer:
    """Answers requests. All of it happens in one go; only streams go on afterwards."""

    def __init__(
        self,
        definitions: Definitions,
        authenticator: Authenticator,
        authorizer: Authorizer,
        handlers: Handlers,
        subresources: Subresources,
        tokens: Tokens,
    ) -> None:
        self._definitions = definitions
        self._authenticator = authenticator
        self._authorizer = authorizer
        self._handlers = handlers
        self._subresources = subresources
        self._aggregation = Aggregation(handlers.objects.store, definitions)
        self._discovery = Discovery(definitions, self._aggregation)
        self._openapi_v2 = OpenApiV2(definitions)
        self._tokens = tokens
        self._metrics = RequestMetrics(definitions, handlers.objects.store, handlers.watches)

    async def respond(self, request: Request) -> Answer | Stream:
        """As `handle`, but asks others who have a say in what is asked for, as often as it takes."""
        try:
            return self.handle(request)
        except Unanswered as unanswered:
            return await self._ask_and_try(request, unanswered)

    async def _ask_and_try(self, request: Request, unanswered: Unanswered) -> Answer | Stream:
        try:
            async with asyncio.timeout(_seconds(request.target)):
                while True:
                    await unanswered.ask()
                    try:
                        return self.handle(request)
                    except Unanswered as more:
                        unanswered = more
        except TimeoutError:
            return refused(Refusal(504, "Timeout", f"Timeout: {_TOO_LATE}", details={}))

    def handle(self, request: Request) -> Answer | Stream:
        """Raises Unanswered if others have to be asked first; nothing has been changed then."""
        began = perf_counter()
        answer = self._answer(request)
        self._count(request, answer, began)
        if isinstance(answer, Answer) and answer.content_type == JSON and _is_for_people(request):
            answer.body = msgspec.json.format(answer.body, indent=2)
        return answer

    def _count(self, request: Request, answer: Answer | Stream, began: float) -> None:
        """Notes a request in the metrics, if it is for something that is there."""
        path, _, query = request.target.partition("?")
        place = place_of(path)
        if place is None or not place.plural:
            root = f"/{path.lstrip('/').partition('/')[0]}"
            if root not in _KNOWN_ROOTS or request.method not in _COUNTED:
                return
            kind = Kind(request.method, subresource=root)
        else:
            definition = self._definitions.find(place.group, place.version, place.plural)
            part = place.subresource
            if definition is None or (part and part not in definition.subresources):
                return
            verb = "watch" if isinstance(answer, Stream) else _verb(request.method, place, _NO_QUERY)
            if verb == "patch" and request.header("content-type").startswith(_APPLY):
                verb = "apply"
            kind = kind_of_request(verb or "other", place, "dryRun=All" in query)
        took = perf_counter() - began if isinstance(answer, Answer) else None
        self._metrics.count(kind, answer.status, took)

    def _answer(self, request: Request) -> Answer | Stream:
        try:
            return self._handle(request)
        except NoSuchPath as refusal:
            if self._is_in_builtin_group(request.target):
                return refused(refusal)
            return Answer(refusal.code, b"404 page not found\n", _TEXT)
        except Refusal as refusal:
            return refused(refusal)
        except Unanswered:
            raise
        except RecursionError:
            return refused(Refusal(400, "BadRequest", "the request is nested too deeply"))
        except Exception:
            log.exception("%s %s: unexpected error", request.method, request.target)
            return refused(Refusal(500, "InternalError", "an error on the server has prevented the request"))

    def _handle(self, request: Request) -> Answer | Stream:
        path, _, query_text = request.target.partition("?")
        place = place_of(path)
        query = Query(query_text)
        verb = _verb(request.method, place, query) if place else ""
        if "timeout" in query.given and not (place and _goes_on(verb, place)):
            _check_timeout(query.text("timeout"))
        if place is None or not place.plural:
            return self._outside_resources(request, path)
        user = self.admit(request, _attributes(verb, place, query))
        definition = self._definitions.find(place.group, place.version, place.plural)
        if definition is None and (elsewhere := self._aggregation.refusal(place.group, place.version)):
            return elsewhere
        if definition is None or place.beyond or (place.namespace and not definition.namespaced):
            raise path_not_found()
        warnings = [definition.strategy.deprecation] if definition.strategy.deprecation else []
        try:
            answer = self._serve(Call(definition, place, verb, request, query, user))
        except Refusal as refusal:
            refusal.warnings = warnings + refusal.warnings
            raise
        answer.headers = warning_headers(warnings) + answer.headers
        return answer

    def _serve(self, call: Call) -> Answer | Stream:
        if call.place.subresource:
            if call.request.method not in _VERBS:
                raise method_not_allowed()
            return self._subresources.handle(call)
        _check_verb(call)
        if call.definition.storage == "bindings":
            return self._subresources.bind(call, call.options())
        return self._handlers.handle(call)

    def admit(self, request: Request, attributes: Attributes) -> User:
        """Who makes the request; refused if that one may not."""
        user = request.user or self._authenticator.authenticate(request.headers, attributes)
        self._authorizer.require(user, attributes)
        return user

    def _is_in_builtin_group(self, target: str) -> bool:
        root, _, rest = target.partition("?")[0].lstrip("/").partition("/")
        group = "" if root == "api" else rest.partition("/")[0]
        return root in ("api", "apis") and any(
            each.group == group and not each.custom for each in self._definitions
        )

    def _outside_resources(self, request: Request, path: str) -> Answer:
        """Health, version and what tells about the API itself."""
        self.admit(request, Attributes(request.method.lower(), path=path))
        bare = path.rstrip("/") or "/"
        root, _, check = bare[1:].partition("/")
        if request.method not in ("GET", "HEAD"):
            raise method_not_allowed() if f"/{root}" in _KNOWN_ROOTS else path_not_found()
        if f"/{root}" in _HEALTH and check in ("", "ping"):
            if not check and "verbose" in Query(request.target.partition("?")[2]).given:
                return Answer(200, f"[+]ping ok\n{root} check passed\n".encode(), _TEXT)
            return Answer(200, b"ok", _TEXT)
        if root in ("api", "apis"):
            return self._discovery.answer(bare, request.header("accept"))
        if bare == "/metrics":
            return self._metrics.answer()
        if answer := issuer_answer(bare, self._tokens, request.header("host")):
            return answer
        if bare == "/version":
            return Answer(200, encode(VERSION))
        if bare == "/openapi/v2":
            return self._openapi_v2.answer(request.header("accept"))
        if bare == "/openapi/v3":
            return Answer(200, encode(openapi_v3_index(self._definitions)))
        if bare.startswith("/openapi/v3/"):
            return self._openapi(bare.removeprefix("/openapi/v3/"))
        if bare == "/":
            return Answer(200, encode({"paths": sorted(_KNOWN_ROOTS)}))
        raise path_not_found()

    def _openapi(self, path: str) -> Answer:
        place = place_of(f"/{path}")
        served = {(each.group, each.version) for each in self._definitions}
        if place is None or place.plural or (place.group, place.version) not in served:
            raise path_not_found()
        return Answer(200, encode(openapi_v3_document(self._definitions, place.group, place.version)))


_KNOWN_ROOTS = frozenset(
    (*_HEALTH, "/api", "/apis", "/version", "/openapi", "/metrics", "/openid", "/.well-known")
)
_NO_QUERY = Query("")
_COUNTED = frozenset((*_VERBS, "HEAD"))
_APPLY = "application/apply-patch"


def _is_for_people(request: Request) -> bool:
    """Whether the answer is to be indented: when that is asked for, and for programs people look at."""
    if asked := _PRETTY.search(request.target):
        return asked[1] in ("1", "t", "T", "true", "TRUE", "True")
    return request.header("user-agent").startswith(_SHOWN_TO_PEOPLE)


def refused(refusal: Refusal) -> Answer:
    headers = warning_headers(refusal.warnings)
    seconds = (refusal.details or {}).get("retryAfterSeconds")
    if seconds:
        headers.append(("Retry-After", str(seconds)))
    return Answer(refusal.code, encode(refusal.document()), headers=headers)


def _attributes(verb: str, place: Place, query: Query) -> Attributes:
    """What the request wants to do. A list of one name asks for that name only."""
    namespace = place.name if place.plural == "namespaces" and not place.group else place.namespace
    name = place.name
    if not name and verb != "create" and (fields := query.text("fieldSelector")):
        name = field_selector(fields).requires("metadata.name") or ""
    return Attributes(verb, place.group, place.version, place.plural, place.subresource, namespace, name)


def _verb(method: str, place: Place, query: Query) -> str:
    """What it is called when somebody asks who may; empty for a method that nothing is called."""
    verb = _VERBS.get("GET" if method == "HEAD" else method, "")
    if verb == "get" and not place.name:
        return "watch" if query.flag("watch") else "list"
    if verb == "delete" and not place.name:
        return "deletecollection"
    return verb


def _goes_on(verb: str, place: Place) -> bool:
    """Whether the answer has no end that a time could be set for."""
    return verb == "watch" or place.subresource in ("attach", "exec", "log", "portforward", "proxy")


def _check_timeout(text: str) -> None:
    """Refuses a time that cannot be read."""
    try:
        if text:
            Duration.parse(text)
    except DurationError as error:
        raise bad_request(f"invalid timeout specified in the request URL - {error}") from None


def _seconds(target: str) -> float:
    """How long a request may take."""
    text = Query(target.partition("?")[2]).text("timeout")
    try:
        given = Duration.parse(text).seconds if text else 0.0
    except DurationError:  # of a watch, of which nobody has looked at it
        given = 0.0
    return min(given, _LONGEST) if given > 0 else _LONGEST


def _check_verb(call: Call) -> None:
    definition, place, verb = call.definition, call.place, call.verb
    if definition.namespaced and not place.namespace and (place.name or verb not in ("list", "watch")):
        listed = "list" in definition.verbs and not definition.custom
        raise method_not_allowed() if listed and not place.name else path_not_found()
    with_name = verb in ("get", "update", "patch", "delete")
    wrong_place = (with_name and not place.name) or (verb == "create" and place.name)
    if call.request.method not in _VERBS or verb not in definition.verbs or wrong_place:
        raise method_not_allowed()
