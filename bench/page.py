"""The page: frames a second of its map with 5000 nodes, while 500 pods a second are placed."""

from __future__ import annotations

import asyncio
import tempfile
import time
from pathlib import Path

from bench.bounds import Check, Failed, Outcomes, Unavailable
from bench.drain.loading import create
from moorage.api.pods import Pod
from moorage.client.connection import from_kubeconfig
from moorage.client.http import HttpClient
from moorage.what_if.workloads import make_pods
from tests.page.browsing import Browser, browser, missing
from tests.page.world import World, up

_NODES = 5000
_RATE = 500
_SECONDS = 10
_PODS = _RATE * (_SECONDS + 20)

_PACE = f'''
import time

from moorage import ReservePlugin


class Pace(ReservePlugin):
    """Lets pods pass at an even rate, at no cost."""

    next = 0.0

    def reserve(self, cycle, pod, node_name):
        now = time.monotonic()
        self.next = max(self.next, now - 0.1) + 1 / {_RATE}
        time.sleep(max(0.0, self.next - now))
        return None

    def unreserve(self, cycle, pod, node_name):
        pass
'''

_PICTURE = "return document.querySelector('.stage canvas').toDataURL()"
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
    with tempfile.TemporaryDirectory(prefix="bench-") as folder, browser() as page:
        data, plugin = Path(folder) / "data", Path(folder) / "pace.py"
        plugin.write_text(_PACE)
        with up(f"--data={data}", f"--nodes={_NODES}", "--no-scheduler") as world:
            asyncio.run(_make_pods(world))
        with up(f"--data={data}", "--nodes=0", f"--plugin={plugin}") as world:
            page.open(world.signed_in)
            page.wait_for_element(".legend-marks li")
            yield from _measured(page, world)


async def _make_pods(world: World) -> None:
    async with HttpClient(from_kubeconfig(str(world.kubeconfig)), qps=-1) as client:
        await create(client, ((Pod, pod.raw) for pod in make_pods("plain", _PODS, "page")))


def _measured(page: Browser, world: World) -> Outcomes:
    seen = page.run(_PICTURE)
    begin, before = time.monotonic(), world.get("summary")["placedPods"]
    frames, longest = page.ask(_FRAMES, _SECONDS)
    placed = (world.get("summary")["placedPods"] - before) / (time.monotonic() - begin)
    if page.run(_PICTURE) == seen:
        yield Failed("the map", "it did not change while pods were placed")
    print(f"  the longest frame took {longest:.3f} s", flush=True)
    yield Check("pods placed meanwhile", placed, _RATE * 0.95, "a second", at_least=True)
    yield Check("frames of the map", frames, 30.0, "a second", at_least=True)
