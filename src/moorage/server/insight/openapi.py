"""The OpenAPI document of the API."""

from __future__ import annotations

from typing import Any


def openapi() -> dict[str, Any]:
    return {"openapi": "3.1.0"}
