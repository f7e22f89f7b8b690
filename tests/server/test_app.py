"""The server over real connections on the loopback interface."""

from __future__ import annotations

import asyncio
import io
import json
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import aiohttp
import pytest
import uvloop
from aiohttp import web
from prometheus_client import CollectorRegistry, Gauge

from moorage.server.access import Access
from moorage.server.app import Server, listen
from moorage.server.authentication import Authentication, ClientTrust
from moorage.server.authorities import Authorities
from moorage.server.health import HealthChecks, ping
from moorage.server.pages import Content
from moorage.server.tls import KeyPair, TlsContexts, TlsSettings, self_signed
from moorage.testing import make_pod
from tests.server.certificates import Authority

HOST = "127.0.0.1"
TIMEOUT = 10.0


class Reply(NamedTuple):
    status: int
    text: str
    headers: Any


Ask = Callable[..., Awaitable[Reply]]


PEM = self_signed()


def contexts(*, asks_for_certificates: bool = False) -> TlsContexts:
    return TlsContexts(TlsSettings(asks_for_certificates=asks_for_certificates), KeyPair(PEM, PEM))


def everything() -> Access:
    return Access(always_allow_paths=["*"])


def insecure(file: Path | None = None) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    if file is not None:
        context.load_cert_chain(file)
    return context


@asynccontextmanager
async def serving(
    content: Content | None = None,
    access: Access | None = None,
    tls: TlsContexts | None = None,
    certificate: Path | None = None,
) -> AsyncIterator[Ask]:
    """A server and a way to ask it; by default everything is allowed."""
    server = Server(HOST, 0, tls or contexts(), content or Content(), access or everything())
    await server.start()
    timeout = aiohttp.ClientTimeout(total=TIMEOUT)
    connector = aiohttp.TCPConnector(ssl=insecure(certificate))
    try:
        async with aiohttp.ClientSession(timeout=timeout, connector=connector) as session:

            async def ask(path: str, method: str = "GET", **how: Any) -> Reply:
                url = f"https://{HOST}:{server.port}{path}"
                async with session.request(method, url, **how) as response:
                    return Reply(response.status, await response.text(), response.headers)

            yield ask
    finally:
        await server.stop()


def answers(*asked: str, content: Content | None = None, access: Access | None = None) -> list[Reply]:
    async def main() -> list[Reply]:
        async with serving(content, access) as ask:
            return [await ask(path) for path in asked]

    return asyncio.run(main())


def answer(path: str, content: Content | None = None) -> Reply:
    [reply] = answers(path, content=content)
    return reply


@pytest.mark.parametrize("path", ["/healthz", "/livez", "/readyz"])
def test_health_is_open_to_all(path: str) -> None:
    [reply] = answers(path, access=Access())
    assert (reply.status, reply.text) == (200, "ok")
    assert reply.headers["Content-Type"] == "text/plain; charset=utf-8"


def test_no_answer_is_to_be_kept_or_tells_what_serves_it() -> None:
    for reply in answers("/healthz", "/configz", "/metrics/resources", "/nothing"):
        assert reply.headers["Cache-Control"] == "no-cache, private"
        assert "Server" not in reply.headers


def test_everything_else_is_forbidden() -> None:
    known, unknown, check = answers("/metrics", "/nothing", "/healthz/ping", access=Access())
    assert (known.status, unknown.status, check.status) == (403, 403, 403)
    status = json.loads(known.text)
    assert status["message"] == 'forbidden: User "system:anonymous" cannot get path "/metrics"'
    assert (status["kind"], status["reason"], status["code"]) == ("Status", "Forbidden", 403)


def test_the_query_is_no_part_of_the_path() -> None:
    assert [
        reply.status for reply in answers("/healthz?verbose", "/metrics?x=/healthz", access=Access())
    ] == [
        200,
        403,
    ]


def test_unknown_paths() -> None:
    replies = answers("/nothing", "/", "/healthz/nothing", "/metrics/", "/debug/flags/v")
    assert [reply.status for reply in replies] == [404] * 5


def test_a_failing_check() -> None:
    synced = ["nodes, pods are not synced"]
    readyz = HealthChecks("readyz", shutdown=ping)
    readyz.add("sched-handler-sync", lambda: synced[0] if synced else None)
    content = Content(readyz=readyz)
    paths = (
        "/readyz",
        "/readyz/sched-handler-sync",
        "/readyz?exclude=sched-handler-sync",
        "/healthz?verbose",
    )
    failed, why, excluded, other = answers(*paths, content=content)
    assert failed[:2] == (
        500,
        "[+]shutdown ok\n[-]sched-handler-sync failed: reason withheld\nreadyz check failed\n",
    )
    assert why[:2] == (500, "internal server error: nodes, pods are not synced\n")
    assert excluded[:2] == (200, "ok")
    assert other[:2] == (200, "[+]ping ok\nhealthz check passed\n")
    synced.clear()
    assert answer("/readyz", content)[:2] == (200, "ok")


def test_metrics_are_shown_and_reset() -> None:
    registry = CollectorRegistry()
    gauge = Gauge("g", "h", registry=registry)
    gauge.set(5)
    content = Content(registries=[registry], reset_metrics=lambda: gauge.set(0))

    async def main() -> list[Reply]:
        async with serving(content) as ask:
            return [await ask("/metrics"), await ask("/metrics", "DELETE"), await ask("/metrics")]

    first, reset, last = asyncio.run(main())
    assert first.text.endswith("\ng 5\n")
    assert first.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert reset[:2] == (200, "metrics reset\n")
    assert last.text.endswith("\ng 0\n")


def test_results_of_checks_are_metrics() -> None:
    async def main() -> list[Reply]:
        async with serving() as ask:
            await ask("/livez")
            return [
                await ask("/metrics/slis"),
                await ask("/metrics/slis", "DELETE"),
                await ask("/metrics/slis"),
            ]

    shown, reset, gone = asyncio.run(main())
    assert 'kubernetes_healthcheck{name="ping",type="livez"} 1\n' in shown.text
    assert reset.text == "metrics reset\n"
    assert "{" not in gone.text


def test_resources_of_many_pods() -> None:
    pods = [make_pod(f"p{place}", cpu=1) for place in range(1000)]
    lines = answer("/metrics/resources", Content(pods=lambda: pods)).text.splitlines()
    assert len(lines) == 1002
    assert lines[1] == "# TYPE kube_pod_resource_request gauge"


def test_no_resources_unless_it_leads() -> None:
    assert answer("/metrics/resources")[:2] == (200, "")


def test_configuration() -> None:
    reply = answer("/configz", Content(config=lambda: {"parallelism": 16}))
    assert json.loads(reply.text) == {"componentconfig": {"parallelism": 16}}
    assert reply.headers["Content-Type"] == "application/json"


def test_there_is_no_page_for_the_version() -> None:
    """kube-scheduler tells it in /statusz and in its metrics."""
    assert answer("/version").status == 404


def test_flags() -> None:
    text = answer("/flagz", Content(flags={"v": "2", "config": "/etc/config.yaml"})).text
    assert text.startswith(
        "\nkube-scheduler flagz\nWarning: This endpoint is not meant to be machine parseable"
    )
    assert text.endswith("only.\nconfig=/etc/config.yaml\nv=2\n")


def test_status() -> None:
    now = [1_700_000_000.0]

    async def main() -> Reply:
        async with serving(Content(clock=lambda: now[0])) as ask:
            now[0] += 3725
            return await ask("/statusz")

    lines = asyncio.run(main()).text.splitlines()
    assert "Started: Tue Nov 14 22:13:20 UTC 2023" in lines
    assert "Up: 1 hr 02 min 05 sec" in lines
    assert "Emulation version: 1.36" in lines


def test_verbosity_is_set() -> None:
    levels: list[int] = []

    async def main() -> list[Reply]:
        async with serving(Content(set_verbosity=levels.append)) as ask:
            path = "/debug/flags/v"
            return [await ask(path, "PUT", data="5"), await ask(path), await ask(path, "PUT", data="many")]

    done, wrong_method, wrong_value = asyncio.run(main())
    assert done[:2] == (200, "successfully set klog.logging.verbosity to 5")
    assert (wrong_method.status, wrong_value.status) == (406, 400)
    assert levels == [5]


@pytest.mark.parametrize("loop_factory", [asyncio.new_event_loop, uvloop.new_event_loop])
def test_tls_and_client_certificates(
    tmp_path: Path, loop_factory: Callable[[], asyncio.AbstractEventLoop]
) -> None:
    authority, stranger = Authority(tmp_path / "known"), Authority(tmp_path / "unknown")
    trust = ClientTrust(Authorities(authority.file.read_bytes()))

    async def statuses(file: Path | None, tls: TlsContexts) -> list[int]:
        access = Access(Authentication(trust))
        async with serving(access=access, tls=tls, certificate=file) as ask:
            return [(await ask(path)).status for path in ("/healthz", "/metrics")]

    async def main() -> None:
        tls = contexts(asks_for_certificates=True)
        assert await statuses(None, tls) == [200, 403]
        assert await statuses(authority.client("bob", "users"), tls) == [200, 403]
        admin = authority.client("admin", "system:masters")
        assert await statuses(admin, tls) == [200, 200]
        assert await statuses(admin, contexts()) == [200, 403]
        # What it is worth does not keep the connection from being made.
        assert await statuses(stranger.client("admin", "system:masters"), tls) == [401, 401]

    with asyncio.Runner(loop_factory=loop_factory) as runner:
        runner.run(main())


def test_an_intermediate_authority_comes_with_the_certificate(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    below = authority.authority("below")
    alone = authority.client("admin", "system:masters", by="below")
    both = tmp_path / "both.pem"
    both.write_bytes(alone.read_bytes() + below.read_bytes())
    trust = ClientTrust(Authorities(authority.file.read_bytes()))

    async def status(file: Path) -> int:
        access, tls = Access(Authentication(trust)), contexts(asks_for_certificates=True)
        async with serving(access=access, tls=tls, certificate=file) as ask:
            return (await ask("/metrics")).status

    assert (asyncio.run(status(alone)), asyncio.run(status(both))) == (401, 200)


@pytest.mark.parametrize("loop_factory", [asyncio.new_event_loop, uvloop.new_event_loop])
def test_large_answers_and_bodies(loop_factory: Callable[[], asyncio.AbstractEventLoop]) -> None:
    config = {str(number): "x" * 1000 for number in range(5000)}

    async def main() -> None:
        async with serving(Content(config=lambda: config, set_verbosity=lambda level: None)) as ask:
            assert json.loads((await ask("/configz")).text) == {"componentconfig": config}
            reply = await ask("/debug/flags/v", "PUT", data=io.BytesIO(b"1" * 2**21))
            assert reply.status == 413

    with asyncio.Runner(loop_factory=loop_factory) as runner:
        runner.run(main())


def test_it_listens_everywhere_by_both_protocols() -> None:
    with listen("0.0.0.0", 0) as listening:
        port = listening.getsockname()[1]
        for host in ("127.0.0.1", "::1") if socket.has_dualstack_ipv6() else ("127.0.0.1",):
            socket.create_connection((host, port), timeout=TIMEOUT).close()
    with listen(HOST, 0) as listening:
        assert listening.getsockname()[0] == HOST


def test_a_port_can_be_shared() -> None:
    with listen(HOST, 0, share_port=True) as first:
        port = first.getsockname()[1]
        listen(HOST, port, share_port=True).close()
        with pytest.raises(OSError, match="Address already in use"):
            listen(HOST, port)


def test_a_port_that_is_taken_is_an_error() -> None:
    async def main() -> None:
        first = Server(HOST, 0, contexts(), Content(), Access())
        await first.start()
        try:
            second = Server(HOST, first.port, contexts(), Content(), Access())
            with pytest.raises(OSError, match="Address already in use"):
                await second.start()
            await second.stop()
        finally:
            await first.stop()

    asyncio.run(main())


def test_stopping_does_not_wait_for_those_that_hang(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        asked = asyncio.Event()

        async def hangs(request: web.Request) -> web.Response:
            asked.set()
            await asyncio.Event().wait()
            raise AssertionError

        server = Server(HOST, 0, contexts(), Content(), everything(), seconds_to_stop=0.05)
        monkeypatch.setattr(server._pages, "find", lambda path: hangs)
        await server.start()
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=insecure())) as session:
            request = asyncio.ensure_future(session.get(f"https://{HOST}:{server.port}/configz"))
            await asyncio.wait_for(asked.wait(), TIMEOUT)
            await asyncio.wait_for(server.stop(), TIMEOUT)
            with pytest.raises(aiohttp.ClientError):
                await asyncio.wait_for(request, TIMEOUT)

    asyncio.run(main())
