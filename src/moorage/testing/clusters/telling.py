"""What is said about an object that was waited for in vain."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from moorage.api.coordination import Event
from moorage.client.errors import NotFound
from moorage.client.resources import Resource
from moorage.testing.clusters.addresses import Address
from moorage.testing.clusters.parts import Parts, Stuck

_MOST_EVENTS = 10
_MOST_CHARACTERS = 500


class NotInTime(AssertionError):
    """Something that was waited for did not happen; the text says what is known of it."""


def what_is_known(parts: Parts, address: Address, failure: str, seconds: float) -> str:
    """The failure with the conditions and events of the object, and where the scheduler hangs, if it does."""
    lines = [f"{address} {failure} after {seconds:g} s"]
    if where := parts.stuck():
        return "\n".join([*lines, where])
    if idle := parts.idle_because:
        lines.append(idle)
    try:
        lines += parts.ask(_said_by_server(parts, address))
    except Stuck as error:
        lines.append(str(error))
    return "\n".join(lines)


async def _said_by_server(parts: Parts, address: Address) -> list[str]:
    path = address.resource.path(address.namespace, address.name)
    try:
        document = await parts.client.request_json("GET", path)
    except NotFound:
        return ["it does not exist", *await _events(parts, address)]
    held = [f"it waits at Permit for {plugin}" for plugin in parts.holding(document["metadata"]["uid"])]
    return [*held, *_state(document), *await _events(parts, address)]


def _state(document: dict[str, Any]) -> Iterator[str]:
    if document["metadata"].get("deletionTimestamp"):
        finalizers = ", ".join(document["metadata"].get("finalizers") or ())
        yield "it is being deleted" + (f"; its finalizers are {finalizers}" if finalizers else "")
    status = document.get("status") or {}
    conditions = status.get("conditions") or []
    for each in conditions:
        reason = f" ({each['reason']})" if each.get("reason") else ""
        message = f": {each['message']}" if each.get("message") else ""
        yield f"condition {each.get('type')}={each.get('status')}{reason}{message}"
    if not conditions:
        text = msgspec.json.encode(status).decode()
        yield f"its status is {text[:_MOST_CHARACTERS]}; it has no conditions"


async def _events(parts: Parts, address: Address) -> list[str]:
    listing = await parts.client.list(Resource.of(Event), namespace=address.namespace)
    about = [
        event
        for event in listing.items
        if (event.regarding.kind, event.regarding.name) == (address.resource.kind, address.name)
    ]
    return [f"event {event.reason}: {event.note}" for event in about[-_MOST_EVENTS:]]
