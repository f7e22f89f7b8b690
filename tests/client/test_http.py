"""The client against small servers on loopback."""

from __future__ import annotations

import asyncio
import json
import logging
import socket
import ssl
from collections.abc import Callable, Coroutine
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from moorage.api.decoding import from_document
from moorage.api.meta import Object
from moorage.api.nodes import Node
from moorage.api.pods import Condition, Pod
from moorage.client import Client
from moorage.client.connection import ConnectionConfig, Impersonation
from moorage.client.credentials import ClientCertificate
from moorage.client.errors import (
    ApiError,
    Conflict,
    Forbidden,
    Gone,
    NotFound,
    ServiceUnavailable,
    TimedOut,
    TooManyRequests,
    Unauthorized,
    Unreachable,
)
from moorage.client.http import HttpClient
from moorage.client.resources import Resource
from moorage.client.watching import Change
from tests.client import certificates
from tests.client.loopback import Handler, Sleeps, connected, serving, status

NODES, PODS = Resource.of(Node), Resource.of(Pod)
POD = from_document(Pod, {"metadata": {"namespace": "a", "name": "b", "uid": "u"}})


class Recorder:
    """Answers from a list and keeps what it was asked."""

    def __init__(self, *answers: web.StreamResponse | Callable[[], web.StreamResponse]) -> None:
        self.answers = list(answers)
        self.requests: list[web.BaseRequest] = []
        self.bodies: list[Any] = []

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        self.requests.append(request)
        body = await request.read()
        self.bodies.append(json.loads(body) if body else None)
        answer = self.answers.pop(0)
        return answer if isinstance(answer, web.StreamResponse) else answer()

    @property
    def lines(self) -> list[str]:
        return [f"{request.method} {request.path_qs}" for request in self.requests]


def talk(
    server: Handler, conversation: Callable[[HttpClient], Coroutine[Any, Any, Any]], **options: Any
) -> Any:
    async def main() -> Any:
        async with connected(server, **options) as client:
            return await conversation(client)

    return asyncio.run(main())


def node(name: str, **more: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, "resourceVersion": "1"}, **more}


def page(*items: dict[str, Any], version: str = "5", more: str = "", **headers: Any) -> web.Response:
    return web.json_response(
        {"metadata": {"resourceVersion": version, "continue": more}, "items": list(items)}
    )


def ok(**document: Any) -> web.Response:
    return web.json_response(document)


def test_get() -> None:
    server = Recorder(ok(**node("n", extra=1)), status(404, "NotFound", 'nodes "x" not found'))

    async def conversation(client: HttpClient) -> None:
        found = await client.get(NODES, "n")
        assert found.name == "n" and found.raw["extra"] == 1
        with pytest.raises(NotFound, match=r'^nodes "x" not found$'):
            await client.get(NODES, "x")

    talk(server, conversation, user_agent="moorage/scheduler")
    headers = server.requests[0].headers
    assert (headers["User-Agent"], headers["Accept"]) == ("moorage/scheduler", "application/json")
    assert "Accept-Encoding" not in headers and "Authorization" not in headers
    assert server.lines == ["GET /api/v1/nodes/n", "GET /api/v1/nodes/x"]


def test_login_page_is_not_mistaken_for_an_object() -> None:
    server = Recorder(
        web.Response(text="<html>"),
        web.Response(text="<html>"),
        web.Response(status=302, headers={"Location": "/x"}),
    )

    async def conversation(client: HttpClient) -> None:
        with pytest.raises(ApiError, match="GET /api/v1/nodes/n: Node: "):
            await client.get(NODES, "n")
        with pytest.raises(ApiError, match=r"/api/v1/nodes: the answer cannot be read: .*<html>"):
            await client.list(NODES)
        with pytest.raises(ApiError, match="the server answered 302 Found"):
            await client.list(NODES)

    talk(server, conversation)


def test_list_in_pages() -> None:
    server = Recorder(page(node("a"), more="t1"), page(node("b"), more="t2"), page(node("c"), version="6"))
    listing = talk(server, lambda client: client.list(NODES, label_selector="x=y", limit=1))
    assert [item.name for item in listing.items] == ["a", "b", "c"]
    assert listing.resource_version == "6"
    path = "GET /api/v1/nodes?labelSelector=x%3Dy&limit=1"
    assert server.lines == [path, f"{path}&continue=t1", f"{path}&continue=t2"]


def test_expired_page_restarts_the_list_in_one() -> None:
    server = Recorder(
        page(node("a"), more="t1"), status(410, "Expired"), page(node("b"), node("c"), version="9")
    )
    listing = talk(server, lambda client: client.list(NODES))
    assert [item.name for item in listing.items] == ["b", "c"]
    assert listing.resource_version == "9"
    assert server.lines[-1] == "GET /api/v1/nodes"


def test_list_that_stays_gone_is_an_error() -> None:
    with pytest.raises(Gone):
        talk(Recorder(status(410, "Expired"), status(410, "Expired")), lambda client: client.list(NODES))


def test_bad_item_is_left_out_with_its_name(caplog: pytest.LogCaptureFixture) -> None:
    server = Recorder(page(node("good"), node("bad", spec={"taints": 1}), node("fine", spec=None)))
    with caplog.at_level(logging.WARNING):
        listing = talk(server, lambda client: client.list(NODES))
    assert [item.name for item in listing.items] == ["good", "fine"]
    assert "Node bad" in caplog.text


def test_empty_list_may_be_null() -> None:
    server = Recorder(ok(metadata={"resourceVersion": "3"}, items=None))
    listing = talk(server, lambda client: client.list(Resource("g", "v1", "things", "Thing", True, Object)))
    assert (listing.items, listing.resource_version) == ([], "3")


def test_items_do_not_keep_the_page_in_memory() -> None:
    server = Recorder(page(node("a"), node("b")))
    listing = talk(server, lambda client: client.list(NODES))
    assert json.loads(listing.items[0].__dict__["_source"]) == node("a")


def test_writes() -> None:
    made = node("n")
    server = Recorder(*(lambda: ok(done=True) for _ in range(8)))
    thing = {"metadata": {"namespace": "a", "name": "b"}}

    async def conversation(client: HttpClient) -> None:
        assert await client.create(NODES, made) == {"done": True}
        await client.create(PODS, thing)
        await client.create(PODS, {"e": 1}, namespace="a", name="b", subresource="eviction")
        await client.update(PODS, thing, subresource="status")
        await client.patch(PODS, "b", {"x": 1}, namespace="a")
        await client.patch(NODES, "n", [{"op": "remove"}], kind="json", field_manager="me")
        await client.patch(NODES, "n", made, kind="apply", force=True)
        await client.patch(NODES, "n", made, kind="strategic", subresource="status")

    talk(server, conversation)
    pod = "/api/v1/namespaces/a/pods/b"
    assert server.lines == [
        "POST /api/v1/nodes",
        "POST /api/v1/namespaces/a/pods",
        f"POST {pod}/eviction",
        f"PUT {pod}/status",
        f"PATCH {pod}?fieldManager=moorage",
        "PATCH /api/v1/nodes/n?fieldManager=me",
        "PATCH /api/v1/nodes/n?fieldManager=moorage&force=true",
        "PATCH /api/v1/nodes/n/status?fieldManager=moorage",
    ]
    assert [request.headers["Content-Type"] for request in server.requests] == [
        *["application/json"] * 4,
        "application/merge-patch+json",
        "application/json-patch+json",
        "application/apply-patch+yaml",
        "application/strategic-merge-patch+json",
    ]
    assert server.bodies[0] == made and server.bodies[5] == [{"op": "remove"}]


def test_delete() -> None:
    server = Recorder(ok(), ok())

    async def conversation(client: HttpClient) -> None:
        await client.delete(NODES, "n")
        await client.delete(PODS, "b", namespace="a", uid="u", resource_version="7", grace_period_seconds=0)

    talk(server, conversation)
    options = {"apiVersion": "v1", "kind": "DeleteOptions"}
    preconditions = {"uid": "u", "resourceVersion": "7"}
    assert server.bodies == [
        options,
        options | {"gracePeriodSeconds": 0, "preconditions": preconditions},
    ]


def test_bind() -> None:
    server = Recorder(ok(), status(409, "Conflict", "pod b is already assigned"))

    async def conversation(client: HttpClient) -> None:
        scheduler_client: Client = client
        assert scheduler_client is client
        await client.bind(POD, "n")
        with pytest.raises(Conflict, match="already assigned"):
            await client.bind(POD, "n")

    talk(server, conversation)
    assert server.lines == ["POST /api/v1/namespaces/a/pods/b/binding"] * 2
    assert server.bodies[0] == {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"namespace": "a", "name": "b", "uid": "u"},
        "target": {"kind": "Node", "name": "n"},
    }


CONDITION = Condition("PodScheduled", "False", "Unschedulable", "", "2026-01-01T00:00:00Z", 3)
SENT = {
    "type": "PodScheduled",
    "status": "False",
    "reason": "Unschedulable",
    "message": "",
    "lastTransitionTime": "2026-01-01T00:00:00Z",
    "observedGeneration": 3,
}


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        ({"condition": CONDITION}, {"conditions": [SENT]}),
        ({"nominated_node": "n"}, {"nominatedNodeName": "n"}),
        ({"nominated_node": ""}, {"nominatedNodeName": None}),
        (
            {"condition": Condition("A", "True"), "nominated_node": "n"},
            {
                "conditions": [{"type": "A", "status": "True", "reason": "", "message": ""}],
                "nominatedNodeName": "n",
            },
        ),
    ],
)
def test_write_pod_status(given: dict[str, Any], sent: dict[str, Any]) -> None:
    server = Recorder(ok())
    talk(server, lambda client: client.write_pod_status(POD, **given))
    assert server.lines == ["PATCH /api/v1/namespaces/a/pods/b/status"]
    assert server.requests[0].headers["Content-Type"] == "application/strategic-merge-patch+json"
    assert server.bodies == [{"status": sent}]


def test_empty_status_is_not_written() -> None:
    server = Recorder()
    talk(server, lambda client: client.write_pod_status(POD))
    assert server.lines == []


@pytest.mark.parametrize(
    "failure",
    [
        (500, "InternalError"),
        (503, "ServiceUnavailable"),
        (409, "Conflict"),
        (429, "TooManyRequests"),
        (504, "Timeout"),
    ],
)
def test_status_is_tried_four_times(failure: tuple[int, str]) -> None:
    sleeps = Sleeps()
    server = Recorder(status(*failure), status(*failure), status(*failure), ok())
    talk(
        server,
        lambda client: client.write_pod_status(POD, nominated_node="n"),
        sleep=sleeps,
        random=lambda: 0.5,
    )
    assert sleeps == pytest.approx([0.0105, 0.0525, 0.2625])
    server = Recorder(*(status(*failure) for _ in range(4)))
    with pytest.raises(ApiError):
        talk(server, lambda client: client.write_pod_status(POD, nominated_node="n"), sleep=sleeps)
    assert server.answers == []


def test_status_waits_as_long_as_the_server_asks() -> None:
    sleeps = Sleeps()
    server = Recorder(status(429, "TooManyRequests", Retry_After="2"), ok())
    talk(server, lambda client: client.write_pod_status(POD, nominated_node=""), sleep=sleeps)
    assert sleeps == [2.0]


def test_status_of_a_missing_pod_is_not_tried_again() -> None:
    with pytest.raises(NotFound):
        talk(
            Recorder(status(404, "NotFound")), lambda client: client.write_pod_status(POD, nominated_node="")
        )


def refused() -> ConnectionConfig:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return ConnectionConfig(f"http://127.0.0.1:{probe.getsockname()[1]}")


def test_refused_connections() -> None:
    sleeps = Sleeps()

    async def main() -> None:
        async with HttpClient(refused(), sleep=sleeps) as client:
            with pytest.raises(Unreachable, match=r"^GET /version: connection refused$"):
                await client.request_json("GET", "/version")
            with pytest.raises(Unreachable):
                await client.write_pod_status(POD, nominated_node="n")

    asyncio.run(main())
    assert len(sleeps) == 3


def test_slow_answers_are_given_up() -> None:
    async def never(request: web.BaseRequest) -> web.StreamResponse:
        await asyncio.sleep(30)
        return ok()

    sleeps = Sleeps()

    async def conversation(client: HttpClient) -> None:
        with pytest.raises(TimedOut, match="GET /x"):
            await client.request_json("GET", "/x")
        with pytest.raises(TimedOut):
            await client.write_pod_status(POD, nominated_node="n")

    talk(never, conversation, request_seconds=0.02, sleep=sleeps)
    assert len(sleeps) == 3


def test_connection_that_breaks_in_an_answer() -> None:
    async def breaking(request: web.BaseRequest) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Length": "100"})
        await response.prepare(request)
        await response.write(b'{"a"')
        assert request.transport is not None
        request.transport.abort()
        return response

    with pytest.raises(Unreachable, match=r"^GET /x: "):
        talk(breaking, lambda client: client.request_json("GET", "/x"))


@pytest.mark.parametrize("code", [429, 503])
def test_retry_after_is_honoured(code: int) -> None:
    sleeps = Sleeps()
    server = Recorder(status(code, "", Retry_After="3"), status(code, "", Retry_After="999"), ok(a=1))
    answer = talk(
        server, lambda client: client.request_json("POST", "/x", {"b": 2}, {"c": "d e"}), sleep=sleeps
    )
    assert answer == {"a": 1} and sleeps == [3.0, 60.0]
    assert server.lines == ["POST /x?c=d+e"] * 3 and server.bodies == [{"b": 2}] * 3


def test_retry_after_ends() -> None:
    server = Recorder(*(status(429, "TooManyRequests", Retry_After="1") for _ in range(10)))
    with pytest.raises(TooManyRequests):
        talk(server, lambda client: client.bind(POD, "n"), sleep=Sleeps())


def test_without_retry_after_the_error_comes_at_once() -> None:
    with pytest.raises(ServiceUnavailable):
        talk(Recorder(status(503, "ServiceUnavailable")), lambda client: client.bind(POD, "n"))


def test_all_but_watches_are_limited() -> None:
    sleeps = Sleeps()
    server = Recorder(ok(), ok(), web.Response(), web.Response(), ok())

    async def conversation(client: HttpClient) -> None:
        await client.bind(POD, "n")
        await client.bind(POD, "n")
        for _ in range(2):
            async for _change in client.watch(PODS, resource_version="1"):
                pass
        await client.request_json("GET", "/x")

    talk(server, conversation, qps=0.001, burst=1, sleep=sleeps)
    assert sleeps == pytest.approx([1000, 2000], rel=0.01)


def test_client_that_is_not_open_says_so() -> None:
    with pytest.raises(RuntimeError, match="async with HttpClient"):
        asyncio.run(HttpClient(ConnectionConfig("http://127.0.0.1:1")).get(NODES, "n"))


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
        await client.bind(POD, "n")
        await client.bind(POD, "n")
        with pytest.raises(Unauthorized):
            await client.bind(POD, "n")

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


def test_watch() -> None:
    events = [
        {"type": "ADDED", "object": node("a")},
        {"type": "MODIFIED", "object": node("a", big="x" * 600_000)},
        {"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": "8"}}},
    ]
    requests: list[web.BaseRequest] = []

    async def server(request: web.BaseRequest) -> web.StreamResponse:
        requests.append(request)
        response = web.StreamResponse()
        await response.prepare(request)
        for event in events:
            await response.write(json.dumps(event).encode() + b"\n")
        return response

    async def conversation(client: HttpClient) -> list[Change[Node]]:
        watch = client.watch(NODES, resource_version="1", field_selector="metadata.name=a", timeout_seconds=9)
        return [change async for change in watch]

    changes = talk(server, conversation)
    assert [(change.type, change.resource_version) for change in changes] == [
        ("ADDED", "1"),
        ("MODIFIED", "1"),
        ("BOOKMARK", "8"),
    ]
    assert dict(requests[0].query) == {
        "watch": "true",
        "allowWatchBookmarks": "true",
        "resourceVersion": "1",
        "timeoutSeconds": "9",
        "fieldSelector": "metadata.name=a",
    }


async def silent(request: web.BaseRequest) -> web.StreamResponse:
    response = web.StreamResponse()
    await response.prepare(request)
    await response.write(json.dumps({"type": "ADDED", "object": node("a")}).encode() + b"\n")
    await asyncio.sleep(30)
    return response


def test_dead_watch_is_noticed() -> None:
    async def conversation(client: HttpClient) -> None:
        changes = client.watch(NODES, resource_version="1")
        assert (await anext(changes)).key == "a"
        with pytest.raises(TimedOut, match="GET /api/v1/nodes"):
            await anext(changes)

    talk(silent, conversation, silence_seconds=0.03)


def test_watch_can_be_left() -> None:
    async def conversation(client: HttpClient) -> None:
        async with aclosing(client.watch(NODES, resource_version="1")) as changes:
            async for change in changes:
                assert change.key == "a"
                break

    talk(silent, conversation)


def test_watch_that_may_not_or_cannot_be() -> None:
    server = Recorder(status(410, "Expired", "too old"), status(403, "Forbidden"))

    async def conversation(client: HttpClient) -> None:
        for expected in (Gone, Forbidden):
            with pytest.raises(expected):
                async for _ in client.watch(NODES, resource_version="1"):
                    pass

    talk(server, conversation)


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
