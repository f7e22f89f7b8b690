"""Watches on sockets of their own, read so that the order between them can be told."""

import json
import select
import socket
import ssl
import time
from base64 import b64decode
from collections.abc import Sequence
from dataclasses import dataclass, field
from http.client import HTTPSConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml

SECONDS = 30.0
_PORTION = 2**16


class Server:
    """Where the API server of a kubeconfig is, and how it is talked to."""

    def __init__(self, kubeconfig: Path) -> None:
        content = yaml.safe_load(kubeconfig.read_text())
        cluster = content["clusters"][0]["cluster"]
        place = urlsplit(cluster["server"])
        assert place.hostname
        assert place.port
        self.address = (place.hostname, place.port)
        self.tls = ssl.create_default_context(
            cadata=b64decode(cluster["certificate-authority-data"]).decode()
        )
        self.headers = {"Authorization": f"Bearer {content['users'][0]['user']['token']}"}


class Writer:
    """Writes objects, one after the other; each call returns the revision."""

    def __init__(self, server: Server) -> None:
        self._headers = server.headers
        self._connection = HTTPSConnection(*server.address, context=server.tls, timeout=SECONDS)

    def close(self) -> None:
        self._connection.close()

    def create(self, path: str, document: dict[str, Any]) -> int:
        return self._ask("POST", path, document, "application/json")

    def patch(self, path: str, document: dict[str, Any]) -> int:
        return self._ask("PATCH", path, document, "application/merge-patch+json")

    def _ask(self, method: str, path: str, document: dict[str, Any], content_type: str) -> int:
        headers = {**self._headers, "Content-Type": content_type}
        self._connection.request(method, path, json.dumps(document), headers)
        answer = self._connection.getresponse()
        body = answer.read()
        assert answer.status < 300, body
        return int(json.loads(body)["metadata"]["resourceVersion"])


class SocketWatch:
    """One watch; `revisions` are those that have arrived."""

    def __init__(self, server: Server, path: str, *, accept: str = "application/json", room: int = 0) -> None:
        self.path = path
        self.revisions: list[int] = []
        self._text = b""
        plain = socket.socket()
        if room:
            plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, room)
        plain.settimeout(SECONDS)
        plain.connect(server.address)
        self.socket = server.tls.wrap_socket(plain, server_hostname=server.address[0])
        headers = {**server.headers, "Host": "x", "Accept": accept}
        lines = [f"GET {path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items()), "", ""]
        self.socket.sendall("\r\n".join(lines).encode())
        self._head = b""
        while b"\r\n\r\n" not in self._head:
            self._head += self.socket.recv(1)
        assert self._head.startswith(b"HTTP/1.1 200"), self._head
        self.socket.setblocking(False)
        self._framed = b""

    def fileno(self) -> int:
        return self.socket.fileno()

    def close(self) -> None:
        self.socket.close()

    def read(self) -> bool:
        """Takes what has arrived, at most one portion; False if there is nothing."""
        try:
            data = self.socket.recv(_PORTION)
        except (ssl.SSLWantReadError, BlockingIOError):
            return False
        assert data, f"the watch of {self.path} has ended"
        self._framed += data
        while self._unframe():
            pass
        *lines, self._text = self._text.split(b"\n")
        for line in lines:
            self.revisions.append(int(json.loads(line)["object"]["metadata"]["resourceVersion"]))
        return True

    @property
    def last(self) -> int:
        return self.revisions[-1] if self.revisions else 0

    def _unframe(self) -> bool:
        size, found, rest = self._framed.partition(b"\r\n")
        length = int(size, 16) if found else 0
        if not found or len(rest) < length + 2:
            return False
        self._text += rest[:length]
        self._framed = rest[length + 2 :]
        return True


@dataclass
class Sight:
    """What had arrived at all watches when one of them was seen to tell of a revision."""

    by: SocketWatch
    revision: int
    others: dict[SocketWatch, int]


@dataclass
class Observer:
    """Reads watches as they have something to tell, and notes what the others had told by then."""

    watches: list[SocketWatch]
    sights: list[Sight] = field(default_factory=list)

    def until(self, expected: dict[SocketWatch, int]) -> None:
        """Reads until each watch has told of a revision."""
        deadline = time.monotonic() + SECONDS
        while any(watch.last < revision for watch, revision in expected.items()):
            assert time.monotonic() < deadline, "not all watches have told what they should"
            self.look()

    def look(self) -> None:
        """Reads from the first watch that has something to tell, if that comes soon."""
        ready, _, _ = select.select(self.watches, (), (), 0.05)
        for watch in ready[:1]:
            self._look(watch)

    def add(self, late: dict[SocketWatch, int]) -> None:
        """Goes on with further watches once each has told of a revision that was there before it."""
        deadline = time.monotonic() + SECONDS
        for watch, revision in late.items():
            while watch.last < revision:
                assert time.monotonic() < deadline, f"{watch.path} has not caught up"
                select.select((watch,), (), (), 0.05)
                watch.read()
        self.watches += late

    def _look(self, watch: SocketWatch) -> None:
        before = watch.last
        if not watch.read() or watch.last == before:
            return
        revision = watch.last
        others = [each for each in self.watches if each is not watch]
        for each in others:
            while each.read():
                pass
        self.sights.append(Sight(watch, revision, {each: each.last for each in others}))

    def disorder(self) -> list[str]:
        """Where a watch told of something after another had already told of something later."""
        return [
            f"{sight.by.path} told of {sight.revision} before {watch.path} told of {late}"
            for sight in self.sights
            for watch, last in sight.others.items()
            if (late := _next(watch.revisions, last)) is not None and late < sight.revision
        ]


def _next(revisions: Sequence[int], last: int) -> int | None:
    return next((each for each in revisions if each > last), None)
