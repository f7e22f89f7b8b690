"""Lists of objects: selected, in pages, in one text."""

from __future__ import annotations

import base64
import binascii
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import msgspec

from moorage.api.selectors import Selector
from moorage.cluster.definitions import Definition
from moorage.cluster.errors import (
    Cause,
    Refusal,
    bad_request,
    expired,
    forbidden_value,
    invalid,
    unsupported_value,
)
from moorage.cluster.requests import Query
from moorage.cluster.selecting import FieldSelector, check_fields, field_selector, label_selector
from moorage.cluster.store import Document, Store, Stored

_MATCHES = ("Exact", "NotOlderThan", "")
_KEPT_LISTS = 32  # lists whose later pages can still be asked for

EXPIRED = (
    "The provided continue parameter is too old to display a consistent list result."
    " You can start a new list without the continue parameter."
)


class Selection:
    """Which objects of a resource are meant: by namespace, labels and fields."""

    def __init__(self, definition: Definition, namespace: str, query: Query) -> None:
        self.namespace = namespace
        self._strategy = definition.strategy
        self._labels: Selector = label_selector(query.text("labelSelector"))
        self._fields: FieldSelector = field_selector(query.text("fieldSelector"))
        check_fields(self._fields, definition)
        self._own_fields = bool(self._fields.names() - {"metadata.name", "metadata.namespace"})
        self.name = self._fields.requires("metadata.name") or ""
        self.narrow = not self._labels.empty or bool(self._fields.names())

    def matches(self, stored: Stored) -> bool:
        if self.namespace and stored.namespace != self.namespace:
            return False
        if not self.narrow:
            return True
        document = stored.document
        if not self._labels.empty and not self._labels.matches(document["metadata"].get("labels") or {}):
            return False
        if not self._fields.names():
            return True
        fields = {"metadata.name": stored.name, "metadata.namespace": stored.namespace}
        if self._own_fields:
            fields.update(self._strategy.selectable_fields(document))
        return self._fields.matches(fields)

    def of(self, store: Store, resource: str) -> list[Stored]:
        """The objects that match now, in order."""
        if self.name and self.namespace:
            found = store.get(resource, self.namespace, self.name)
            return [found] if found is not None and self.matches(found) else []
        found_all = store.objects(resource, self.namespace)
        return [found for found in found_all if self.matches(found)] if self.narrow else found_all


@dataclass(frozen=True)
class Page:
    items: Sequence[Stored]
    revision: int
    continue_token: str = ""
    remaining: int | None = None

    def metadata(self) -> Document:
        metadata: Document = {"resourceVersion": str(self.revision)}
        if self.continue_token:
            metadata["continue"] = self.continue_token
        if self.remaining is not None:
            metadata["remainingItemCount"] = self.remaining
        return metadata


class _Token(msgspec.Struct):
    list: int
    start: int


class Lists:
    """Gives lists page by page. All pages of a list show the state at its first page."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._kept: OrderedDict[int, tuple[list[Stored], int, bool]] = OrderedDict()
        self._next = 1

    def page(self, definition: Definition, selection: Selection, query: Query) -> Page:
        limit = max(query.number("limit") or 0, 0)
        _check_options(query)
        token = query.text("continue")
        if token:
            return self._later_page(token, limit, query)
        self._check_version(query)
        items = selection.of(self._store, definition.storage)
        revision = self._store.revision
        if not limit or len(items) <= limit:
            return Page(items, revision)
        number = self._next
        self._next += 1
        self._kept[number] = items, revision, selection.narrow
        if len(self._kept) > _KEPT_LISTS:
            self._kept.popitem(last=False)
        return self._cut(number, 0, limit)

    def _later_page(self, token: str, limit: int, query: Query) -> Page:
        if query.text("resourceVersion") not in ("", "0"):
            raise bad_request("specifying resource version is not allowed when using continue")
        try:
            found = msgspec.json.decode(base64.urlsafe_b64decode(token + "=="), type=_Token)
        except (msgspec.MsgspecError, binascii.Error, ValueError):
            raise bad_request(
                "invalid continue token: continue key is not valid: it was not made by this server"
            ) from None
        if found.list not in self._kept or found.start < 0:
            raise expired(EXPIRED)
        return self._cut(found.list, found.start, limit)

    def _cut(self, number: int, start: int, limit: int) -> Page:
        items, revision, narrow = self._kept[number]
        end = start + limit if limit else len(items)
        if end >= len(items):
            return Page(items[start:], revision)
        token = base64.urlsafe_b64encode(msgspec.json.encode(_Token(number, end))).rstrip(b"=").decode()
        return Page(items[start:end], revision, token, None if narrow else len(items) - end)

    def _check_version(self, query: Query) -> None:
        match, text = query.text("resourceVersionMatch"), query.text("resourceVersion")
        version = read_version(text)
        if version > self._store.revision:
            raise too_new(version, self._store.revision)
        if match == "Exact" and version != self._store.revision:
            raise expired(f"The resourceVersion for the provided list is too old: {version}")


def read_version(text: str) -> int:
    """A resourceVersion in the parameters; 0 for any."""
    if not text:
        return 0
    if not text.isascii() or not text.isdigit() or len(text) > 19:
        problem = f'strconv.ParseUint: parsing "{text[:100]}": invalid syntax'
        raise bad_request(
            f'invalid resource version: resourceVersion: Invalid value: "{text[:100]}": {problem}'
        )
    return int(text)


def too_new(asked: int, current: int) -> Refusal:
    cause = {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
    return Refusal(
        504,
        "Timeout",
        f"Timeout: Too large resource version: {asked}, current: {current}",
        details={"causes": [cause], "retryAfterSeconds": 1},
    )


def _check_options(query: Query) -> None:
    """Refuses parameters that do not go together in a list."""
    match, version = query.text("resourceVersionMatch"), query.text("resourceVersion")
    causes: list[Cause] = []
    if match:
        field = "resourceVersionMatch"
        if not version:
            causes.append(forbidden_value(field, f"{field} is forbidden unless resourceVersion is provided"))
        if query.text("continue"):
            causes.append(forbidden_value(field, f"{field} is forbidden when continue is provided"))
        if match not in _MATCHES:
            causes.append(unsupported_value(field, match, _MATCHES))
        if match == "Exact" and version == "0":
            causes.append(forbidden_value(field, f'{field} "exact" is forbidden for resourceVersion "0"'))
    if "sendInitialEvents" in query.given:
        causes.append(forbidden_value("sendInitialEvents", "sendInitialEvents is forbidden for list"))
    if causes:
        raise invalid("ListOptions", "meta.k8s.io", "", causes)


def list_body(
    definition: Definition,
    page: Page,
    body_of: Callable[[Stored], bytes],
    encode: Callable[[Document], bytes],
) -> bytes:
    """A list as text, put together from the texts of its objects."""
    head = encode(
        {"kind": definition.list_kind, "apiVersion": definition.api_version, "metadata": page.metadata()}
    )
    return b"".join((head[:-1], b',"items":[', b",".join(map(body_of, page.items)), b"]}"))
