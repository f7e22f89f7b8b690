"""The API over real connections: pages, wrong questions, hostile texts, streams, the page's files."""

from __future__ import annotations

import asyncio
import io
import json
import socket
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientSession, ClientTimeout

from moorage import CycleState, FilterPlugin, NodeInfo, Pod, Status
from moorage.insight.log.entries import OUTCOMES
from moorage.server.access import Access
from moorage.server.insight import page_files
from moorage.server.insight.api import InsightApi
from moorage.server.insight.loopback import HOST, LoopbackServer
from moorage.server.insight.page_files import PageFiles
from moorage.testing import make_node
from tests.insight.live.worlds import World
from tests.server.insight.serving import Ask, Reply, answers, asked, serving

# Pages


def all_pages(world: World, path: str, field: str) -> list[Any]:
    async def work(ask: Ask) -> list[Any]:
        found, following = [], ""
        while True:
            page = (await ask(f"{path}{following}")).document
            found += page[field]
            if "continue" not in page:
                return found
            following = f"&continue={page['continue']}"

    return asked(world, work)


def test_lists_come_in_pages() -> None:
    world = World(nodes=7)
    for number in range(12):
        world.pod(f"web-{number:02}", cpu="1m")
        world.pod(f"big-{number:02}", cpu="100")
    world.schedule()
    assert len(all_pages(world, "nodes?limit=2", "names")) == 7
    assert [each["number"] for each in all_pages(world, "attempts?limit=5", "attempts")] == list(
        range(24, 0, -1)
    )
    bound = all_pages(world, "attempts?outcome=bound&limit=5", "attempts")
    assert [each["pod"]["name"] for each in bound] == [f"web-{number:02}" for number in range(11, -1, -1)]
    assert len(all_pages(world, "queue?limit=5", "pods")) == 12
    rows = all_pages(world, "attempts/1/nodes?sort=name&limit=3", "rows")
    assert [row["node"] for row in rows] == [f"node-{number}" for number in range(7)]


def test_a_page_of_nodes_that_are_others_by_now() -> None:
    world = World(nodes=7)

    async def work(ask: Ask) -> Reply:
        first = (await ask("nodes?limit=3")).document
        world.put(make_node("new"))
        return await ask(f"nodes?limit=3&continue={first['continue']}")

    reply = asked(world, work)
    assert (reply.status, reply.document["reason"]) == (410, "Expired")


# Wrong questions


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("summary?x=1", "'x' is no parameter of this path; there are: none"),
        ("nodes?limit=0", "limit: 0 is not between 1 and 20000"),
        ("nodes?limit=-3", "limit: '-3' is no whole number"),
        ("nodes?limit=9999999999999999999999", "limit: '9999999999999999999999' is no whole number"),
        ("nodes?labels=a,b,c,d,e,f,g,h,i", "labels: 9 keys are too many; give at most 8"),
        ("nodes?continue=abc", "continue: it is not from an earlier answer of this path"),
        ("nodes?continue=%F0%9F%92%A9", "continue: it is not from an earlier answer of this path"),
        ("queue?limit=1001", "limit: 1001 is not between 1 and 1000"),
        ("queue?limit=٣", "limit: '٣' is no whole number"),
        ("queue?where=nowhere", "where: 'nowhere' is none of active, backoff, unschedulable, gated"),
        ("queue?search=" + "x" * 2000, "search: 2000 characters are too many"),
        ("queue?where=active&where=gated", "where: it is given more than once"),
        ("pending?advise=1", "advise: '1' is neither true nor false"),
        ("attempts?pod=web", "pod: write it like default/web-1"),
        ("attempts?outcome=lost", f"outcome: 'lost' is none of {', '.join(OUTCOMES)}"),
        ("attempts/x", "the number of the attempt: 'x' is no whole number"),
        ("attempts/1/nodes?sort=No", "sort: 'No' is neither total nor name nor a plugin that scores"),
        ("attempts/1/nodes?order=up", "order: 'up' is none of asc, desc"),
        ("attempts/1/nodes?only=best", "only: 'best' is none of feasible, rejected, unseen"),
        ("stream?since=x", "since: 'x' is no whole number"),
    ],
)  # fmt: skip
def test_a_wrong_value_is_named_in_one_line(path: str, message: str) -> None:
    world = World()
    world.pod("a")
    world.schedule()
    [reply] = answers(world, path)
    assert (reply.status, reply.document["reason"]) == (400, "BadRequest")
    assert reply.document["message"] == message


def test_paths_and_methods_that_are_not_there() -> None:
    async def work(ask: Ask) -> list[tuple[int, str]]:
        replies = [
            await ask("nothing"),
            await ask("attempts/1/nodes/more"),
            await ask("/insight/v1"),
            await ask("/insight/v2/summary"),
            await ask("summary", "POST"),
            await ask("try"),
            await ask("summary", "DELETE"),
            await ask("attempts/7"),
            await ask("pods/default/nobody"),
        ]
        return [(reply.status, reply.document["reason"]) for reply in replies]

    assert asked(World(), work) == [
        *[(404, "NotFound")] * 4,
        *[(405, "MethodNotAllowed")] * 3,
        *[(404, "NotFound")] * 2,
    ]


def test_a_body_that_is_too_large_or_none() -> None:
    async def work(ask: Ask) -> list[Reply]:
        large = json.dumps({"pod": {"metadata": {"name": "x" * 2**20}}})
        return [
            await ask("try", "POST", data=io.BytesIO(large.encode())),
            await ask("try", "POST"),
            await ask("compare", "POST"),
        ]

    large, *empty = asked(World(), work)
    assert (large.status, large.document["message"]) == (413, "the body is larger than 1048576 bytes")
    assert [reply.status for reply in empty] == [400, 400]


def test_while_no_scheduler_runs() -> None:
    async def main() -> list[int]:
        async with serving(lambda: None) as ask:
            return [(await ask(path)).status for path in ("summary", "stream", "openapi", "nothing")]

    assert asyncio.run(main()) == [503, 503, 200, 404]


def test_a_caller_who_goes_has_the_question_ended(caplog: pytest.LogCaptureFixture) -> None:
    world = World()
    ended = asyncio.Event()

    async def never(*args: Any, **more: Any) -> bytes:
        try:
            await asyncio.sleep(60)
        finally:
            ended.set()
        return b""

    world.questions.try_pod = never  # type: ignore[method-assign]

    async def work(ask: Ask) -> None:
        with pytest.raises(TimeoutError):
            await ask("try", "POST", data='{"pod": {"name": "a"}}', timeout=ClientTimeout(total=0.2))
        await ended.wait()

    asked(world, work)
    assert not caplog.records


# Hostile texts

MARKUP = "<script>alert(1)</script><img src=x onerror=alert(1)>"
CONTROL = "\x00\x1b[31m\r\n\u202e\ufeff\x7f"
HALF = "half \ud800 of a character"


class Hostile(FilterPlugin):
    """Rejects nodes with texts that try to get out of where they stand."""

    def filter(self, cycle: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
        texts = {"markup": MARKUP, "control": CONTROL, "half": HALF, "long": "x" * 2_000_000}
        return Status.unschedulable(texts.get(pod.name, "no"))


def test_hostile_texts_stay_texts() -> None:
    world = World(Hostile, nodes=0)
    labels = {"markup": MARKUP, "control": CONTROL, "long": "y" * 1_000_000, MARKUP: "key"}
    world.put(make_node("a", labels=labels, taints=[]))
    for name in ("markup", "control", "half", "long"):
        world.pod(name, annotations={"evil": MARKUP}, labels={"a": CONTROL})
    world.schedule()
    paths = [
        "summary",
        "nodes?labels=markup,control,long",
        "queue",
        "pending",
        "attempts",
        *(f"attempts/{number}" for number in (1, 2, 3, 4)),
        *(f"attempts/{number}/nodes?search=%3Cscript" for number in (1, 2, 3, 4)),
        *(f"pods/default/{name}" for name in ("markup", "control", "half", "long")),
        "pods/default/%3Cscript%3E",
        "pods/%00/%1b%5b",
        "pods/default/%ff%fe",
        "%3Cscript%3E?%3Cscript%3E=1",
    ]
    for path, reply in zip(paths, answers(world, *paths), strict=True):
        assert reply.headers["Content-Type"] == "application/json; charset=utf-8".partition(";")[0]
        assert reply.headers.get("X-Content-Type-Options", "nosniff") == "nosniff"
        assert reply.document is not None, path  # it is UTF-8 and JSON
        assert b"\x00" not in reply.body and b"\x1b" not in reply.body
        assert reply.status in (200, 400, 404), path
        assert len(reply.body) < 100_000, path
    nodes, queued = answers(world, "nodes?labels=markup,long", "queue")
    assert nodes.document["labels"]["markup"]["values"] == ["", MARKUP]
    assert len(nodes.document["labels"]["long"]["values"][1]) <= 256
    messages = {each["pod"]["name"]: each["message"] for each in queued.document["pods"]}
    assert MARKUP in messages["markup"] and CONTROL in messages["control"]
    assert len(messages["long"]) <= 4096


def test_hostile_pods_are_tried_like_others() -> None:
    pod = {"metadata": {"name": "x" * 1000, "labels": {MARKUP: CONTROL}}, "spec": {"nodeName": MARKUP}}

    async def work(ask: Ask) -> list[Reply]:
        bodies = [
            {"pod": pod},
            {"pod": {"name": MARKUP}},
            {"pod": {"name": CONTROL}},
            {"pod": pod, "set": [MARKUP, CONTROL]},
            {"pod": pod, "config": MARKUP + CONTROL},
            {"pod": pod, "withoutPods": [MARKUP]},
        ]
        return [await ask("try", "POST", data=json.dumps(body)) for body in bodies]

    replies = asked(World(), work)
    assert [reply.status for reply in replies] == [200, 400, 400, 400, 400, 400]
    assert all(reply.document for reply in replies)


# Streams


def test_a_stream_over_a_connection() -> None:
    world = World(nodes=3)

    async def main() -> tuple[dict[str, str], str]:
        api = InsightApi(lambda: world.questions)
        server = LoopbackServer(api, PageFiles(), Access(always_allow_paths=["*"]))
        listener = socket.create_server((HOST, 0))
        await server.start(listener)
        port = listener.getsockname()[1]
        url = f"http://{HOST}:{port}/insight/v1/stream"
        async with (
            asyncio.timeout(30),
            ClientSession() as session,
            session.get(url, headers={"Last-Event-ID": "0"}) as response,
        ):
            told = ""
            world.pod("a")
            await world.scheduler.drain()
            while "event: attempts" not in told:
                told += (await response.content.readany()).decode()
            stopping = asyncio.create_task(server.stop())
            rest = await response.content.read()  # it ends with the server
            await stopping
            return dict(response.headers), told + rest.decode()

    headers, told = asyncio.run(main())
    assert headers["Content-Type"] == "text/event-stream"
    assert headers["Cache-Control"] == "no-store"
    assert "event: summary\ndata: {" in told and '"name":"a"' in told


def test_who_leaves_a_stream_leaves_nothing_behind(caplog: pytest.LogCaptureFixture) -> None:
    world = World(nodes=3)

    async def main() -> None:
        api = InsightApi(lambda: world.questions)
        server = LoopbackServer(api, PageFiles(), Access(always_allow_paths=["*"]))
        listener = socket.create_server((HOST, 0))
        await server.start(listener)
        port = listener.getsockname()[1]
        url = f"http://{HOST}:{port}/insight/v1/stream"
        async with asyncio.timeout(30), ClientSession() as session:
            async with session.get(url) as response:
                await response.content.readany()
                assert len(api.broadcast) == 1
                response.close()
            while len(api.broadcast):
                world.pod(f"pod-{world.log.newest}")
                await world.scheduler.drain()
                await asyncio.sleep(0.01)
        await server.stop()

    asyncio.run(main())
    assert not caplog.records and not world.log.followers


# The page's files


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PageFiles:
    folder = tmp_path / "page"
    (folder / "parts").mkdir(parents=True)
    (folder / "index.html").write_text("<!doctype html>")
    (folder / "parts" / "map.js").write_text("export {}")
    (folder / "style.css").write_text("a {}")
    (folder / "notes.txt").write_text("not for everybody")
    (tmp_path / "secret.js").write_text("secret")
    monkeypatch.setattr(page_files, "files", lambda package: tmp_path)
    return PageFiles()


def test_the_files_of_the_page_are_for_everybody(page: PageFiles) -> None:
    paths = ("/dashboard/", "/dashboard/index.html", "/dashboard/parts/map.js", "/dashboard/style.css")
    replies = answers(World(), *paths, page=page, access=Access())
    assert [(reply.status, reply.headers["Content-Type"]) for reply in replies] == [
        (200, "text/html; charset=utf-8"),
        (200, "text/html; charset=utf-8"),
        (200, "text/javascript; charset=utf-8"),
        (200, "text/css; charset=utf-8"),
    ]
    for reply in replies:
        assert reply.headers["Content-Security-Policy"] == (
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
            "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        )
        assert reply.headers["X-Content-Type-Options"] == "nosniff"
        assert reply.headers["Referrer-Policy"] == "no-referrer"
        assert "Server" not in reply.headers


def test_a_file_that_the_caller_has_is_not_sent_again(page: PageFiles) -> None:
    async def work(ask: Ask) -> tuple[Reply, Reply, Reply]:
        first = await ask("/dashboard/style.css")
        again = await ask("/dashboard/style.css", headers={"If-None-Match": first.headers["ETag"]})
        changed = await ask("/dashboard/style.css", headers={"If-None-Match": '"other"'})
        return first, again, changed

    first, again, changed = asked(World(), work, page=page)
    assert (first.body, again.status, again.body, changed.status) == (b"a {}", 304, b"", 200)


def test_nothing_else_is_served(page: PageFiles) -> None:
    async def work(ask: Ask) -> list[tuple[int, str]]:
        paths = (
            "/dashboard/notes.txt",
            "/dashboard/../secret.js",
            "/dashboard/%2e%2e/secret.js",
            "/dashboard/..%2fsecret.js",
            "/dashboard//etc/passwd",
            "/dashboard/parts",
            "/dashboard/parts/",
            "/dashboard/index.html/",
            "/",
        )
        replies = [await ask(path) for path in paths]
        replies += [await ask("/dashboard/", method) for method in ("POST", "PUT", "DELETE")]
        replies.append(await ask("/dashboard"))
        return [(reply.status, reply.headers.get("Location", "")) for reply in replies]

    found = asked(World(), work, page=page)
    assert found == [(404, "")] * 9 + [(405, "")] * 3 + [(308, "/dashboard/")]


def test_every_file_of_the_page_has_a_type_and_is_installed() -> None:
    """What stands in the folder is what the browser gets."""
    folder = Path(page_files.__file__).parents[1] / "page"
    served = {path.removeprefix("/dashboard/") for path in PageFiles()} - {""}
    there = {str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file()}
    assert served == there


# Who is meant


HOSTS = (
    "127.0.0.1:PORT",
    "localhost:PORT",
    "LOCALHOST:PORT",
    "[::1]:PORT",
    "localhost",
    "evil.example",
    "evil.example:PORT",
    "127.0.0.1:1",
    "127.0.0.1.evil.example:PORT",
    "[::1].evil:PORT",
    "",
)


def test_only_this_machine_s_own_names_are_answered(page: PageFiles) -> None:
    """A page of another site whose name leads to 127.0.0.1 gets nothing."""

    async def main() -> dict[str, int]:
        server = LoopbackServer(InsightApi(lambda: None), page, Access(always_allow_paths=["*"]))
        listener = socket.create_server((HOST, 0))
        await server.start(listener)
        port = listener.getsockname()[1]
        found = {}
        try:
            async with ClientSession() as session:
                for host in HOSTS:
                    headers = {"Host": host.replace("PORT", str(port))}
                    url = f"http://{HOST}:{port}/dashboard/"
                    async with session.get(url, headers=headers) as response:
                        found[host] = response.status
        finally:
            await server.stop()
        return found

    found = asyncio.run(main())
    assert tuple(host for host, status in found.items() if status == 200) == HOSTS[:5]
    assert set(found.values()) == {200, 403}
