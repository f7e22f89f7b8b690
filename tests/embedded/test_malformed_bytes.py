"""Bytes on the wire that are no request, or hardly one: an answer below 500, or the end of the connection."""

from __future__ import annotations

import contextlib
import json
import socket
import ssl
from collections.abc import Iterator
from pathlib import Path
from random import Random
from urllib.parse import urlsplit

import pytest

from tests.embedded.clusters import Embedded

SECONDS = 20.0
LIMIT = 3 * 1024 * 1024
PATH = "/api/v1/namespaces/default/configmaps"
GARBLED = 150

GOOD = b'{"metadata":{"name":"x"},"data":{"a":"b"}}'


class Wire:
    """Connections to one server, without anything that would make requests good."""

    def __init__(self, cluster: Embedded) -> None:
        address = urlsplit(cluster.url)
        self._address = (address.hostname, address.port)
        self._tls = ssl.create_default_context()
        self._tls.check_hostname = False
        self._tls.verify_mode = ssl.CERT_NONE
        self.token = cluster.token.encode()

    def send(self, data: bytes, *, breaks_off: bool = False) -> tuple[int, bytes]:
        """The code and the body of the answer; 0 if the server ended the connection without one."""
        with (
            socket.create_connection(self._address, timeout=SECONDS) as plain,
            self._tls.wrap_socket(plain) as wire,
        ):
            with contextlib.suppress(ConnectionError, ssl.SSLError):  # refused before the end
                wire.sendall(data)
            if breaks_off:
                return 0, b""
            return self._answer(wire)

    @staticmethod
    def _answer(wire: ssl.SSLSocket) -> tuple[int, bytes]:
        found = b""
        with contextlib.suppress(ConnectionError, ssl.SSLError):
            while b"\r\n\r\n" not in found and (part := wire.recv(65536)):
                found += part
        head, _, body = found.partition(b"\r\n\r\n")
        if not head.startswith(b"HTTP/1."):
            return 0, found
        length = next(
            (int(line[15:]) for line in head.splitlines() if line.lower().startswith(b"content-length:")), 0
        )
        with contextlib.suppress(ConnectionError, ssl.SSLError):
            while len(body) < length and (part := wire.recv(65536)):
                body += part
        return int(head.split()[1]), body

    def request(self, body: bytes, *headers: str, method: str = "POST", path: str = PATH) -> bytes:
        lines = [f"{method} {path} HTTP/1.1", "Host: x", "Connection: close", *headers]
        if not any(line.lower().startswith(("content-length", "transfer-encoding")) for line in headers):
            lines.append(f"Content-Length: {len(body)}")
        head = "\r\n".join(lines).encode("utf-8", "surrogateescape")
        return head + b"\r\nAuthorization: Bearer " + self.token + b"\r\n\r\n" + body


@pytest.fixture(scope="module")
def cluster() -> Iterator[Embedded]:
    with Embedded("--no-scheduler", "--nodes=0") as running:
        yield running
        assert "Traceback" not in running.program.log_text()


@pytest.fixture(scope="module")
def wire(cluster: Embedded) -> Wire:
    return Wire(cluster)


def code_of(answer: tuple[int, bytes]) -> int:
    """That of an answer in the API's own form."""
    code, body = answer
    status = json.loads(body)
    assert (status["kind"], status["code"]) == ("Status", code)
    return code


@pytest.mark.parametrize(
    ("headers", "body", "code"),
    [
        (("Content-Type: application/json",), b" " * (LIMIT + 1), 413),
        (("Content-Type: application/json", "Content-Length: 99999999999"), b"", 413),
        (
            ("Content-Type: application/json", "Transfer-Encoding: chunked"),
            b"400000\r\n" + b" " * 0x400000 + b"\r\n0\r\n\r\n",
            413,
        ),
        (("Content-Type: application/json",), b"", 400),
        (("Content-Type: application/json",), b"\x00\xff\xfe" * 50, 400),
        (("Content-Type: application/json",), b'{"metadata":{"name":"\xc3\x28"}}', 400),
        (("Content-Type: application/json",), b'{"metadata":{"name":"a\\u0000b"}}', 422),
        (("Content-Type: application/json",), b"[" * 100_000 + b"]" * 100_000, 400),
        (("Content-Type: application/json",), b'{"data":' * 100_000, 400),
        (("Content-Type: application/yaml",), b"a: &a [x,x]\nb: &b [*a,*a]\nc: [*b,*b]\n", 400),
        (("Content-Type: application/yaml",), b"- " * 100_000, 400),
        (("Content-Type: application/yaml",), b"{" * 50_000, 400),
        (("Content-Type: application/yaml",), b"\xff\xfe\x00", 400),
        (("Content-Type: application/yaml",), b"a: !!python/object/apply:os.abort []", 400),
        (("Content-Type: application/vnd.kubernetes.protobuf",), b"k8s\x00\xff\xff\xff\xff\xff", 400),
        (("Content-Type: text/plain",), GOOD, 415),
        (("Content-Type: application/x-www-form-urlencoded",), b"a=b", 415),
        (("Content-Type: application/json", "Accept: image/png"), GOOD, 406),
    ],
)  # fmt: skip
def test_bodies_and_types_that_are_refused(
    wire: Wire, headers: tuple[str, ...], body: bytes, code: int
) -> None:
    assert code_of(wire.send(wire.request(body, *headers))) == code


def test_requests_that_are_none(wire: Wire) -> None:
    for number, data in enumerate(_hopeless(wire)):
        code, body = wire.send(data)
        assert code < 500, f"{number}: {data[:80]!r}: {code} {body!r}"
        assert code == 0 or code >= 400, f"{number}: {data[:80]!r}: {code} {body!r}"


def _hopeless(wire: Wire) -> Iterator[bytes]:
    get = wire.request(b"", method="GET")
    yield b"\x00" * 1000 + b"\r\n\r\n"
    yield b"GET\r\n\r\n"
    yield b"GET / HTTP/9.9\r\n\r\n"
    yield b"GET " + PATH.encode() + b" SPDY/1\r\n\r\n"
    yield get.replace(b"GET", b"G\x00T")
    yield get.replace(b"Host: x", b"Host: x\r\n: nameless")
    yield get.replace(b"Host: x", b"A" * 100_000 + b": x")
    yield get.replace(b"Host: x", b"A: " + b"x" * 100_000)
    yield get.replace(PATH.encode(), b"/" + b"a" * 100_000)
    yield wire.request(GOOD, "Content-Length: -5")
    yield wire.request(GOOD, "Content-Length: five")
    yield wire.request(GOOD, "Content-Length: 5", "Content-Length: 6")
    yield wire.request(GOOD, "Content-Length: 5", "Transfer-Encoding: chunked")
    yield wire.request(b"zz\r\nxx\r\n0\r\n\r\n", "Transfer-Encoding: chunked")
    yield wire.request(b"-5\r\nxx\r\n0\r\n\r\n", "Transfer-Encoding: chunked")
    yield wire.request(b"\x1f\x8b" + b"\x00" * 20, "Content-Encoding: gzip")
    yield wire.request(b"x" * 20, "Content-Encoding: deflate")


def test_a_client_that_breaks_off_harms_nobody(wire: Wire) -> None:
    for body in (b"", GOOD[:5], b"x" * 100_000):
        wire.send(wire.request(body, "Content-Length: 2000000"), breaks_off=True)
    wire.send(wire.request(b"5\r\nab", "Transfer-Encoding: chunked"), breaks_off=True)
    wire.send(wire.request(b"", method="GET", path=f"{PATH}?watch=1"), breaks_off=True)
    wire.send(b"\r\n\r\n\r\n\r\n", breaks_off=True)
    _check_works(wire)


def test_garbled_requests(wire: Wire) -> None:
    """Good requests in which single bytes are others."""
    random = Random(11)
    whole = wire.request(GOOD, "Content-Type: application/json")
    for number in range(GARBLED):
        data = bytearray(whole)
        for _ in range(random.randrange(1, 6)):
            data[random.randrange(len(data))] = random.randrange(256)
        # Whatever became of the length, the server need not wait for more.
        code, body = wire.send(bytes(data) + b"\r\n\r\n" + b" " * 100_000)
        assert code < 500, f"{number}: {bytes(data)!r}: {code} {body!r}"
    _check_works(wire)


def _check_works(wire: Wire) -> None:
    wire.send(wire.request(b"", method="DELETE", path=f"{PATH}/x"))
    code, _ = wire.send(wire.request(GOOD, "Content-Type: application/json"))
    assert code == 201
    code, body = wire.send(wire.request(b"", method="GET", path=f"{PATH}/x"))
    assert (code, json.loads(body)["data"]) == (200, {"a": "b"})


def test_plain_text_on_the_tls_port(cluster: Embedded, wire: Wire, tmp_path: Path) -> None:
    address = urlsplit(cluster.url)
    with socket.create_connection((address.hostname, address.port), timeout=SECONDS) as plain:
        plain.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        with contextlib.suppress(ConnectionError):
            assert not plain.recv(1000).startswith(b"HTTP/1.1 2")
    _check_works(wire)
