"""Answers that say why there is no other, as Kubernetes has them."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

import msgspec
from aiohttp import web


def status_response(code: int, reason: str, message: str) -> web.Response:
    """A document of the kind Status."""
    status: dict[str, Any] = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": message,
        "reason": reason,
        **({"details": {}} if code == HTTPStatus.FORBIDDEN else {}),
        "code": code,
    }
    try:
        body = msgspec.json.encode(status)
    except UnicodeEncodeError:
        # A path or a header may hold bytes that are no text.
        status["message"] = message.encode(errors="replace").decode()
        body = msgspec.json.encode(status)
    body = msgspec.json.format(body, indent=2)
    headers = {"Retry-After": "5"} if code == HTTPStatus.TOO_MANY_REQUESTS else {}
    return web.Response(status=code, body=body, content_type="application/json", headers=headers)
