"""The verbs on objects: get, list, watch, create, update, patch, delete, deletecollection."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace

from moorage.cluster.access.requests import Answer, Place, Query, Request, Stream
from moorage.cluster.access.reviews import Reviews
from moorage.cluster.access.users import User
from moorage.cluster.access.write_options import Options, options_of
from moorage.cluster.base.errors import Refusal
from moorage.cluster.base.store import Document, Stored
from moorage.cluster.custom.strategy import CustomStrategy
from moorage.cluster.objects.admission.attempt import CREATE
from moorage.cluster.objects.decoding import read_delete_options, read_object, to_stored
from moorage.cluster.objects.deletion import DeleteOptions, delete_options
from moorage.cluster.objects.hooks.wishes import Wish
from moorage.cluster.objects.patching import patch
from moorage.cluster.objects.writes import Objects
from moorage.cluster.schema.definitions import Definition
from moorage.cluster.serving.herald import Herald
from moorage.cluster.serving.lists import Page, Selection, read_page
from moorage.cluster.serving.rendering import Renderer, accepted, encode, warning_headers
from moorage.cluster.serving.tables.builtin import PLAIN, columns_of
from moorage.cluster.serving.tables.custom import custom_columns
from moorage.cluster.serving.tables.rendering import Columns
from moorage.cluster.serving.watches import Watch

_OPTIONS = {"create": "CreateOptions", "update": "UpdateOptions", "patch": "PatchOptions"}
_SHOWN_WHEN_DELETED = frozenset(
    (
        "namespaces",
        "persistentvolumeclaims",
        "persistentvolumes",
        "pods",
        "podtemplates",
        "resourcequotas",
        "serviceaccounts",
        "services",
    )
)
"""Resources whose DELETE answers with the object even when it is gone at once."""


@dataclass(frozen=True, slots=True)
class Call:
    """A request that has been understood: who wants what of which resource."""

    definition: Definition
    place: Place
    verb: str
    request: Request
    query: Query
    user: User

    @property
    def where(self) -> tuple[Definition, str, str]:
        """The object that is meant."""
        return self.definition, self.place.namespace, self.place.name

    @property
    def content_type(self) -> str:
        return self.request.header("content-type")

    def options(self) -> Options:
        """How it is to be written."""
        return options_of(self.query, self.user, self.request, _OPTIONS[self.verb])

    def document(self, options: Options, definition: Definition | None = None) -> Document:
        """The body as an object of the resource, or of another kind."""
        return read_object(definition or self.definition, self.request.body, self.content_type, options)


class Handlers:
    def __init__(self, objects: Objects, reviews: Reviews) -> None:
        self.objects = objects
        self._reviews = reviews
        self._watches: set[Watch] = set()
        self._herald = Herald(time.monotonic)

    def handle(self, call: Call) -> Answer | Stream:
        if call.verb == "create" and "get" not in call.definition.verbs:
            return self._review(call)
        match call.verb:
            case "get":
                return self.answer(call, self.objects.get(*call.where))
            case "list":
                return self._list(call)
            case "watch":
                return self._watch(call)
            case "delete" | "deletecollection":
                return self._delete(call)
        return self.write(call, call.options())

    def write(self, call: Call, options: Options) -> Answer:
        """Creates, replaces or patches an object, or that part of one which the call is for."""
        try:
            stored, created = self._written(call, options)
        except Refusal as refusal:
            refusal.warnings += options.warnings
            raise
        return self.answer(call, stored, options, status=201 if created else 200)

    def _written(self, call: Call, options: Options) -> tuple[Stored, bool]:
        """The object as it is then, and whether it was created."""
        if call.verb == "patch":
            body = call.request.body
            return patch(self.objects, call.definition, call.place, body, call.content_type, options)
        document = to_stored(call.definition, call.document(options))
        if call.verb == "create":
            return self.objects.create(call.definition, call.place.namespace, document, options), True
        return self.objects.replace(call.definition, call.place, document, options)

    def watches(self) -> Collection[Watch]:
        """Those that go on."""
        return self._watches

    def end_watches(self, resource: str = "") -> None:
        """Ends all watches, or those of one resource, so that their connections can be closed."""
        for watch in tuple(self._watches):
            if resource in ("", watch.resource):
                watch.close()

    def answer(
        self, call: Call, stored: Stored, options: Options | None = None, *, status: int = 200
    ) -> Answer:
        """One object in the form the client wants, with the warnings that came up."""
        renderer = self._renderer(call)
        warnings = options.warnings if options else ()
        return Answer(status, renderer.object(stored), renderer.content_type, warning_headers(warnings))

    def answer_once(self, call: Call, make: Callable[[], Document], options: Options) -> Answer:
        """What comes of a POST that stores no object of its own. There are no tables of such things."""
        renderer = self._renderer(call, tables=False)
        made = Stored("", "", make(), 0)
        return Answer(201, renderer.once(made), renderer.content_type, warning_headers(options.warnings))

    def _renderer(self, call: Call, *, tables: bool = True) -> Renderer:
        accept = accepted(call.request.header("accept"), tables=tables)
        return Renderer(
            call.definition,
            accept,
            _columns(call.definition) if accept.kind == "Table" else PLAIN,
            include_object=call.query.text("includeObject"),
            clock=self.objects.clock,
        )

    def _review(self, call: Call) -> Answer:
        """A question that is answered and not kept."""
        options = call.options()

        def review() -> Document:
            document, namespace = call.document(options), call.place.namespace
            name = document["metadata"].get("name", "")
            wish = Wish(call.definition, CREATE, options, document, None, name, namespace)
            document = self.objects.hooks.admit(wish).document or {}
            return self._reviews.review(call.definition.kind, document, user=call.user, namespace=namespace)

        return self.answer_once(call, review, options)

    def _list(self, call: Call) -> Answer:
        renderer = self._renderer(call)
        return Answer(200, renderer.page(self._page(call)), renderer.content_type)

    def _page(self, call: Call) -> Page:
        return read_page(self.objects.store, _selection(call), call.query)

    def _watch(self, call: Call) -> Stream:
        renderer = self._renderer(call)
        store, ended = self.objects.store, self._watches.discard
        watch = Watch(store, _selection(call), call.query, renderer, self._herald, on_end=ended)
        self._watches.add(watch)
        return Stream(watch.chunks(), ended=watch.close, connect=watch.connect)

    def _delete(self, call: Call) -> Answer:
        definition = call.definition
        body = read_delete_options(call.request.body, call.content_type)
        options = delete_options(call.query, body)
        warnings = definition.strategy.delete_warnings(options.propagation)
        by = Options(
            call.user,
            dry_run=options.dry_run,
            warnings=warnings,
            told=options.told(),
            answers=call.request.answers,
        )
        try:
            if call.verb == "deletecollection":
                answer = self._delete_all(call, options, by)
                return replace(answer, headers=warning_headers(warnings))
            stored, gone = self.objects.delete(*call.where, options, by)
        except Refusal as refusal:
            refusal.warnings += by.warnings
            raise
        headers = warning_headers(warnings)
        if not gone or definition.storage in _SHOWN_WHEN_DELETED:
            return replace(self.answer(call, stored), headers=headers)
        group = {"group": definition.group} if definition.group else {}
        details = {"name": stored.name, **group, "kind": definition.plural, "uid": stored.uid}
        status = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
        return Answer(200, encode({**status, "details": details}), headers=headers)

    def _delete_all(self, call: Call, options: DeleteOptions, by: Options) -> Answer:
        renderer = self._renderer(call)
        page = by.fixed("page", lambda: self._page(call))
        done: set[str] = by.fixed("done", set)
        """Those that are deleted already when this is tried again."""
        for stored in page.items:
            if stored.uid in done or self.objects.store.get(call.definition.storage, *stored.key) is None:
                continue
            self.objects.delete(call.definition, stored.namespace, stored.name, options, by)
            done.add(stored.uid)
        return Answer(200, renderer.page(page), renderer.content_type)


def _selection(call: Call) -> Selection:
    return Selection(call.definition, call.place.namespace, call.query)


def _columns(definition: Definition) -> Columns:
    strategy = definition.strategy
    if isinstance(strategy, CustomStrategy):
        return custom_columns(strategy.printer_columns)
    return columns_of(definition.storage)
