"""An API server in memory that takes events, and what writes them, in fake time."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Coroutine
from typing import Any

from moorage.api.meta import Object, ObjectMeta
from moorage.api.pods import Pod
from moorage.client.resources import Resource
from moorage.process import event_recorder
from moorage.process.event_recorder import EventBroadcaster
from tests import fake_time

START = 1_700_000_000.0
MINUTE = 60.0


class Refusal(Exception):
    def __init__(self, code: int) -> None:
        super().__init__(f"refused with {code}")
        self.code = code


class Server:
    """Keeps events by name; `answers` are raised, one per write, before writes succeed."""

    def __init__(self) -> None:
        self.discovery: list[Exception] = []
        self.answers: list[Exception] = []
        self.always: Exception | None = None
        self.events: dict[str, dict[str, Any]] = {}
        self.writes: list[tuple[float, str]] = []
        self.resources: set[str] = set()
        self.blocked: asyncio.Event | None = None
        self.at_once = self.most_at_once = 0
        self.seconds = 0.0

    async def request_json(self, method: str, path: str) -> Any:
        assert (method, path) == ("GET", "/apis/events.k8s.io/v1")
        if self.discovery:
            raise self.discovery.pop(0)
        return {"kind": "APIResourceList"}

    async def post(self, resource: Resource[Any], document: dict[str, Any]) -> None:
        await self._write("create", resource)
        name = document["metadata"]["name"]
        if name in self.events:
            raise Refusal(409)
        self.events[name] = document

    async def patch(
        self, resource: Resource[Any], name: str, patch: dict[str, Any], *, kind: str, namespace: str
    ) -> Any:
        await self._write("patch", resource)
        if name not in self.events:
            raise Refusal(404)
        assert (kind, namespace) == ("merge", self.events[name]["metadata"]["namespace"])
        self.events[name] |= patch
        return self.events[name]

    async def _write(self, verb: str, resource: Resource[Any]) -> None:
        self.writes.append((fake_time.now(), verb))
        self.resources.add(str(resource))
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            if self.blocked is not None:
                await self.blocked.wait()
            if self.seconds:
                await asyncio.sleep(self.seconds)
        finally:
            self.at_once -= 1
        if self.always is not None:
            raise self.always
        if self.answers:
            raise self.answers.pop(0)

    @property
    def verbs(self) -> list[str]:
        return [verb for _, verb in self.writes]


def pod(name: str = "p", version: str = "5") -> Pod:
    return Pod(metadata=ObjectMeta(name=name, namespace="shop", uid=f"uid-{name}", resource_version=version))


class World:
    def __init__(self) -> None:
        self.server = Server()
        self.dropped: Counter[str] = Counter()
        self.is_busy = False
        self.broadcaster = EventBroadcaster(
            self.server,
            on_drop=self._dropped,
            is_busy=lambda: self.is_busy,
            clock=lambda: START + fake_time.now(),
            hostname="host-1",
            rand=lambda: 1.0,
        )
        self.recorder = self.broadcaster.recorder("my-scheduler")
        self.running = asyncio.get_running_loop().create_task(self.broadcaster.run())

    def fail_scheduling(self, target: Object | None = None, note: str = "no node") -> None:
        self.recorder.event(
            pod() if target is None else target, None, "Warning", "FailedScheduling", "Scheduling", note
        )

    def schedule(self, name: str) -> None:
        note = f"Successfully assigned shop/{name} to n1"
        self.recorder.event(pod(name), None, "Normal", "Scheduled", "Binding", note)

    def _dropped(self, why: str, count: int) -> None:
        assert why in event_recorder.WHY_DROPPED
        self.dropped[why] += count

    async def settle(self, seconds: float = 1.0) -> None:
        await asyncio.sleep(seconds)

    @property
    def only(self) -> dict[str, Any]:
        [event] = self.server.events.values()
        return event


def in_world(script: Any) -> None:
    """Runs `script(world)` and stops the broadcaster after it."""

    async def main() -> None:
        world = World()
        coroutine: Coroutine[Any, Any, None] = script(world)
        await coroutine
        await world.broadcaster.stop(0)
        assert world.running.done()

    fake_time.run(main())
