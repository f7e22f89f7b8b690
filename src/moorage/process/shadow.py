"""Beside the scheduler in charge: judges what it does, and writes nothing."""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Callable
from contextlib import AsyncExitStack

from moorage.client.pod_writer import PodWriter
from moorage.client.read_only import ReadOnlyClient
from moorage.config import KubeSchedulerConfiguration
from moorage.config.feature_gates import FeatureGates
from moorage.framework.background import SECONDS_TO_STOP, Background
from moorage.framework.loading.registry import Registry
from moorage.framework.logger import Logger
from moorage.framework.runtime.hung_calls import HangWatch
from moorage.process.allocator import give_back_large_blocks
from moorage.process.choice_judge import ChoiceJudge
from moorage.process.informers import Informers
from moorage.process.shadow_tally import Judged
from moorage.version import user_agent

log = Logger(__name__)

USER_AGENT = user_agent("moorage", "shadow")
_TURN_SECONDS = 0.1


class Shadow:
    """Follows a cluster through a client that only reads: `open`, `run`, `close`.

    `theirs` is the percentageOfNodesToScore of the scheduler in charge, if it is not that of `config`.
    `on_verdict` is told each verdict. Raises what is wrong with the configuration or a plugin.
    """

    def __init__(
        self,
        config: KubeSchedulerConfiguration,
        registry: Registry,
        client: ReadOnlyClient,
        *,
        theirs: int | None = None,
        gates: FeatureGates | None = None,
        on_verdict: Callable[[Judged], None] = lambda judged: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.judge = ChoiceJudge(
            config,
            registry,
            client=PodWriter(client),
            theirs=theirs,
            gates=gates,
            on_verdict=on_verdict,
            clock=clock,
        )
        self.tally = self.judge.tally
        self._client = client
        profiles = self.judge.profiles.values()
        self.informers = Informers(client, self.judge.door, profiles)
        self._background = Background(profiles)
        self._hang_watch = HangWatch(self.judge.services.running)
        self._stack = AsyncExitStack()

    async def open(self) -> None:
        """Connects and begins to follow. Call `close` however far this came."""
        give_back_large_blocks()
        self._hang_watch.start()
        self._stack.callback(self._hang_watch.stop)
        await self._stack.enter_async_context(self._client)
        self._stack.callback(self.judge.close)
        self._stack.push_async_callback(self.informers.stop)
        self._stack.push_async_callback(self._background.stop, SECONDS_TO_STOP)
        self.informers.start()

    async def run(self) -> None:
        """Judges from when the first lists are there, until it is cancelled."""
        await self.informers.wait_synced()
        self._background.start()
        await asyncio.sleep(0)  # it has its first turn before the first pod
        gc.collect()
        gc.freeze()
        log.info(1, "Caches are synced, starting to judge")
        self.judge.is_judging = True
        while True:
            await asyncio.sleep(_TURN_SECONDS)
            # What has come meanwhile is read first: the watches must not fall behind.
            await asyncio.sleep(self.judge.settle_due())

    def finish(self) -> None:
        """Settles what still waits: nothing more is heard."""
        self.judge.finish()

    def hurry(self) -> None:
        """No plugin may hold up the end of the process; to be called in any thread."""
        self._hang_watch.hurry()

    async def close(self) -> None:
        await self._stack.aclose()
