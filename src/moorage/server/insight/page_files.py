"""The files of the page, which are the same for everybody."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import NamedTuple

from aiohttp import web

PREFIX = "/dashboard/"

_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".ico": "image/x-icon",
    ".json": "application/json",
    ".woff2": "font/woff2",
}

_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-cache",
}


class _File(NamedTuple):
    content: bytes
    type: str
    tag: str


class PageFiles:
    """The files that are there at the start, and no other: their paths are never looked up again."""

    def __init__(self) -> None:
        self._by_path: dict[str, _File] = {}
        folder = files("moorage.server").joinpath("page")
        if folder.is_dir():
            self._read(folder, PREFIX)
        if index := self._by_path.get(f"{PREFIX}index.html"):
            self._by_path[PREFIX] = index

    def _read(self, folder: Traversable, path: str) -> None:
        for each in folder.iterdir():
            _, dot, ending = each.name.rpartition(".")
            if each.is_dir():
                self._read(each, f"{path}{each.name}/")
            elif (type_ := _TYPES.get(dot + ending)) is not None:
                content = each.read_bytes()
                tag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
                self._by_path[path + each.name] = _File(content, type_, tag)

    def __contains__(self, path: str) -> bool:
        return path in self._by_path or path == PREFIX.rstrip("/")

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_path)

    async def answer(self, request: web.Request) -> web.Response:
        """A file; nothing but its tag if the caller has it already."""
        if request.method not in ("GET", "HEAD"):
            return web.Response(
                status=405, text="405: GET only\n", headers={**_HEADERS, "Allow": "GET, HEAD"}
            )
        found = self._by_path.get(request.path)
        if found is None:
            return web.Response(status=308, headers={**_HEADERS, "Location": PREFIX})
        headers = {**_HEADERS, "ETag": found.tag}
        if found.tag in request.headers.get("If-None-Match", ""):
            return web.Response(status=304, headers=headers)
        return web.Response(body=found.content, headers={**headers, "Content-Type": found.type})
