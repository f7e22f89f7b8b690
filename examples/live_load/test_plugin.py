import asyncio
import json
import threading
from collections.abc import Awaitable, Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import aiohttp
import msgspec
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from examples.live_load.plugin import UNKNOWN, LiveLoad, LiveLoadArgs
from examples.live_load.server import make_app
from moorage import CycleState
from moorage.testing import Cluster, FakeHandle, make_node, make_pod

NODES = [make_node("busy"), make_node("idle"), make_node("new")]
LOADS = {"busy": 0.9, "idle": 0.125, "gone": 0.5}


def refreshed(
    app: Callable[[], web.Application], *, timeout_seconds: float = 30
) -> tuple[LiveLoad, FakeHandle]:
    """The plugin after it has asked a service."""

    async def main() -> tuple[LiveLoad, FakeHandle]:
        handle = FakeHandle(NODES)
        async with TestServer(app()) as server:
            args = LiveLoadArgs(url=str(server.make_url("/loads")), timeout_seconds=timeout_seconds)
            plugin = LiveLoad(args, handle)
            await plugin.refresh()
        return plugin, handle

    return asyncio.run(main())


def always(answer: Callable[[web.Request], Awaitable[web.Response]]) -> Callable[[], web.Application]:
    def app() -> web.Application:
        made = web.Application()
        made.router.add_get("/loads", answer)
        return made

    return app


def scores(plugin: LiveLoad, handle: FakeHandle) -> dict[str, int]:
    return {node.name: plugin.score(CycleState(), make_pod(), node) for node in handle.nodes}


def test_idle_nodes_are_preferred_and_unknown_ones_are_in_between() -> None:
    assert scores(*refreshed(lambda: make_app(dict(LOADS)))) == {"busy": 10, "idle": 88, "new": UNKNOWN}


def test_before_the_first_answer_all_are_the_same() -> None:
    handle = FakeHandle(NODES)
    plugin = LiveLoad(LiveLoadArgs(url="http://127.0.0.1:1"), handle)
    assert set(scores(plugin, handle).values()) == {UNKNOWN}


def test_what_is_stale_is_ignored() -> None:
    plugin, handle = refreshed(lambda: make_app(dict(LOADS)))
    handle.now += 60
    assert scores(plugin, handle)["idle"] == 88
    handle.now += 1
    assert set(scores(plugin, handle).values()) == {UNKNOWN}


def test_loads_out_of_range_give_scores_in_range() -> None:
    assert scores(*refreshed(lambda: make_app({"busy": 7, "idle": -3}))) == {
        "busy": 0,
        "idle": 100,
        "new": UNKNOWN,
    }


async def _broken(request: web.Request) -> web.Response:
    return web.Response(status=503)


async def _rubbish(request: web.Request) -> web.Response:
    return web.json_response(["rubbish"])


async def _never(request: web.Request) -> web.Response:
    await asyncio.Event().wait()
    raise AssertionError


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (_broken, aiohttp.ClientResponseError),
        (_rubbish, msgspec.ValidationError),
        (_never, TimeoutError),
    ],
)
def test_a_service_that_fails_is_an_error_for_the_scheduler_to_log(
    answer: Callable[[web.Request], Awaitable[web.Response]], error: type[Exception]
) -> None:
    with pytest.raises(error):
        refreshed(always(answer), timeout_seconds=0.05 if answer is _never else 30)


def test_after_a_failure_the_last_loads_stay() -> None:
    asked = []

    async def answers_once(request: web.Request) -> web.Response:
        asked.append(request)
        return web.json_response(LOADS) if len(asked) == 1 else web.Response(status=500)

    async def main() -> None:
        handle = FakeHandle(NODES)
        async with TestServer(always(answers_once)()) as server:
            plugin = LiveLoad(LiveLoadArgs(url=str(server.make_url("/loads"))), handle)
            await plugin.refresh()
            with pytest.raises(aiohttp.ClientResponseError):
                await plugin.refresh()
        assert scores(plugin, handle) == {"busy": 10, "idle": 88, "new": UNKNOWN}

    asyncio.run(main())


@pytest.mark.parametrize("field", ["periodSeconds", "timeoutSeconds", "staleSeconds"])
def test_times_are_above_zero(field: str) -> None:
    with pytest.raises(msgspec.ValidationError, match=field):
        msgspec.convert({"url": "http://127.0.0.1:1", field: 0}, LiveLoadArgs)


ASKED_AGAIN = threading.Event()
"""The loads of the first answer are known by then."""


class _Service(BaseHTTPRequestHandler):
    times = 0

    def do_GET(self) -> None:
        _Service.times += 1
        if _Service.times > 1:
            ASKED_AGAIN.set()
        body = json.dumps({"busy": 0.9, "idle": 0.1, "new": 0.9}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def service() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), _Service) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/loads"
        finally:
            server.shutdown()
            thread.join()


def test_on_a_cluster_pods_go_to_the_idle_node_once_the_loads_are_known(service: str) -> None:
    with Cluster(plugins=[LiveLoad], nodes=NODES, args={"url": service, "periodSeconds": 0.05}) as cluster:
        assert ASKED_AGAIN.wait(20)
        assert cluster.schedule(make_pod("p")).node == "idle"
