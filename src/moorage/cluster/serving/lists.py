"""Lists of objects: selected, in pages, in one text."""

from __future__ import annotations

import base64
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import msgspec

from moorage.api.selectors import Selector
from moorage.cluster.access.requests import Query
from moorage.cluster.base import errors
from moorage.cluster.base.store import Document, Forgotten, Store, Stored
from moorage.cluster.schema.definitions import Definition
from moorage.cluster.schema.selecting import FieldSelector, check_fields, field_selector, label_selector

_MATCHES = ("Exact", "NotOlderThan", "")
_TOKEN_VERSION = "meta.k8s.io/v1"
_LATEST = -1  # in a token: the rest is shown as it is when it is asked for

_LIST_EXPIRED = "The resourceVersion for the provided list is too old."
_TOKEN_EXPIRED = (
    "The provided continue parameter is too old to display a consistent list result."
    " You can start a new list without the continue parameter, or use the continue token in this response"
    " to retrieve the remainder of the results. Continuing with the provided token results in an"
    " inconsistent list - objects that were created, modified, or deleted between the time the first chunk"
    " was returned and now may show up in the list."
)


class Selection:
    """Which objects of a resource are meant: by namespace, labels and fields."""

    def __init__(self, definition: Definition, namespace: str, query: Query) -> None:
        self.resource = definition.storage
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
        if not self._labels.matches(stored.labels):
            return False
        if not self._fields.names():
            return True
        fields = {"metadata.name": stored.name, "metadata.namespace": stored.namespace}
        if self._own_fields:
            fields.update(self._strategy.selectable_fields(stored.document))
        return self._fields.matches(fields)

    def of(self, store: Store, revision: int | None = None) -> list[Stored]:
        """The objects that match now, or did at a revision, in order. Raises Forgotten for an old one."""
        if self.name and self.namespace and revision is None:
            found = store.get(self.resource, self.namespace, self.name)
            return [found] if found is not None and self.matches(found) else []
        found_all = store.objects(self.resource, self.namespace, revision)
        return [found for found in found_all if self.matches(found)] if self.narrow else found_all


@dataclass(frozen=True)
class Page:
    items: Sequence[Stored]
    revision: int
    continue_token: str = ""
    remaining: int | None = None

    def metadata(self) -> Document:
        rest = {"continue": self.continue_token, "remainingItemCount": self.remaining}
        known = {name: value for name, value in rest.items() if value}
        return {"resourceVersion": str(self.revision), **known}


class _Token(msgspec.Struct):
    """Where a list goes on: at which revision, and from which key."""

    v: str
    rv: int
    start: str

    def text(self) -> str:
        return base64.urlsafe_b64encode(msgspec.json.encode(self)).rstrip(b"=").decode()


def read_page(store: Store, selection: Selection, query: Query) -> Page:
    """A page of a list. All pages of a list show the state at its first page."""
    limit = max(query.number("limit") or 0, 0)
    _check_options(query)
    asked = read_version(query.text("resourceVersion"))
    if token := query.text("continue"):
        return _later_page(store, selection, _read_token(token, asked), limit)
    check_known(store, asked)
    match = query.text("resourceVersionMatch")
    revision = asked if match == "Exact" or (asked and limit and not match) else None
    try:
        items = selection.of(store, revision)
    except Forgotten:
        raise errors.expired(_LIST_EXPIRED) from None
    # Who takes any version gets all of it, as from a cache.
    if query.text("resourceVersion") == "0":
        limit = 0
    return _cut(selection, items, revision or store.revision, limit)


def _later_page(store: Store, selection: Selection, token: _Token, limit: int) -> Page:
    revision = store.revision if token.rv == _LATEST else token.rv
    check_known(store, revision)
    try:
        items = selection.of(store, revision)
    except Forgotten:
        going_on = _Token(_TOKEN_VERSION, _LATEST, token.start)
        raise errors.expired(_TOKEN_EXPIRED, continue_token=going_on.text()) from None
    first = bisect_left(items, token.start.removeprefix("/"), key=lambda each: _key(selection, each))
    return _cut(selection, items[first:], revision, limit)


def _cut(selection: Selection, items: list[Stored], revision: int, limit: int) -> Page:
    if not limit or len(items) <= limit:
        return Page(items, revision)
    token = _Token(_TOKEN_VERSION, revision, f"{_key(selection, items[limit - 1])}\0")
    remaining = None if selection.narrow else len(items) - limit
    return Page(items[:limit], revision, token.text(), remaining)


def _key(selection: Selection, stored: Stored) -> str:
    """What a list is ordered by."""
    whole = stored.namespace and not selection.namespace
    return f"{stored.namespace}/{stored.name}" if whole else stored.name


def _read_token(text: str, asked: int) -> _Token:
    if asked:
        raise errors.bad_request("specifying resource version is not allowed when using continue")
    try:
        token = msgspec.json.decode(base64.urlsafe_b64decode(text + "=="), type=_Token)
    except (msgspec.MsgspecError, ValueError):
        token = None
    if token and token.v == _TOKEN_VERSION and token.start and (token.rv > 0 or token.rv == _LATEST):
        return token
    raise errors.bad_request(
        "invalid continue token: continue key is not valid: it was not made by this server"
    )


def read_version(text: str) -> int:
    """A resourceVersion in the parameters; 0 for any."""
    if not text:
        return 0
    if not text.isascii() or not text.isdigit() or len(text) > 19:
        given = f'"{text[:100]}"'
        problem = f"Invalid value: {given}: strconv.ParseUint: parsing {given}: invalid syntax"
        raise errors.bad_request(f"invalid resource version: resourceVersion: {problem}")
    return int(text)


def check_known(store: Store, revision: int) -> None:
    """Refuses a revision that is yet to come."""
    if revision > store.revision:
        cause = {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
        message = f"Timeout: Too large resource version: {revision}, current: {store.revision}"
        raise errors.Refusal(504, "Timeout", message, details={"causes": [cause], "retryAfterSeconds": 1})


def _check_options(query: Query) -> None:
    """Refuses parameters that cannot be read or do not go together in a list."""
    query.number("timeoutSeconds")
    match, version = query.text("resourceVersionMatch"), query.text("resourceVersion")
    causes: list[errors.Cause] = []
    if match:
        field = "resourceVersionMatch"
        forbidden = partial(errors.forbidden_value, field)
        if not version:
            causes.append(forbidden(f"{field} is forbidden unless resourceVersion is provided"))
        if query.text("continue"):
            causes.append(forbidden(f"{field} is forbidden when continue is provided"))
        if match not in _MATCHES:
            causes.append(errors.unsupported_value(field, match, _MATCHES))
        if match == "Exact" and version == "0":
            causes.append(forbidden(f'{field} "exact" is forbidden for resourceVersion "0"'))
    if "sendInitialEvents" in query.given:
        causes.append(errors.forbidden_value("sendInitialEvents", "sendInitialEvents is forbidden for list"))
    if causes:
        raise errors.invalid("ListOptions", "meta.k8s.io", "", causes)
