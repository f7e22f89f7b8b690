"""A client that cannot write."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

from moorage.client.connection import ConnectionConfig
from moorage.client.errors import Withheld
from moorage.client.http import HttpClient
from moorage.client.observer import ClientObserver


class ReadOnlyClient(HttpClient):
    """Reads the objects of a cluster. Every request but a GET raises Withheld, and nothing is sent.

    What it uses beneath refuses them as well: no way leads around it.
    """

    def __init__(
        self, config: ConnectionConfig, *, user_agent: str = "moorage", observer: ClientObserver | None = None
    ) -> None:
        """It has no limit of requests: there is one list for each resource, and then watches."""
        super().__init__(config, qps=-1, user_agent=user_agent, observer=observer, may_write=lambda: False)

    def send(self, method: str, path: str, *more: Any, **options: Any) -> Coroutine[Any, Any, bytes]:
        if method != "GET":
            raise Withheld(0, "", f"{method} {path}: this client only reads")
        return super().send(method, path, *more, **options)
