"""Who the client says it is, and the way to the server: tokens, certificates, proxies."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable, Coroutine
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from moorage.client.connection import ConnectionConfig, Impersonation
from moorage.client.credentials import ClientCertificate
from moorage.client.errors import (
    Unauthorized,
    Unreachable,
)
from moorage.client.http import HttpClient
from moorage.client.pod_writer import PodWriter
from tests.client import certificates
from tests.client.conversations import NODES, POD, Recorder, ok
from tests.client.loopback import Handler, serving, status


def with_config(
    server: Handler, conversation: Callable[[HttpClient], Coroutine[Any, Any, Any]], **given: Any
) -> Any:
    async def main() -> Any:
        async with serving(server) as url, HttpClient(ConnectionConfig(url, **given)) as client:
            return await conversation(client)

    return asyncio.run(main())


def test_impersonation_and_authorization() -> None:
    server = Recorder(ok())
    user = Impersonation("jane", "1", ("a", "b"), {"why": ["test"]})
    with_config(server, lambda client: client.request_json("GET", "/"), impersonate=user, token="abc")
    headers = server.requests[0].headers
    assert headers["Authorization"] == "Bearer abc"
    assert (headers["Impersonate-User"], headers["Impersonate-Uid"]) == ("jane", "1")
    assert headers.getall("Impersonate-Group") == ["a", "b"]
    assert headers["Impersonate-Extra-why"] == "test"


def test_rejected_token_is_renewed_once(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("old")
    answers = Recorder(ok(), status(401, "Unauthorized"), ok(), status(401, "Unauthorized"))

    async def server(request: web.BaseRequest) -> web.StreamResponse:
        if len(answers.requests) == 1:
            file.write_text("new")
        return await answers(request)

    async def conversation(client: HttpClient) -> None:
        await PodWriter(client).bind(POD, "n")
        await PodWriter(client).bind(POD, "n")
        with pytest.raises(Unauthorized):
            await PodWriter(client).bind(POD, "n")

    with_config(server, conversation, token_file=str(file))
    sent = [request.headers["Authorization"] for request in answers.requests]
    assert sent == ["Bearer old", "Bearer old", "Bearer new", "Bearer new"]


def test_server_below_a_path() -> None:
    server = Recorder(ok())

    async def main() -> None:
        async with serving(server) as url, HttpClient(ConnectionConfig(f"{url}/k8s/c-1")) as client:
            await client.get(NODES, "n")

    asyncio.run(main())
    assert server.lines == ["GET /k8s/c-1/api/v1/nodes/n"]


def test_requests_go_through_the_proxy() -> None:
    server = Recorder(ok(), ok())

    async def main() -> None:
        async with serving(server) as url:
            proxy = url.replace("://", "://user:p%40ss@")
            async with HttpClient(ConnectionConfig("http://api.invalid", proxy_url=proxy)) as client:
                await client.request_json("GET", "/version")

    asyncio.run(main())
    request = server.requests[0]
    assert request.headers["Host"] == "api.invalid"
    assert request.headers["Proxy-Authorization"] == "Basic dXNlcjpwQHNz"


def test_tunnel_through_the_proxy() -> None:
    heads: list[bytes] = []

    async def refusing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
        writer.close()

    async def main() -> None:
        async with await asyncio.start_server(refusing, "127.0.0.1", 0) as server:
            proxy = f"http://user:pass@127.0.0.1:{server.sockets[0].getsockname()[1]}"
            config = ConnectionConfig("https://api.invalid:6443", proxy_url=proxy, insecure=True)
            async with HttpClient(config) as client:
                with pytest.raises(Unreachable, match="Proxy Authentication Required"):
                    await client.request_json("GET", "/version")

    asyncio.run(main())
    assert heads[0].startswith(b"CONNECT api.invalid:6443 HTTP/1.1\r\n")
    assert b"Proxy-Authorization: Basic dXNlcjpwYXNz\r\n" in heads[0]


def test_tls(tmp_path: Path) -> None:
    authority = certificates.make("authority")
    server_pair = certificates.make("api.internal", signer=authority)
    user_pair = certificates.make("user", signer=authority)
    (tmp_path / "server.pem").write_bytes(server_pair.certificate_pem + server_pair.key_pem)
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cadata=authority.certificate_pem.decode())
    tls.load_cert_chain(tmp_path / "server.pem")
    tls.verify_mode = ssl.CERT_OPTIONAL

    async def who(request: web.BaseRequest) -> web.StreamResponse:
        assert request.transport is not None
        shown = request.transport.get_extra_info("peercert") or {}
        return ok(name=dict(part[0] for part in shown.get("subject", ())).get("commonName", ""))

    async def ask(config: ConnectionConfig) -> str:
        async with HttpClient(config) as client:
            return str((await client.request_json("GET", "/"))["name"])

    async def main() -> None:
        async with serving(who, tls) as url:
            named = ConnectionConfig(url, authority.certificate_pem, tls_server_name="api.internal")
            assert await ask(named) == ""
            user = ClientCertificate(user_pair.certificate_pem, user_pair.key_pem)
            assert await ask(replace(named, certificate=user)) == "user"
            assert await ask(ConnectionConfig(url, insecure=True)) == ""
            with pytest.raises(Unreachable, match="mismatch"):
                await ask(replace(named, tls_server_name=""))
            with pytest.raises(Unreachable, match="certificate verify failed"):
                await ask(replace(named, ca_data=certificates.make("other").certificate_pem))

    asyncio.run(main())


def test_replaced_client_certificate_is_shown_on_new_connections(tmp_path: Path) -> None:
    authority = certificates.make("authority")
    server_pair = certificates.make("api.internal", signer=authority, addresses=("127.0.0.1",))
    (tmp_path / "server.pem").write_bytes(server_pair.certificate_pem + server_pair.key_pem)
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cadata=authority.certificate_pem.decode())
    tls.load_cert_chain(tmp_path / "server.pem")
    tls.verify_mode = ssl.CERT_REQUIRED
    files = (str(tmp_path / "user.crt"), str(tmp_path / "user.key"))

    def put(name: str) -> None:
        pair = certificates.make(name, signer=authority)
        Path(files[0]).write_bytes(pair.certificate_pem)
        Path(files[1]).write_bytes(pair.key_pem)

    async def who(request: web.BaseRequest) -> web.StreamResponse:
        assert request.transport is not None
        shown = request.transport.get_extra_info("peercert")
        name = dict(part[0] for part in shown["subject"])["commonName"]
        return status(401, "Unauthorized") if name == "old" else ok(name=name)

    async def main() -> None:
        put("first")
        async with serving(who, tls) as url:
            config = ConnectionConfig(url, authority.certificate_pem, certificate_files=files)
            async with HttpClient(config) as client:
                assert await client.request_json("POST", "/", {}) == {"name": "first"}
            put("old")
            async with HttpClient(config) as client:
                with pytest.raises(Unauthorized):
                    await client.request_json("POST", "/", {})
                put("new")  # and the server's 401 makes the client look
                assert await client.request_json("POST", "/", {}) == {"name": "new"}
                assert await client.request_json("GET", "/") == {"name": "new"}

    asyncio.run(main())
