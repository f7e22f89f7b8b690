import asyncio
from collections.abc import Awaitable, Callable

import msgspec
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from examples.license_server.plugin import PRODUCT, LicenseServer, LicenseServerArgs
from examples.license_server.server import make_app
from moorage import Code, CycleState, Pod, Status
from moorage.testing import Cluster, FakeHandle, make_pod


def licensed(name: str = "pod", product: str = "cad") -> Pod:
    return make_pod(name, annotations={PRODUCT: product})


def asked(app: web.Application, *pods: Pod, seconds: float = 30) -> list[Status | None]:
    """What the plugin says to each of these pods, one after the other, beside a running server."""

    async def main() -> list[Status | None]:
        async with TestServer(app) as server:
            args = LicenseServerArgs(url=str(server.make_url("")).rstrip("/"), timeout_seconds=seconds)
            plugin = LicenseServer(args, FakeHandle())
            return [await plugin.pre_bind(CycleState(), pod, "node-1") for pod in pods]

    return asyncio.run(main())


def always(answer: Callable[[web.Request], Awaitable[web.Response]]) -> web.Application:
    app = web.Application()
    app.router.add_put("/seats/{holder}", answer)
    return app


def test_a_seat_is_taken_and_may_be_asked_for_again() -> None:
    first, again = asked(make_app({"cad": 1}), licensed("a"), licensed("a"))
    assert first is None
    assert again is None


def test_a_pod_without_a_seat_is_refused() -> None:
    first, second = asked(make_app({"cad": 1}), licensed("a"), licensed("b"))
    assert first is None
    assert second == Status.unschedulable("no free seat for cad")


def test_a_server_that_does_not_answer_is_an_error() -> None:
    async def never(request: web.Request) -> web.Response:
        await asyncio.Event().wait()
        raise AssertionError

    [status] = asked(always(never), licensed(), seconds=0.05)
    assert status == Status.error("no answer from the license server within 0.05 s")


def test_a_server_that_fails_is_an_error() -> None:
    async def broken(request: web.Request) -> web.Response:
        return web.Response(status=503)

    assert asked(always(broken), licensed()) == [Status.error("the license server answered 503")]


def test_a_server_that_talks_rubbish_is_an_error() -> None:
    async def rubbish(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readline()
        writer.write(b"rubbish\r\n\r\n")
        writer.close()

    async def main() -> Status | None:
        async with await asyncio.start_server(rubbish, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            plugin = LicenseServer(LicenseServerArgs(url=f"http://127.0.0.1:{port}"), FakeHandle())
            return await plugin.pre_bind(CycleState(), licensed(), "node-1")

    status = asyncio.run(main())
    assert status is not None
    assert status.code is Code.ERROR
    assert status.message.startswith("the license server cannot be asked: ")


def test_a_server_that_is_not_there_is_an_error() -> None:
    plugin = LicenseServer(LicenseServerArgs(url="http://127.0.0.1:1"), FakeHandle())
    status = asyncio.run(plugin.pre_bind(CycleState(), licensed(), "node-1"))
    assert status is not None
    assert status.code is Code.ERROR
    assert status.message.startswith("the license server cannot be asked: ")


def test_other_pods_need_no_seat() -> None:
    plugin = LicenseServer(LicenseServerArgs(url="http://127.0.0.1:1"), FakeHandle())
    assert plugin.pre_bind_pre_flight(CycleState(), make_pod(), "node-1") == Status.skip()
    assert plugin.pre_bind_pre_flight(CycleState(), licensed(), "node-1") is None


@pytest.mark.parametrize("seconds", [0, -1])
def test_there_is_always_a_time_out(seconds: float) -> None:
    with pytest.raises(msgspec.ValidationError, match="timeoutSeconds"):
        msgspec.convert({"url": "http://127.0.0.1:1", "timeoutSeconds": seconds}, LicenseServerArgs)


def test_pods_of_a_cluster_get_as_many_nodes_as_there_are_seats() -> None:
    async def main() -> list[tuple[str, str]]:
        async with TestServer(make_app({"cad": 1})) as server:
            args = {"url": str(server.make_url("")).rstrip("/")}
            with Cluster(LicenseServer, nodes=1, args=args) as cluster:
                pods = [licensed("first"), licensed("second")]
                # The server needs this thread while the plugin asks it.
                outcomes = [await asyncio.to_thread(cluster.schedule, pod) for pod in pods]
                return [(each.node, each.message) for each in outcomes]

    assert asyncio.run(main()) == [("node-1", ""), ("", "no free seat for cad")]
