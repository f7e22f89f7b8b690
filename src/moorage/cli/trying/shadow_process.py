"""The process behind `moorage shadow`."""

from __future__ import annotations

import asyncio
import os
from contextlib import AsyncExitStack, ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

import msgspec

from moorage.cli.setup import PENDING, BadInput, Setup, print_json, warn
from moorage.cli.trying.shadow_words import Teller
from moorage.client.connection import ConnectionConfig, find, from_kubeconfig, in_cluster
from moorage.client.errors import ConfigurationError
from moorage.client.loops import loop_factory
from moorage.client.read_only import ReadOnlyClient
from moorage.config import expand_all
from moorage.process import logs
from moorage.process.choice_judge import ChoiceJudge
from moorage.process.client_metrics import ClientMetrics
from moorage.process.shadow import USER_AGENT, Shadow
from moorage.process.signals import Signals, heed_interrupts

WAITING_SECONDS = 2.0
"""After so long without the first lists, and then again and again, it is told what is missing."""


@dataclass(frozen=True)
class ShadowOptions:
    """What the options of `moorage shadow` say."""

    kubeconfig: str = ""
    seconds: float | None = None
    report: str | None = None
    metrics: tuple[str, int] | None = None
    other_percentage: int | None = None
    as_json: bool = False
    verbose: bool = False


def run_shadow(options: ShadowOptions, setup: Setup) -> int:
    """Judges until a signal comes or the time is over; returns the exit code."""
    heed_interrupts()
    check(options, setup)
    try:
        connection = _connection(options.kubeconfig or setup.config.client_connection.kubeconfig)
        logs.configure(verbosity=2 if options.verbose else 0)
        with asyncio.Runner(loop_factory=loop_factory()) as runner:
            return runner.run(Process(options, setup, connection).run())
    except ConfigurationError as error:
        raise BadInput(str(error)) from None


def check(options: ShadowOptions, setup: Setup) -> None:
    """Refuses what is wrong with them, and warns of what is not done."""
    expand_all(setup.config, setup.registry.points_of())
    if options.report is not None:
        _check_writable(options.report)
    if setup.config.extenders:
        warn(
            ["extenders are not asked: they may keep what they are asked about, and the other one asks them"]
        )


def _connection(kubeconfig: str) -> ConnectionConfig:
    if kubeconfig:
        return find(kubeconfig)
    with suppress(ConfigurationError):
        return in_cluster()
    return from_kubeconfig()


def _check_writable(file: str) -> None:
    """A report that cannot be written is no surprise for the end."""
    folder = Path(file).absolute().parent
    if not folder.is_dir():
        raise BadInput(f"--report: {file}: there is no folder {folder}")
    if Path(file).is_dir() or not os.access(file if Path(file).exists() else folder, os.W_OK):
        raise BadInput(f"--report: {file}: cannot be written")


class Process:
    """A shadow with signals, a server for its metrics, and somebody who tells."""

    def __init__(self, options: ShadowOptions, setup: Setup, connection: ConnectionConfig) -> None:
        self._options, self._connection = options, connection
        self._client_metrics = ClientMetrics()
        client = ReadOnlyClient(connection, user_agent=USER_AGENT, observer=self._client_metrics)
        self._shadow = Shadow(
            setup.config,
            setup.registry,
            client,
            theirs=options.other_percentage,
            on_verdict=lambda judged: self._teller.tell(judged),
        )
        self._teller = Teller(self._shadow.tally, as_json=options.as_json)
        self._stopping = asyncio.Event()

    async def run(self) -> int:
        signals = Signals(lambda number: self._stopping.set(), hurry=self._shadow.hurry)
        with ExitStack() as heard:
            signals.start()
            heard.callback(signals.stop)
            async with AsyncExitStack() as stack:
                stack.push_async_callback(self._shadow.close)
                await self._shadow.open()
                if self._options.metrics is not None:
                    await self._serve(stack, *self._options.metrics)
                await self._work()
                # What is left may take a while: nobody takes that for a loop that hangs. Ctrl-C ends it.
                heard.close()
                self._shadow.finish()
        if missing := self._shadow.informers.not_synced():
            told = f"{missing[0]} and {len(missing) - 1} more" if len(missing) > 1 else missing[0]
            raise BadInput(
                f"{self._connection.server}: nothing was judged, since there was no list of {told}"
            )
        return self._report()

    async def _work(self) -> None:
        judging = asyncio.create_task(self._shadow.run())
        telling = asyncio.create_task(self._go_on_telling())
        stopping = asyncio.create_task(self._stopping.wait())
        try:
            await asyncio.wait(
                (judging, stopping), timeout=self._options.seconds, return_when=asyncio.FIRST_COMPLETED
            )
            if judging.done():
                judging.result()
        finally:
            for task in (judging, telling, stopping):
                task.cancel()
            await asyncio.gather(judging, telling, stopping, return_exceptions=True)
            self._teller.clear_line()

    async def _go_on_telling(self) -> None:
        informers = self._shadow.informers
        with suppress(TimeoutError):
            await asyncio.wait_for(informers.wait_until_listed(), WAITING_SECONDS)
        while missing := informers.not_synced():
            self._teller.waits(f"Waiting for {len(missing)} lists of {self._connection.server}")
            with suppress(TimeoutError):
                await asyncio.wait_for(informers.wait_until_listed(), WAITING_SECONDS)
        nodes, pods = len(self._shadow.judge.services.state.table), len(self._shadow.judge.door.pods())
        self._teller.begins(self._connection.server, list(self._shadow.judge.profiles), nodes, pods)
        while True:
            await asyncio.sleep(self._teller.period)
            self._teller.show_line()

    async def _serve(self, stack: AsyncExitStack, host: str, port: int) -> None:
        # What comes with it takes long to load, and is for nothing else.
        from moorage.server.health import HealthChecks, ping
        from moorage.server.pages import Content
        from moorage.server.plain import PlainServer
        from moorage.server.process import ProcessMetrics

        shadow, requests = self._shadow, self._client_metrics
        process = ProcessMetrics(others=(shadow.tally, requests))
        of_plugins = shadow.judge.services.metrics
        readyz = HealthChecks("readyz", ping=ping)
        readyz.add("synced", lambda: None if shadow.judge.is_judging else "the first lists are not there")
        readyz.add("watches", lambda: ", ".join(shadow.informers.silent()) or None)
        registries = [shadow.tally.registry, requests.registry, of_plugins.registry, process.registry]
        content = Content(readyz=readyz, registries=registries, flags=None, shows_status=False)
        server = PlainServer(host, port, content)
        try:
            await server.start()
        except OSError as error:
            why = str(error.strerror).partition(" (while")[0]
            raise BadInput(f"--metrics-port: cannot listen on {host}:{port}: {why}; choose another") from None
        stack.push_async_callback(server.stop)

    def _report(self) -> int:
        return report(self._options, self._shadow.judge, self._teller, self._connection.server)


def report(options: ShadowOptions, judge: ChoiceJudge, teller: Teller, source: str) -> int:
    """Tells what was found of an API server or in a file; returns the exit code."""
    document = {**judge.tally.document(), "server": source, "profiles": list(judge.profiles)}
    document["failedPlugins"] = dict(judge.failed_plugins.counts)
    if options.as_json:
        print_json(document)
    else:
        teller.summary(document)
    if options.report is not None:
        text = msgspec.json.format(msgspec.json.encode(document), indent=2)
        try:
            Path(options.report).write_bytes(text + b"\n")
        except OSError as error:
            raise BadInput(f"--report: {options.report}: {error.strerror}") from None
    return PENDING if judge.tally.exceptions else 0
