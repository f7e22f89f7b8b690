"""What is counted of the clients of API servers."""

from __future__ import annotations

import asyncio
import json
import re
import threading
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from moorage.client.errors import ApiError, ConfigurationError
from moorage.client.exec_plugin import VERSIONS, ExecCredentials, ExecPlugin
from moorage.client.http import HttpClient
from moorage.client.observer import ClientObserver
from moorage.process.client_metrics import ClientMetrics, InLoop
from moorage.server.exposition import render
from tests.client import certificates
from tests.client.conversations import NODES, ok, talk
from tests.client.loopback import Sleeps, status

HOST = re.compile(r'host="127\.0\.0\.1:\d+"')


def shown(metrics: ClientMetrics, name: str) -> dict[str, float]:
    """The values of a metric by its labels, as they are written; those of the host are left out."""
    found = re.findall(
        rf"^rest_client_{name}(?:\{{(.*)\}})? (\S+)$", render([metrics.registry]), re.MULTILINE
    )
    return {HOST.sub("", labels).strip(",").replace(",,", ","): float(value) for labels, value in found}


def test_requests_by_code() -> None:
    metrics = ClientMetrics()

    async def server(request: web.BaseRequest) -> web.StreamResponse:
        return ok(a="b") if request.method == "GET" else status(409, "Conflict")

    async def conversation(client: HttpClient) -> None:
        await client.request_json("GET", "/x")
        await client.request_json("GET", "/y")
        with pytest.raises(ApiError):
            await client.request_json("PUT", "/x", {"much": "x" * 300})

    talk(server, conversation, observer=metrics)
    assert shown(metrics, "requests_total") == {
        'code="200",method="GET"': 2,
        'code="409",method="PUT"': 1,
    }
    for name in ("request_duration_seconds", "rate_limiter_duration_seconds", "response_size_bytes"):
        assert shown(metrics, f"{name}_count") == {'verb="GET"': 2, 'verb="PUT"': 1}
    assert shown(metrics, "request_size_bytes_sum") == {
        'verb="GET"': 0,
        'verb="PUT"': len('{"much":""}') + 300,
    }
    assert shown(metrics, "response_size_bytes_sum")['verb="GET"'] == 2 * len('{"a": "b"}')
    assert shown(metrics, "request_retries_total") == {}


def test_a_request_that_is_sent_again_counts_twice() -> None:
    metrics = ClientMetrics()
    answers = iter([status(429, "TooManyRequests", Retry_After="1"), ok()])

    async def server(request: web.BaseRequest) -> web.StreamResponse:
        return next(answers)

    async def conversation(client: HttpClient) -> None:
        await client.request_json("POST", "/x", {})

    talk(server, conversation, observer=metrics, sleep=Sleeps())
    assert shown(metrics, "requests_total") == {'code="200",method="POST"': 1, 'code="429",method="POST"': 1}
    assert shown(metrics, "request_retries_total") == {'code="200",verb="POST"': 1}


@pytest.mark.parametrize("body", [None, b"{}"])
def test_no_answer_is_an_error(body: bytes | None) -> None:
    metrics = ClientMetrics()

    async def server(request: web.BaseRequest) -> web.StreamResponse:
        assert request.transport is not None
        request.transport.abort()
        return ok()

    async def conversation(client: HttpClient) -> None:
        with pytest.raises(ApiError):
            await client.send("PUT", "/x", body)

    talk(server, conversation, observer=metrics)
    assert shown(metrics, "requests_total") == {'code="<error>",method="PUT"': 1}
    assert shown(metrics, "request_duration_seconds_count") == {'verb="PUT"': 1}
    assert shown(metrics, "response_size_bytes_count") == {}


@pytest.mark.parametrize(("code", "label"), [(200, "200"), (403, "403"), (0, "<error>")])
def test_a_watch_is_counted_when_it_begins_and_not_timed(code: int, label: str) -> None:
    metrics = ClientMetrics()

    async def server(request: web.BaseRequest) -> web.StreamResponse:
        if not code:
            assert request.transport is not None
            request.transport.abort()
        return web.Response(text="") if code == 200 else status(code or 500, "No")

    async def conversation(client: HttpClient) -> None:
        async with aclosing(client.watch(NODES, resource_version="1")) as changes:
            try:
                assert [change async for change in changes] == []
            except ApiError:
                assert code != 200

    talk(server, conversation, observer=metrics)
    assert shown(metrics, "requests_total") == {f'code="{label}",method="GET"': 1}
    assert shown(metrics, "request_duration_seconds_count") == {}


def printed(**status: str) -> str:
    return json.dumps({"apiVersion": VERSIONS[0], "kind": "ExecCredential", "status": status})


@pytest.mark.parametrize(
    ("plugin", "labels"),
    [
        (ExecPlugin("echo", VERSIONS[0], args=(printed(token="t"),)), 'call_status="no_error",code="0"'),
        (
            ExecPlugin("sh", VERSIONS[0], args=("-c", "exit 3")),
            'call_status="plugin_execution_error",code="3"',
        ),
        (ExecPlugin("no-such-program", VERSIONS[0]), 'call_status="plugin_not_found_error",code="1"'),
        (ExecPlugin("/", VERSIONS[0]), 'call_status="client_internal_error",code="1"'),
    ],
)
def test_how_the_program_for_credentials_ended(plugin: ExecPlugin, labels: str) -> None:
    metrics = ClientMetrics()
    credentials = ExecCredentials(plugin, observer=metrics)
    if "no_error" in labels:
        asyncio.run(credentials.identity())
    else:
        with pytest.raises(ConfigurationError):
            asyncio.run(credentials.identity())
    assert shown(metrics, "exec_plugin_call_total") == {labels: 1}


def test_certificates_that_a_program_prints(tmp_path: Path) -> None:
    first, second = certificates.make("first"), certificates.make("second")
    began = first.certificate.not_valid_before_utc.timestamp()
    metrics = ClientMetrics(clock=lambda: second.certificate.not_valid_after_utc.timestamp() - 60)
    file = tmp_path / "printed"
    plugin = ExecPlugin("cat", VERSIONS[0], args=(str(file),))
    credentials = ExecCredentials(plugin, observer=metrics, clock=lambda: began + 7200)
    assert shown(metrics, "exec_plugin_ttl_seconds") == {"": float("inf")}

    async def run(pair: certificates.Pair) -> None:
        file.write_text(
            printed(clientCertificateData=pair.certificate_pem.decode(), clientKeyData=pair.key_pem.decode())
        )
        credentials.rejected(await credentials.identity())

    async def thrice() -> None:
        await run(first)
        await run(first)
        assert shown(metrics, "exec_plugin_certificate_rotation_age_count") == {"": 0}
        await run(second)

    asyncio.run(thrice())
    assert shown(metrics, "exec_plugin_ttl_seconds") == {"": 60}
    assert shown(metrics, "exec_plugin_certificate_rotation_age_sum") == {"": 7200}


def test_a_client_in_another_thread_is_counted_in_the_loop() -> None:
    metrics = ClientMetrics()
    threads: list[threading.Thread] = []

    class Noting(ClientMetrics):
        def asked(self, *args: Any, **named: Any) -> None:
            threads.append(threading.current_thread())
            metrics.asked(*args, **named)

    def ask(observer: ClientObserver) -> None:
        sizes: dict[str, Any] = {"waited": 0.0, "seconds": 0.0, "sent": 0, "received": 0}
        observer.asked("h", "PUT", "200", is_retry=False, **sizes)

    async def main() -> InLoop:
        observer = InLoop(Noting())
        await asyncio.to_thread(ask, observer)
        await asyncio.sleep(0)
        return observer

    late = asyncio.run(main())
    assert threads == [threading.current_thread()]
    assert shown(metrics, "requests_total") == {'code="200",host="h",method="PUT"': 1}
    ask(late)
    assert shown(metrics, "requests_total") == {'code="200",host="h",method="PUT"': 1}
