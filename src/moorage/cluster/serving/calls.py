"""A request that has been understood: who wants what of which resource."""

from __future__ import annotations

from dataclasses import dataclass

from moorage.cluster.access.requests import Place, Query, Request
from moorage.cluster.access.users import User
from moorage.cluster.access.write_options import Options, options_of
from moorage.cluster.base.store import Document
from moorage.cluster.objects.decoding import read_object
from moorage.cluster.schema.definitions import Definition

_OPTIONS = {"create": "CreateOptions", "update": "UpdateOptions", "patch": "PatchOptions"}


@dataclass(frozen=True, slots=True)
class Call:
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
