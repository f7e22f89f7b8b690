"""Has cases played by kube-scheduler and by Moorage at the same time, each on a stage of its own."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping
from typing import TypeVar

from tests.controlplane.schedulers import node
from tests.controlplane.stages import BELL, PRIORITIES, SCHEDULERS, Seen, Stage, World

SECONDS_FOR_EVENTS = 10.0

S = TypeVar("S", bound=Stage)
W = TypeVar("W", bound=World)

Results = Mapping[tuple[str, str], Seen | Exception]


async def furnish(world: World) -> None:
    for name, value in PRIORITIES.items():
        policy = "Never" if name == "polite" else "PreemptLowerPriority"
        document = {"metadata": {"name": name}, "value": value, "preemptionPolicy": policy}
        await world.send("POST", "/apis/scheduling.k8s.io/v1/priorityclasses", document)
    await world.send("POST", "/api/v1/nodes", node(BELL))


async def play(
    world: W,
    cases: Mapping[str, Callable[[S], Awaitable[None]]],
    begin: Callable[[], None] = lambda: None,
    *,
    stage: Callable[[W, str, str, asyncio.Barrier], S],
    counts: bool = True,
) -> dict[tuple[str, str], Seen | Exception]:
    """All cases at once, twice. When the setting of all is complete, the schedulers are to `begin`."""
    both = [(case, who) for case in cases for who in SCHEDULERS]
    curtain = asyncio.Barrier(len(both) + 1)
    stages = {(case, who): stage(world, case, who, curtain) for case, who in both}

    async def one(case: str, stage: S) -> Exception | None:
        try:
            await stage.open()
            await cases[case](stage)
        except Exception as error:
            if not curtain.broken and curtain.n_waiting:
                await curtain.abort()
            return error
        return None

    plays = asyncio.gather(*(one(case, stages[case, who]) for case, who in both))
    with contextlib.suppress(asyncio.BrokenBarrierError):
        while curtain.n_waiting < len(both) and not curtain.broken and not plays.done():
            await asyncio.sleep(0.01)
        begin()
        await curtain.wait()
    errors = dict(zip(both, await plays, strict=True))
    seen = await looked_at(stages, counts=counts)
    return {key: errors[key] or seen[key] for key in both}


async def looked_at(stages: Mapping[tuple[str, str], Stage], *, counts: bool) -> dict[tuple[str, str], Seen]:
    """What was seen; events may come late, so it is looked again while there are fewer on one side."""
    async with asyncio.timeout(60):
        deadline = asyncio.get_running_loop().time() + SECONDS_FOR_EVENTS
        while True:
            found = await asyncio.gather(*(stage.seen(counts=counts) for stage in stages.values()))
            seen = dict(zip(stages, found, strict=True))
            same = all(seen[case, "ours"].events == seen[case, "kube"].events for case, _ in stages)
            if same or asyncio.get_running_loop().time() > deadline:
                return seen
            await asyncio.sleep(0.2)


def outcome(results: Results, case: str, who: str) -> Seen:
    found = results[case, who]
    if isinstance(found, Exception):
        raise found
    return found
