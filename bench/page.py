"""The page: frames a second of its map with 5000 nodes, while 500 pods a second are placed."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from bench.bounds import Check, Outcomes, Unavailable
from moorage.client.connection import from_kubeconfig
from moorage.client.http import HttpClient
from tests.page.browsing import Browser, browser, missing
from tests.page.world import World, pod, up

_NODES = 5000
_RATE = 500
_SECONDS = 10
_BEFORE = 3
"""Seconds for which pods come before frames are counted."""
_PER_TURN = 50

_FRAMES = """
    const [seconds] = given;
    return await new Promise((done) => {
        let frames = 0, longest = 0, last = performance.now();
        const begin = last;
        const next = (now) => {
            frames += 1; longest = Math.max(longest, now - last); last = now;
            if (now - begin < seconds * 1000) requestAnimationFrame(next);
            else done([frames / (now - begin) * 1000, longest / 1000]);
        };
        requestAnimationFrame(next);
    })
"""


def measure() -> Outcomes:
    if lacking := missing():
        raise Unavailable(f"no browser: {lacking}")
    print(f"\nthe page, {_NODES} nodes, {_RATE} pods a second", flush=True)
    with up(f"--nodes={_NODES}") as world, browser() as page:
        page.open(world.signed_in)
        page.wait_for_text(f"{_NODES // 1000}\u2009{_NODES % 1000:03}", "#figures")
        page.wait_for_element(".legend-marks li")
        with _pods_come(world):
            time.sleep(_BEFORE)
            yield from _measured(page, world)


def _measured(page: Browser, world: World) -> Outcomes:
    begin, before = time.monotonic(), world.get("summary")["placedPods"]
    frames, longest = page.ask(_FRAMES, _SECONDS)
    placed = (world.get("summary")["placedPods"] - before) / (time.monotonic() - begin)
    print(f"  {placed:.0f} pods a second placed, the longest frame took {longest:.3f} s", flush=True)
    yield Check("pods placed meanwhile", placed, _RATE * 0.9, "a second", at_least=True)
    yield Check("frames of the map", frames, 30.0, "a second", at_least=True)


@contextmanager
def _pods_come(world: World) -> Iterator[None]:
    """Has pods made at the rate, for as long as the block lasts."""
    ended = threading.Event()
    thread = threading.Thread(target=lambda: asyncio.run(_make(world, ended)))
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


async def _make(world: World, ended: threading.Event) -> None:
    async with HttpClient(from_kubeconfig(str(world.kubeconfig)), qps=-1) as client:
        begin, made = time.monotonic(), 0
        while not ended.is_set():
            wanted = int((time.monotonic() - begin) * _RATE) - made
            if wanted < _PER_TURN:
                await asyncio.sleep(0.01)
                continue
            await asyncio.gather(*(_create(client, made + place) for place in range(wanted)))
            made += wanted


async def _create(client: HttpClient, number: int) -> None:
    body = json.dumps(pod(f"pod-{number}", cpu="200m")).encode()
    await client.send("POST", "/api/v1/namespaces/default/pods", body)
