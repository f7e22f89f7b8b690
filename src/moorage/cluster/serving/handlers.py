"""The verbs on objects: get, list, watch, create, update, patch, delete, deletecollection."""

from __future__ import annotations

from moorage.cluster.access.requests import Answer, Place, Query, Request, Stream
from moorage.cluster.access.reviews import Reviews
from moorage.cluster.access.users import User
from moorage.cluster.access.write_options import Options, options_of
from moorage.cluster.base.errors import Refusal
from moorage.cluster.base.store import Document, Stored
from moorage.cluster.custom.strategy import CustomStrategy
from moorage.cluster.objects.decoding import read_delete_options, read_object
from moorage.cluster.objects.deletion import DeleteOptions, delete_options
from moorage.cluster.objects.patching import Patches
from moorage.cluster.objects.versions import to_stored
from moorage.cluster.objects.writes import Objects
from moorage.cluster.schema.definitions import Definition
from moorage.cluster.serving.lists import Lists, Selection
from moorage.cluster.serving.rendering import Accepted, Renderer, accepted, encode, warning_headers
from moorage.cluster.serving.tables.builtin import columns_of
from moorage.cluster.serving.tables.columns import Columns
from moorage.cluster.serving.tables.custom import custom_columns
from moorage.cluster.serving.watches import Watch

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


class Handlers:
    def __init__(self, objects: Objects, patches: Patches, reviews: Reviews) -> None:
        self.objects = objects
        self.patches = patches
        self._reviews = reviews
        self._lists = Lists(objects.store)
        self._watches: set[Watch] = set()

    def handle(
        self, definition: Definition, place: Place, verb: str, request: Request, query: Query, user: User
    ) -> Answer | Stream:
        if "get" not in definition.verbs and verb == "create":
            return self._review(definition, place, request, query, user)
        if verb == "get":
            stored = self.objects.get(definition, place.namespace, place.name)
            return self.answer(definition, stored, request, query)
        if verb == "list":
            return self._list(definition, place, request, query)
        if verb == "watch":
            return self._watch(definition, place, request, query)
        if verb in ("delete", "deletecollection"):
            return self._delete(definition, place, verb, request, query, user)
        options = options_of(query, user, request, _OPTIONS[verb])
        try:
            stored, created = self._write(definition, place, verb, request, options)
        except Refusal as refusal:
            refusal.warnings += options.warnings
            raise
        return self.answer(definition, stored, request, query, options, status=201 if created else 200)

    def _write(
        self, definition: Definition, place: Place, verb: str, request: Request, options: Options
    ) -> tuple[Stored, bool]:
        """The object as it is then, and whether it was created."""
        if verb == "patch":
            content_type = request.header("content-type")
            return self.patches.patch(definition, place, request.body, content_type, options)
        if verb == "create":
            return self._create(definition, place, request, options), True
        document = self._read(definition, request, options)
        return self.objects.replace(definition, place, document, options)

    def end_watches(self, resource: str = "") -> None:
        """Ends all watches, or those of one resource, so that their connections can be closed."""
        for watch in tuple(self._watches):
            if resource in ("", watch.resource):
                watch.close()

    def answer(
        self,
        definition: Definition,
        stored: Stored,
        request: Request,
        query: Query,
        options: Options | None = None,
        *,
        status: int = 200,
    ) -> Answer:
        """One object in the form the client wants, with the warnings that came up."""
        renderer = self.renderer(definition, request, query)
        return Answer(
            status,
            renderer.object(stored),
            renderer.content_type,
            warning_headers(options.warnings) if options else [],
        )

    def renderer(self, definition: Definition, request: Request, query: Query) -> Renderer:
        accept = accepted(request.header("accept"))
        return self._renderer(definition, accept, query)

    def _renderer(self, definition: Definition, accept: Accepted, query: Query) -> Renderer:
        return Renderer(
            definition,
            accept,
            _columns(definition) if accept.kind == "Table" else _NO_COLUMNS,
            include_object=query.text("includeObject"),
            clock=self.objects.clock,
        )

    def _read(self, definition: Definition, request: Request, options: Options) -> Document:
        shaped = read_object(definition, request.body, request.header("content-type"), options)
        return to_stored(definition, shaped)

    def _create(self, definition: Definition, place: Place, request: Request, options: Options) -> Stored:
        document = self._read(definition, request, options)
        return self.objects.create(definition, place.namespace, document, options)

    def _review(
        self, definition: Definition, place: Place, request: Request, query: Query, user: User
    ) -> Answer:
        """A question that is answered and not kept."""
        options = options_of(query, user, request, "CreateOptions")
        document = read_object(definition, request.body, request.header("content-type"), options)
        answered = self._reviews.review(definition.kind, document, user=user, namespace=place.namespace)
        return Answer(201, encode(answered), headers=warning_headers(options.warnings))

    def _list(self, definition: Definition, place: Place, request: Request, query: Query) -> Answer:
        renderer = self.renderer(definition, request, query)
        selection = Selection(definition, place.namespace, query)
        page = self._lists.page(definition, selection, query)
        return Answer(200, renderer.page(page), renderer.content_type)

    def _watch(self, definition: Definition, place: Place, request: Request, query: Query) -> Stream:
        renderer = self.renderer(definition, request, query)
        selection = Selection(definition, place.namespace, query)
        watch = Watch(
            self.objects.store, definition, selection, query, renderer, on_end=self._watches.discard
        )
        self._watches.add(watch)
        return Stream(watch.chunks(), ended=watch.close, gathers=True)

    def _delete(
        self, definition: Definition, place: Place, verb: str, request: Request, query: Query, user: User
    ) -> Answer:
        body = read_delete_options(request.body, request.header("content-type"))
        options = delete_options(query, body, user)
        if verb == "deletecollection":
            return self._delete_all(definition, place, request, query, options)
        stored, gone = self.objects.delete(definition, place.namespace, place.name, options)
        if not gone or definition.storage in _SHOWN_WHEN_DELETED:
            return self.answer(definition, stored, request, query)
        details = {"name": stored.name, "group": definition.group, "kind": definition.plural}
        details["uid"] = stored.document["metadata"]["uid"]
        status = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Success",
            "details": {name: value for name, value in details.items() if value},
        }
        return Answer(200, encode(status))

    def _delete_all(
        self, definition: Definition, place: Place, request: Request, query: Query, options: DeleteOptions
    ) -> Answer:
        renderer = self.renderer(definition, request, query)
        selection = Selection(definition, place.namespace, query)
        page = self._lists.page(definition, selection, query)
        for stored in page.items:
            self.objects.delete(definition, stored.namespace, stored.name, options)
        return Answer(200, renderer.page(page), renderer.content_type)


_OPTIONS = {"create": "CreateOptions", "update": "UpdateOptions", "patch": "PatchOptions"}


def _columns(definition: Definition) -> Columns:
    strategy = definition.strategy
    if isinstance(strategy, CustomStrategy):
        return custom_columns(strategy.printer_columns)
    return columns_of(definition.storage)


_NO_COLUMNS = columns_of("")
