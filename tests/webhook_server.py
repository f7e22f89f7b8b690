"""A webhook on loopback, over TLS, in threads of this process: it answers well, or in any wrong way."""

from __future__ import annotations

import base64
import contextlib
import json
import ssl
import tempfile
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

from moorage.client.self_signed import self_signed

Review = dict[str, Any]


class Sent(NamedTuple):
    """What the webhook sends back."""

    body: bytes
    code: int = 200
    headers: tuple[tuple[str, str], ...] = (("Content-Type", "application/json"),)


Behaviour = Callable[[Review], "Sent | Review | None"]
"""Answers a review with another, or with anything; None closes the connection without a word."""


def response(review: Review, **fields: Any) -> Review:
    """The answer to an AdmissionReview."""
    answer = {"uid": review["request"]["uid"], "allowed": True, **fields}
    return {"kind": review["kind"], "apiVersion": review["apiVersion"], "response": answer}


def patching(*operations: dict[str, Any]) -> Behaviour:
    patch = base64.b64encode(json.dumps(operations).encode()).decode()
    return lambda review: response(review, patch=patch, patchType="JSONPatch")


def denying(**status: Any) -> Behaviour:
    return lambda review: response(review, allowed=False, status=status)


class WebhookServer:
    """Serves behaviours by their paths, from `with` on. `seen` has the reviews that came, by path."""

    def __init__(self, **behaviours: Behaviour) -> None:
        self.behaviours: dict[str, Behaviour] = dict(behaviours)
        self.seen: dict[str, list[Review]] = {}
        self.release = threading.Event()
        """Set at the end: whoever hangs waits for it."""
        pem = self_signed(("localhost", "127.0.0.1", "hook.default.svc"))
        text = pem.decode()
        self.ca_bundle = base64.b64encode(text[text.index("-----BEGIN CERTIFICATE-----") :].encode()).decode()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "both.pem")
            file.write_bytes(pem)
            context.load_cert_chain(file)
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self._server.socket = context.wrap_socket(
            self._server.socket, server_side=True, do_handshake_on_connect=False
        )
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    def url(self, path: str) -> str:
        return f"https://127.0.0.1:{self.port}/{path}"

    def client(self, path: str) -> dict[str, str]:
        """A clientConfig."""
        return {"url": self.url(path), "caBundle": self.ca_bundle}

    def hang(self, review: Review) -> None:
        """Never answers."""
        self.release.wait(60)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(5)

    def _handler(outer) -> type[BaseHTTPRequestHandler]:  # noqa: N805
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
                path = self.path.partition("?")[0].strip("/")
                review = json.loads(body)
                outer.seen.setdefault(path, []).append(review)
                sent = outer.behaviours[path](review)
                if sent is None:
                    self.close_connection = True
                    return
                if not isinstance(sent, Sent):
                    sent = Sent(json.dumps(sent).encode())
                self.send_response(sent.code)
                for name, value in sent.headers:
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(sent.body)))
                self.end_headers()
                self.wfile.write(sent.body)

            def do_GET(self) -> None:
                self.send_error(404)

            def log_message(self, format: str, *arguments: Any) -> None:
                pass

            def handle(self) -> None:
                with contextlib.suppress(OSError, ValueError):  # the other side has gone, or trusts nobody
                    super().handle()

        return Handler
