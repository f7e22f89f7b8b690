"""The forms in which a client may have objects: whole, only their metadata, or rows of a table."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import msgspec
import yaml

from moorage.cluster.access.requests import JSON
from moorage.cluster.base.errors import Refusal, not_acceptable
from moorage.cluster.base.store import Document, Stored
from moorage.cluster.custom.strategy import CustomStrategy
from moorage.cluster.objects.decoding import from_stored, is_stored_form
from moorage.cluster.schema.definitions import Definition
from moorage.cluster.serving.lists import Page
from moorage.cluster.serving.tables.rendering import Columns, table
from moorage.cluster.serving.tables.rendering import include_object as how_much

YAML = "application/yaml"
_KNOWN = frozenset((JSON, YAML, "*/*", "application/*", "application/json;stream=watch"))
_META_GROUP = "meta.k8s.io"
_QUALITY = re.compile(r"[01](\.[0-9]{0,9})?")

encode = msgspec.json.Encoder().encode


@dataclass(frozen=True)
class Accepted:
    """What a client wants: a media type, and the kind objects are turned into ("" for themselves)."""

    media_type: str = JSON
    kind: str = ""
    version: str = "v1"


def accepted(header: str, *, tables: bool = True) -> Accepted:
    """The first form in an Accept header that this server has; of some things there are no tables."""
    if not header or header == JSON:
        return Accepted()
    wanted = [_media_range(part) for part in header.split(",")]
    for media_type, given in sorted(wanted, key=lambda each: -_quality(each[1])):
        if media_type not in _KNOWN:
            continue
        kind = given.get("as", "")
        if kind and not (
            given.get("g") == _META_GROUP
            and given.get("v") in ("v1", "v1beta1")
            and kind
            in (*(("Table",) if tables else ()), "PartialObjectMetadata", "PartialObjectMetadataList")
        ):
            continue
        return Accepted(YAML if media_type == YAML else JSON, kind, given.get("v", "v1"))
    raise not_acceptable("application/json, application/yaml")


def _media_range(text: str) -> tuple[str, dict[str, str]]:
    """A part of an Accept header: the media type, and what stands behind it."""
    media_type, *parameters = (piece.strip() for piece in text.split(";"))
    return media_type.lower(), dict(piece.partition("=")[::2] for piece in parameters)


def _quality(parameters: dict[str, str]) -> float:
    """How much a form is wanted; by default, entirely."""
    text = parameters.get("q", "")
    return float(text) if _QUALITY.fullmatch(text) else 1.0


class Renderer:
    """Renders the objects of one definition in the form one client wants."""

    def __init__(
        self,
        definition: Definition,
        accept: Accepted,
        columns: Columns,
        *,
        include_object: str,
        clock: Callable[[], float],
    ) -> None:
        self._definition = definition
        self._accept = accept
        self._columns = columns
        self._include = how_much(include_object)
        self._clock = clock
        self._meta_version = f"{_META_GROUP}/{accept.version}"
        self._has_columns = False  # whether the client of a watch knows the columns

    @property
    def content_type(self) -> str:
        return self._accept.media_type

    def prepare(self, items: Sequence[Stored]) -> None:
        """Has somebody asked about all of them at once, where somebody has to be: raises Unanswered then."""
        strategy = self._definition.strategy
        if isinstance(strategy, CustomStrategy) and strategy.is_converted:
            strategy.in_this_version([stored.document for stored in items])

    def object(self, stored: Stored) -> bytes:
        """One object."""
        return self._in_media_type(self._one(stored))

    def once(self, made: Stored) -> bytes:
        """An object of any kind that is not stored."""
        return self._in_media_type(encode(self._partial(made) if self._accept.kind else made.document))

    def page(self, page: Page) -> bytes:
        """A list."""
        kind = self._accept.kind
        self.prepare(page.items)
        if kind == "Table":
            body = encode(self._table(page.items, page.metadata()))
        elif kind:
            head = {"kind": "PartialObjectMetadataList", "apiVersion": self._meta_version}
            items = [self._partial(stored) for stored in page.items]
            body = encode({**head, "metadata": page.metadata(), "items": items})
        else:
            body = self._list(page)
        return self._in_media_type(body)

    def event(self, type: str, stored: Stored) -> bytes:
        """One event of a watch, with its line end."""
        body = self._one(stored, with_columns=not self._has_columns)
        self._has_columns = True
        return b"".join((b'{"type":"', type.encode(), b'","object":', body, b"}\n"))

    def bookmark(self, metadata: Document) -> bytes:
        """An event about an object that has nothing but metadata."""
        document = {**_type_of(self._definition), "metadata": metadata}
        return self.event("BOOKMARK", Stored("", "", document, 0))

    def error(self, refusal: Refusal) -> bytes:
        return encode({"type": "ERROR", "object": refusal.document()}) + b"\n"

    def _one(self, stored: Stored, *, with_columns: bool = True) -> bytes:
        kind = self._accept.kind
        if not kind:
            return self._whole(stored)
        if kind != "Table":
            return encode(self._partial(stored))
        version = stored.document["metadata"].get("resourceVersion", "")
        return encode(self._table([stored], {"resourceVersion": version}, with_columns))

    def _whole(self, stored: Stored) -> bytes:
        if is_stored_form(self._definition, stored.document):
            return stored.body
        return encode(from_stored(self._definition, stored.document))

    def _list(self, page: Page) -> bytes:
        """Put together from the texts of its objects. Those of built-in kinds do not say what they are."""
        kind, version = self._definition.list_kind, self._definition.api_version
        head = encode({"kind": kind, "apiVersion": version, "metadata": page.metadata()})
        items = list(map(self._whole, page.items))
        if not self._definition.custom:
            head_of_item = encode(_type_of(self._definition))[:-1] + b","
            items = [_without_type(each, head_of_item) for each in items]
        return b"".join((head[:-1], b',"items":[', b",".join(items), b"]}"))

    def _partial(self, stored: Stored) -> Document:
        return {
            "kind": "PartialObjectMetadata",
            "apiVersion": self._meta_version,
            "metadata": stored.document["metadata"],
        }

    def _table(self, items: Sequence[Stored], metadata: Document, with_columns: bool = True) -> Document:
        items = self._columns.in_order(items)
        if self._definition.custom:
            items = [self._shown(stored) for stored in items]
        found = table(
            self._columns,
            items,
            now=self._clock(),
            include_object=self._include,
            list_metadata=metadata,
            with_columns=with_columns,
        )
        if self._include == "Object":
            for row, stored in zip(found["rows"], items, strict=True):
                row["object"] = from_stored(self._definition, stored.document)
        return found | {"apiVersion": self._meta_version}

    def _shown(self, stored: Stored) -> Stored:
        """An object as its columns see it."""
        if is_stored_form(self._definition, stored.document):
            return stored
        document = from_stored(self._definition, stored.document)
        return Stored(stored.namespace, stored.name, document, stored.revision)

    def _in_media_type(self, body: bytes) -> bytes:
        if self._accept.media_type == JSON:
            return body
        value = msgspec.json.decode(body)
        text: str = yaml.dump(value, Dumper=yaml.CSafeDumper, sort_keys=True, allow_unicode=True)
        return text.encode(errors="replace")


def _type_of(definition: Definition) -> Document:
    return {"apiVersion": definition.api_version, "kind": definition.kind}


def _without_type(body: bytes, head: bytes) -> bytes:
    """The text of an object without what it is, with which almost all begin."""
    if body.startswith(head):
        return b"{" + body[len(head) :]
    document = msgspec.json.decode(body)
    return encode({name: value for name, value in document.items() if name not in ("apiVersion", "kind")})


def warning_headers(warnings: Sequence[str]) -> list[tuple[str, str]]:
    return [("Warning", f'299 - "{_header_text(text)}"') for text in dict.fromkeys(warnings)]


def _header_text(text: str) -> str:
    """A text that can stand in quotes in a header."""
    clean = "".join(letter if letter.isprintable() else " " for letter in text[:1000])
    clean = clean.replace("\\", "\\\\").replace('"', '\\"')
    return clean.encode("ascii", "replace").decode()
