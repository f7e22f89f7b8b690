"""An HTTP extender on loopback, in a thread of its own, that answers what a test tells it to."""

from __future__ import annotations

import contextlib
import json
import socket
import ssl
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple, Self

Document = dict[str, Any]
HOST = "127.0.0.1"


class Raw(NamedTuple):
    """An answer that is no document."""

    body: bytes
    status: int = 200
    announced: int | None = None
    """How long it is said to be, if it is not true."""


class Request(NamedTuple):
    verb: str
    body: Document
    content_type: str
    connection: int


class ExtenderServer:
    """Serves for the length of a `with` block; `answers` has, for each path, a function or what to answer."""

    def __init__(self, answers: Document | None = None, tls: ssl.SSLContext | None = None) -> None:
        self.answers: Document = answers or {}
        self.requests: list[Request] = []
        self._tls = tls
        self._port = 0
        self._server: _Server | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    @property
    def url(self) -> str:
        return f"{'https' if self._tls else 'http'}://{HOST}:{self._port}"

    def asked(self, verb: str) -> list[Document]:
        """The bodies of the requests for a verb."""
        return [request.body for request in self.requests if request.verb == verb]

    def start(self) -> None:
        """Begins to serve; where it has served before, on the same port."""
        self._server = _Server((HOST, self._port), self, self._tls)
        self._port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def stop(self) -> None:
        """Ends it as if it were killed: nobody is answered any more, and connections are gone."""
        server, self._server = self._server, None
        if server is not None:
            server.shutdown()
            server.server_close()
            server.cut_off()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 64

    def __init__(self, address: tuple[str, int], owner: ExtenderServer, tls: ssl.SSLContext | None) -> None:
        self.owner = owner
        self._tls = tls
        self._connections: list[socket.socket] = []
        super().__init__(address, _Handler)

    def get_request(self) -> tuple[Any, Any]:
        connection, address = super().get_request()
        self._connections.append(connection)
        return connection, address

    def finish_request(self, request: Any, client_address: Any) -> None:
        if self._tls is not None:
            request.settimeout(10)
            try:
                request = self._tls.wrap_socket(request, server_side=True)
            except OSError:
                return  # the client did not like the certificate, or had none
            self._connections.append(request)
        super().finish_request(request, client_address)

    def cut_off(self) -> None:
        for connection in self._connections:
            with contextlib.suppress(OSError):  # it may be gone already
                connection.shutdown(socket.SHUT_RDWR)
            connection.close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        owner, verb = self.server.owner, self.path.lstrip("/")
        owner.requests.append(Request(verb, body, self.headers["Content-Type"], self.client_address[1]))
        answer = owner.answers.get(verb, Raw(b"", 404))
        if isinstance(answer, Callable):  # type: ignore[arg-type]
            answer = answer(body)
        raw = answer if isinstance(answer, Raw) else Raw(json.dumps(answer).encode())
        try:
            self.send_response(raw.status)
            self.send_header("Content-Length", str(len(raw.body) if raw.announced is None else raw.announced))
            self.end_headers()
            self.wfile.write(raw.body)
        except OSError:
            self.close_connection = True

    def handle(self) -> None:
        with contextlib.suppress(OSError):  # the client went away
            super().handle()

    def log_message(self, format: str, *args: object) -> None:
        pass


def server_tls(certificate: bytes, key: bytes, folder: Any, client_authority: bytes = b"") -> ssl.SSLContext:
    """What a server with this certificate needs; `client_authority` has clients show one, too."""
    file = folder / "server.pem"
    file.write_bytes(certificate + key)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    if client_authority:
        context.load_verify_locations(cadata=client_authority.decode())
        context.verify_mode = ssl.CERT_REQUIRED
    return context
