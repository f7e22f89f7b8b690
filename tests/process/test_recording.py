"""What becomes of the changes of a cluster that is followed, with the network cut and rights missing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from moorage.api.decoding import decode
from moorage.api.meta import Object
from moorage.client.errors import ApiError, Forbidden, Gone, NotFound, Unreachable
from moorage.client.http import Listing
from moorage.client.resources import Resource
from moorage.client.watching import Change
from moorage.contrib.objects import ElasticQuota
from moorage.process.recording import FLUSH_SECONDS, RECORDED, CannotRecord, Recording
from moorage.what_if.trace.anonymizing import Anonymizer
from moorage.what_if.trace.changes import Head
from moorage.what_if.trace.files import TraceFull, TraceWriter, read_trace
from tests import fake_time
from tests.what_if.trace.objects import BEGAN, Document, node, pod

HEAD = Head(began=BEGAN)


class World:
    """An API server in memory, whose watches a test feeds and cuts."""

    def __init__(self, *documents: Document) -> None:
        self._objects: dict[str, dict[str, Document]] = {}
        self._watches: dict[str, asyncio.Queue[Any]] = {}
        self._version = 1
        self.refused: dict[str, ApiError] = {}
        self.is_cut = False
        for document in documents:
            self._keep(document)

    def put(self, document: Document) -> None:
        self._tell("MODIFIED", self._keep(document))

    def remove(self, document: Document) -> None:
        del self._objects[document["kind"]][document["metadata"]["name"]]
        self._tell("DELETED", document)

    def cut(self) -> None:
        self.is_cut = True
        for watch in self._watches.values():
            watch.put_nowait(Unreachable(0, "", "connection reset"))

    def mend(self) -> None:
        self.is_cut = False

    def _keep(self, document: Document) -> Document:
        self._version += 1
        document = {**document, "metadata": {**document["metadata"], "resourceVersion": str(self._version)}}
        self._objects.setdefault(document["kind"], {})[document["metadata"]["name"]] = document
        return document

    def _tell(self, type: str, document: Document) -> None:
        if not self.is_cut and (watch := self._watches.get(document["kind"])) is not None:
            watch.put_nowait((type, document))

    async def list(self, resource: Resource[Any], **options: Any) -> Listing[Any]:
        if self.is_cut:
            raise Unreachable(0, "", "no route")
        if error := self.refused.get(resource.plural):
            raise error
        found = self._objects.get(resource.kind, {}).values()
        return Listing(
            [decode(resource.type, msgspec.json.encode(each)) for each in found], str(self._version)
        )

    async def watch(self, resource: Resource[Any], **options: Any) -> AsyncGenerator[Any, None]:
        if self.is_cut:
            raise Unreachable(0, "", "no route")
        if options["resource_version"] != str(self._version):
            raise Gone(410, "Expired", "too old resource version")
        options["heard"]()
        queue = self._watches[resource.kind] = asyncio.Queue()
        while True:
            told = await queue.get()
            if isinstance(told, Exception):
                raise told
            kind, document = told
            item: Object = decode(resource.type, msgspec.json.encode(document))
            yield Change(kind, item, item.metadata.resource_version, item.key)


Told = list[tuple[float, str, str, bool]]


def recorded(
    world: World,
    file: Path,
    play: Callable[[], Awaitable[None]],
    *,
    said: list[str] | None = None,
    anonymizer: Anonymizer | None = None,
    most_bytes: int | None = None,
    kinds: Sequence[type[Object]] = RECORDED,
) -> None:
    """Records while a test plays, in made-up time that begins with the trace."""

    async def main() -> None:
        trace = (
            TraceWriter.resumed(file, most_bytes=most_bytes)
            if file.exists()
            else TraceWriter(file, HEAD, most_bytes=most_bytes)
        )
        with trace:
            begun = trace.time
            lines: list[str] = [] if said is None else said
            recording = Recording(
                world,
                trace,
                kinds,
                anonymizer=anonymizer,
                tell=lines.append,
                clock=lambda: begun + fake_time.now(),
            )
            running = asyncio.ensure_future(recording.run())
            playing = asyncio.ensure_future(_later(play))
            await asyncio.wait({running, playing}, return_when=asyncio.FIRST_COMPLETED)
            for task in (running, playing):
                task.cancel()
            await asyncio.wait({running, playing})
            for task in (running, playing):
                if not task.cancelled():
                    task.result()

    fake_time.run(main())


async def _later(play: Callable[[], Awaitable[None]]) -> None:
    await asyncio.sleep(1)
    await play()
    await asyncio.sleep(1)


async def nothing() -> None:
    return None


def told(file: Path) -> Told:
    return [
        (
            round(change.time - BEGAN, 3),
            change.item.name,
            change.item.raw.get("spec", {}).get("nodeName", "")
            + " "
            + change.item.raw.get("status", {}).get("phase", ""),
            change.gone,
        )
        for change in read_trace(file)
    ]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "trace.moor"


def test_what_there_is_comes_first_and_then_what_changes(file: Path) -> None:
    ended = pod("old", "node-a", phase="Succeeded")
    world = World(node("node-b"), node("node-a"), pod("web-1", "node-b", phase="Running"), ended)
    waiting = pod("web-2")
    del waiting["metadata"]["creationTimestamp"]

    async def play() -> None:
        world.put(waiting)
        await asyncio.sleep(1)
        world.put({**waiting, "spec": {**waiting["spec"], "nodeName": "node-a"}})
        await asyncio.sleep(1)
        world.remove(pod("web-1", "node-b", phase="Running"))

    recorded(world, file, play)
    assert told(file) == [
        (0, "node-b", " ", False),
        (0, "node-a", " ", False),
        (0, "web-1", "node-b Running", False),
        (1, "web-2", " Pending", False),
        (2, "web-2", "node-a Pending", False),
        (3, "web-1", "node-b Running", True),
    ]


def test_what_a_cut_network_hid_is_told_with_the_times_that_pods_know(file: Path) -> None:
    world = World(node("node-a"), pod("stays", "node-a"), pod("goes", "node-a"))
    said: list[str] = []
    unseen = pod("unseen", "node-a", phase="Succeeded")
    unseen["metadata"]["creationTimestamp"] = "2023-11-14T22:13:25Z"  # five seconds after the beginning
    unseen["status"] |= {
        "conditions": [
            {"type": "PodScheduled", "status": "True", "lastTransitionTime": "2023-11-14T22:13:27Z"}
        ],
        "containerStatuses": [
            {"name": "main", "state": {"terminated": {"finishedAt": "2023-11-14T22:13:29Z"}}}
        ],
    }

    async def play() -> None:
        world.cut()
        await asyncio.sleep(2)
        world.put(unseen)
        world.remove(pod("goes", "node-a"))
        await asyncio.sleep(30)
        world.mend()
        await asyncio.sleep(60)
        world.put(pod("stays", "node-a", phase="Running"))

    recorded(world, file, play, said=said)
    *unseen_life, last = [each for each in told(file) if each[1] != "goes"][2:]
    assert unseen_life == [
        (5, "unseen", " Pending", False),
        (7, "unseen", "node-a Running", False),
        (9, "unseen", "node-a Succeeded", False),
    ]
    assert last[1:] == ("stays", "node-a Running", False)
    (gone,) = [each for each in told(file) if each[3]]
    assert gone[1] == "goes"
    assert said == [
        "the cluster does not answer (connection reset); recording goes on when it does",
        "the cluster answers again; what has changed meanwhile is recorded",
    ]


def test_each_cut_and_each_end_of_it_is_told_once_though_nothing_changes(file: Path) -> None:
    world, said = World(node("node-a"), pod("web-1")), list[str]()

    async def play() -> None:
        for more in range(20):
            world.cut()
            await asyncio.sleep(1.5 + 0.07 * more)
            world.mend()
            await asyncio.sleep(60)

    recorded(world, file, play, said=said)
    assert said == 20 * [
        "the cluster does not answer (connection reset); recording goes on when it does",
        "the cluster answers again; what has changed meanwhile is recorded",
    ]


def test_going_on_with_a_trace_tells_the_differences(file: Path) -> None:
    recorded(World(node("node-a"), node("node-b"), pod("web-1"), pod("web-2")), file, nothing)
    before = told(file)
    again = pod("web-2")
    again["metadata"]["uid"] = "another web-2"
    world = World(node("node-a"), node("node-c"), pod("web-1", "node-a"), again)

    async def play() -> None:
        await asyncio.sleep(3)
        world.put(pod("web-1", "node-a", phase="Running"))

    recorded(world, file, play)
    assert told(file)[: len(before)] == before
    assert [(name, state, gone) for _, name, state, gone in told(file)[len(before) :]] == [
        ("node-c", " ", False),
        ("web-1", "node-a Pending", False),
        ("web-2", " Pending", True),
        ("web-2", " Pending", False),
        ("node-b", " ", True),
        ("web-1", "node-a Running", False),
    ]


def test_going_on_without_names(file: Path) -> None:
    recorded(World(node("node-a"), pod("web-1")), file, nothing, anonymizer=Anonymizer(b"key"))
    before = told(file)
    recorded(World(node("node-a"), pod("web-1", "node-a")), file, nothing, anonymizer=Anonymizer(b"key"))
    ((_, name, state, gone),) = told(file)[len(before) :]
    assert name == before[1][1] and name != "web-1"
    assert (state, gone) == (f"{before[0][1]} Pending", False)


def test_kinds_that_may_not_be_read_are_named_with_the_rule_and_left_out(file: Path) -> None:
    world = World(node("node-a"))
    world.refused["csinodes"] = Forbidden(403, "Forbidden", "no")
    world.refused["podgroups"] = NotFound(404, "NotFound", "not served")
    said: list[str] = []
    recorded(world, file, nothing, said=said)
    assert [name for _, name, _, _ in told(file)] == ["node-a"]
    assert said == [
        "may not list csinodes.storage.k8s.io, which is recorded without; to have it, add the rule "
        '{apiGroups: ["storage.k8s.io"], resources: ["csinodes"], verbs: ["list", "watch"]} '
        "to a ClusterRole of this user"
    ]


def test_a_kind_that_was_asked_for_and_is_not_served_is_named(file: Path) -> None:
    world = World(node("node-a"))
    world.refused["elasticquotas"] = NotFound(404, "NotFound", "not served")
    said: list[str] = []
    recorded(world, file, nothing, said=said, kinds=(*RECORDED, ElasticQuota))
    assert said == ["elasticquotas.scheduling.x-k8s.io is not served; it is recorded from when it is"]


def test_without_pods_there_is_nothing_to_record(file: Path) -> None:
    world = World(node("node-a"))
    world.refused["pods"] = Forbidden(403, "Forbidden", "no")
    with pytest.raises(CannotRecord, match=r"may not list pods; add the rule \{apiGroups: \[\"\"\]"):
        recorded(world, file, nothing)


def test_a_trace_that_is_full_ends_the_recording_and_keeps_everything(file: Path) -> None:
    world = World(node("node-a"))
    put = []

    async def play() -> None:
        for number in range(1000):
            put.append(f"node-{number}")
            world.put(node(put[-1]))
            await asyncio.sleep(0.1)

    with pytest.raises(TraceFull):
        recorded(world, file, play, most_bytes=4000)
    names = [name for _, name, _, _ in told(file)]
    assert 20 < len(names) < 1000 and names == ["node-a", *put][: len(names)]
    assert file.stat().st_size <= 4000


def test_what_happened_is_soon_in_the_file(file: Path) -> None:
    world = World(node("node-a"))
    seen: list[int] = []

    async def play() -> None:
        world.put(node("node-b"))
        await asyncio.sleep(FLUSH_SECONDS + 2)
        seen.append(len(told(file)))

    recorded(world, file, play)
    assert seen == [2]


def test_an_object_that_cannot_be_read_is_left_out_and_named(file: Path) -> None:
    world = World(node("node-a"))
    strange = pod("strange")
    strange["spec"]["volumes"] = [
        {"name": "v", "ephemeral": {"volumeClaimTemplate": {"spec": {"accessModes": 5}}}}
    ]
    said: list[str] = []

    async def play() -> None:
        world.put(strange)

    recorded(world, file, play, said=said)
    assert [name for _, name, _, _ in told(file)] == ["node-a"]
    assert len(said) == 1 and said[0].startswith("Pod shop/strange cannot be read and is left out: ")
