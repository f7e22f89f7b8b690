"""Replays a trace: the real queue, plugins and events, in virtual time and at full speed."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np
from msgspec.structs import replace

from moorage.api.nodes import Node
from moorage.api.pods import Pod
from moorage.config import KubeSchedulerConfiguration
from moorage.framework.door import Door
from moorage.framework.loading.registry import Registry
from moorage.queue.timers import FLUSH_UNSCHEDULABLE_EVERY
from moorage.scheduler.garbage import seldom_collected
from moorage.scheduler.scheduler import DEFAULT_MAX_IN_UNSCHEDULABLE, SECONDS_TO_STOP, Scheduler
from moorage.what_if.failed_plugins import FailedPlugins
from moorage.what_if.replay.cluster import ReplayedCluster
from moorage.what_if.replay.fragmentation import TypicalPods
from moorage.what_if.replay.jobs import Job, Outcome
from moorage.what_if.replay.lives import Lives, read_lives
from moorage.what_if.replay.measures import Measures, Prices
from moorage.what_if.replay.setting_up import read_nodes, set_up
from moorage.what_if.replay.virtual_time import VirtualTimeLoop
from moorage.what_if.trace.changes import Change, Trace

_READING = 0.1
"""The share of the work that reading the trace beforehand is."""
_TRIES_AT_LEAST = 1000
_TRIES_PER_POD = 4
"""So often are pods tried without any time passing; a plugin may have them tried again and again."""
_STEP = 32


@dataclass(frozen=True, slots=True)
class Standing:
    """How far a replay is."""

    share: float
    """Of the work, 0 to 1."""
    now: float
    """The virtual time, in seconds since 1970."""
    placed: int


class Interrupted(KeyboardInterrupt):
    """Somebody pressed Ctrl-C; `outcome` is what there was until then, or None."""

    def __init__(self, outcome: Outcome | None, share: float) -> None:
        super().__init__()
        self.outcome = outcome
        self.share = share


def run_job(job: Job, progress: Callable[[float], None] | None = None) -> Outcome:
    """Replays what a job names; `progress` is told the share that is done, 0 to 1.

    Raises BadTrace, ConfigError, PluginLoadError or BadJob, each with a text for people, and OSError.
    """
    from moorage.what_if.trace.files import read_trace

    config, registry = set_up(job.config, job.plugins, job.features)
    told = None if progress is None else lambda standing: progress(standing.share)
    return replay(
        read_trace(Path(job.trace)),
        config,
        registry,
        nodes=read_nodes(Path(job.nodes)) if job.nodes else None,
        prices=job.prices,
        seed=job.seed,
        since=job.since,
        until=job.until,
        told=told,
    )


def replay(
    trace: Trace,
    config: KubeSchedulerConfiguration,
    registry: Registry,
    *,
    nodes: Iterable[Node] | None = None,
    prices: Prices = (),
    seed: int = 0,
    since: float | None = None,
    until: float | None = None,
    lives: Lives | None = None,
    told: Callable[[Standing], None] | None = None,
    record: Callable[[Change], None] | None = None,
) -> Outcome:
    """Replays a trace; arguments are those of a Job.

    `lives` is what `read_lives` found in this very trace, if it was read before. `told` hears how far it is;
    `record` of every object as it comes, changes and goes in the replay, which makes up a trace again.
    """
    started = time.perf_counter()
    if lives is None:
        lives = read_lives(trace, until, _reading(told, trace.head.began))
    run = _Replay(trace, lives, config, registry, nodes, prices, seed, since, told, record)
    before = random.getstate()
    random.seed(seed)
    try:
        with asyncio.Runner(loop_factory=lambda: run.loop) as runner:
            try:
                runner.run(run.run())
            except KeyboardInterrupt:
                raise Interrupted(run.outcome(time.perf_counter() - started), run.share) from None
    finally:
        random.setstate(before)
    return run.outcome(time.perf_counter() - started)


def _reading(told: Callable[[Standing], None] | None, began: float) -> Callable[[int], None] | None:
    if told is None:
        return None

    def tell(changes: int) -> None:
        # How many there are is not known before all are read.
        told(Standing(_READING * changes / (changes + 100_000), began, 0))

    return tell


class _Replay:
    def __init__(
        self,
        trace: Trace,
        lives: Lives,
        config: KubeSchedulerConfiguration,
        registry: Registry,
        nodes: Iterable[Node] | None,
        prices: Prices,
        seed: int,
        since: float | None,
        told: Callable[[Standing], None] | None,
        record: Callable[[Change], None] | None,
    ) -> None:
        began = trace.head.began
        self._trace = trace
        self._lives = lives
        self._began = began
        self._nodes = None if nodes is None else list(nodes)
        self._told = told
        self._chance = random.Random(seed) if seed else None
        self._changes: _Upcoming | None = None
        self.share = 0.0
        self.loop = VirtualTimeLoop(began, self._is_busy)
        self._failed_plugins = FailedPlugins()
        door = Door()
        self._measures = Measures(
            door.state,
            TypicalPods(lives.shapes),
            prices,
            since=began if since is None else max(since, began),
            end=lives.ends,
        )
        self._cluster = ReplayedCluster(
            door,
            lives,
            began,
            lambda: self.loop.now,
            self._measures,
            schedulers={profile.scheduler_name for profile in config.profiles},
            has_own_nodes=self._nodes is not None,
            record=record,
        )
        self._config = _binding_here(config)
        self._registry = registry
        self._door = door
        self._scheduler: Scheduler | None = None
        self._flush_after: float | None = None

    async def run(self) -> None:
        """All of it; plugins may need the event loop when they are made."""
        scheduler = self._scheduler = Scheduler(
            self._config,
            self._registry,
            client=self._cluster.client,
            door=self._door,
            observer=self._failed_plugins,
            clock=lambda: self.loop.now,
        )
        self._door.listers.set_synced()
        scheduler.queue.act_at_once()
        scheduler.services.writes.open()
        try:
            with seldom_collected():
                await self._run(scheduler)
        finally:
            await scheduler.services.writes.close(SECONDS_TO_STOP)
            await scheduler.services.extenders.close()
            scheduler.close()

    async def _run(self, scheduler: Scheduler) -> None:
        self._cluster.begin_with(self._nodes or ())
        changes = self._changes = _Upcoming(self._begin_with_objects(), self._cluster.matters)
        cluster, queue, loop, measures = self._cluster, scheduler.queue, self.loop, self._measures
        end = self._lives.ends
        steps = 0
        while True:
            now = loop.now
            measures.now(now)
            cluster.end_due(now)
            for change in changes.until(now):
                cluster.apply(change)
            self._flush(scheduler, now)
            due = await self._schedule(scheduler)
            times = (changes.next_time, cluster.next_end(), queue.next_backoff_end(), self._flush_after, due)
            upcoming = min((each for each in times if each is not None), default=None)
            if upcoming is None or upcoming > end:
                break
            # What is due already has been done, and is due again at the next moment only.
            upcoming = max(upcoming, now)
            measures.pass_time(upcoming)
            loop.advance(upcoming)
            steps += 1
            if self._told is not None and steps % _STEP == 0:
                self._tell()
        measures.pass_time(end)
        loop.advance(end)
        self.share = 1.0
        self._tell()

    def _begin_with_objects(self) -> Iterator[Change]:
        """The changes; of what there was at the start, pods come last, as they are on nodes."""
        changes = iter(self._trace)
        pods: list[Change] = []
        for change in changes:
            if change.time > self._began:
                changes = chain([change], changes)
                break
            if isinstance(change.item, Pod):
                pods.append(change)
            else:
                yield change
        yield from pods
        yield from changes

    async def _schedule(self, scheduler: Scheduler) -> float | None:
        """Tries pods until nothing can be done without time passing; when the next timer is due."""
        most = _TRIES_AT_LEAST + _TRIES_PER_POD * len(self._measures.waiting)
        while True:
            due = await self.loop.settled()
            if self._cluster.let_go():
                continue
            if self._chance is not None and len(scheduler.state.table):
                scheduler.chooser.start = self._chance.randrange(len(scheduler.state.table))
            tried = await scheduler.try_all(most)
            most -= tried
            if not tried:
                return due
            if most <= 0:
                return self.loop.now + 1.0

    def _flush(self, scheduler: Scheduler, now: float) -> None:
        queue = scheduler.queue
        queue.flush_backoff()
        if self._flush_after is None or now >= self._flush_after:
            queue.flush_unschedulable()
            overdue = queue.next_overdue()
            # Who comes to wait from now on is not overdue before.
            latest = now + DEFAULT_MAX_IN_UNSCHEDULABLE
            after = latest if overdue is None else min(overdue, latest)
            ticks = (after - self._began) // FLUSH_UNSCHEDULABLE_EVERY + 1
            self._flush_after = self._began + ticks * FLUSH_UNSCHEDULABLE_EVERY

    def _is_busy(self) -> bool:
        """Whether a pod is under way that does not just wait on Permit."""
        scheduler = self._scheduler
        return scheduler is not None and scheduler.under_way > len(scheduler.services.waiting_pods)

    def _tell(self) -> None:
        if self.share < 1.0 and self._changes is not None:
            self.share = _READING + (1 - _READING) * self._changes.read / max(self._lives.changes, 1)
        if self._told is not None:
            self._told(Standing(self.share, self.loop.now, self._measures.placed))

    def outcome(self, seconds: float) -> Outcome:
        measures = self._measures
        waits = measures.waits()
        fragmentation = measures.fragmentation()
        return Outcome(
            pods=measures.pods,
            placed=measures.placed,
            never_placed=measures.pods - measures.placed,
            pending_p50=_percentile(waits, 50),
            pending_p99=_percentile(waits, 99),
            preemptions=measures.preemptions,
            nodes_in_use=measures.mean_nodes_in_use(),
            fragmentation=sum(fragmentation.values()) / len(fragmentation) if fragmentation else 0.0,
            cost=measures.cost(),
            utilisation=measures.utilisation(),
            seconds=seconds,
            virtual_seconds=measures.seconds,
            fragmentation_of=fragmentation,
            failed_plugins=dict(self._failed_plugins.counts),
            history=measures.history(),
        )


class _Upcoming:
    """Changes in the order of their times, one ahead; those that mean nothing here are passed over."""

    def __init__(self, changes: Iterator[Change], matters: Callable[[Change], bool]) -> None:
        self._changes = changes
        self._matters = matters
        self._next: Change | None = None
        self.read = 0
        self._read_on()

    @property
    def next_time(self) -> float | None:
        return None if self._next is None else self._next.time

    def until(self, now: float) -> Iterator[Change]:
        """Those that are due; each is to be applied before the next one is asked for."""
        while (change := self._next) is not None and change.time <= now:
            yield change
            self._read_on()

    def _read_on(self) -> None:
        for change in self._changes:
            self.read += 1
            if self._matters(change):
                self._next = change
                return
        self._next = None


def _percentile(ordered: np.ndarray[tuple[int, ...], np.dtype[np.float64]], share: int) -> float:
    """The smallest value that so many of a hundred do not exceed."""
    if not len(ordered):
        return 0.0
    return float(ordered[max(0, -(-len(ordered) * share // 100) - 1)])


def _binding_here(config: KubeSchedulerConfiguration) -> KubeSchedulerConfiguration:
    extenders = [replace(extender, bind_verb="") for extender in config.extenders]
    return replace(config, extenders=extenders)
