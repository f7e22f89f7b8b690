"""The client for an informer of objects that have a label."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from typing import TypeVar

from moorage.api.meta import Object
from moorage.client.http import WATCH_SECONDS, HttpClient, Listing
from moorage.client.resources import Resource
from moorage.client.watching import Change

T = TypeVar("T", bound=Object)


class Labelled:
    """Reads what has the label, whatever its value."""

    def __init__(self, client: HttpClient, label: str) -> None:
        self._client = client
        self._label = label

    async def list(
        self,
        resource: Resource[T],
        *,
        field_selector: str = "",
        known: Callable[[T], T] = lambda item: item,
    ) -> Listing[T]:
        return await self._client.list(
            resource, label_selector=self._label, field_selector=field_selector, known=known
        )

    def watch(
        self,
        resource: Resource[T],
        *,
        resource_version: str,
        field_selector: str = "",
        timeout_seconds: int = WATCH_SECONDS,
        heard: Callable[[], object] = lambda: None,
    ) -> AsyncGenerator[Change[T], None]:
        return self._client.watch(
            resource,
            resource_version=resource_version,
            label_selector=self._label,
            field_selector=field_selector,
            timeout_seconds=timeout_seconds,
            heard=heard,
        )
