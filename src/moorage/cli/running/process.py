"""The process behind `moorage run`: a scheduler with election, server and signals."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import threading
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from moorage.cli.running.logs import configure_logs
from moorage.cli.running.options import RunOptions
from moorage.cli.setup import BadInput, Setup
from moorage.client.connection import ConnectionConfig, find
from moorage.client.errors import ConfigurationError
from moorage.client.http import HttpClient
from moorage.client.loops import loop_factory
from moorage.client.pod_writer import BIND_SECONDS, PodWriter
from moorage.config import expand_all, show
from moorage.config.show import show_expanded, to_yaml
from moorage.framework.extenders.asking import make_extenders
from moorage.framework.loading.registry import PluginLoadError
from moorage.framework.logger import Logger
from moorage.insight.log.decision_log import DecisionLog
from moorage.process.assembly import USER_AGENT, Assembly
from moorage.process.campaign import Campaign, OnLost
from moorage.process.client_metrics import ClientMetrics, InLoop
from moorage.process.controllers import LEASE, Access, of_controllers
from moorage.process.dump import dump
from moorage.process.leader_election import Connect, ElectionEnded, LeaderElector
from moorage.process.permissions import missing_permissions
from moorage.process.signals import Signals, exit_now, heed_interrupts
from moorage.version import build_info

log = Logger(__name__)

PERMISSION_SECONDS = 5.0
SECONDS_TO_EXIT = 1.5
"""After the loss of the lease."""


def run_process(options: RunOptions) -> int:
    """Runs the scheduler until a signal or the loss of the lease; returns the exit code."""
    heed_interrupts()
    setup = options.set_up()
    expand_all(setup.config, setup.registry.points_of())
    if options.write_config_to is not None:
        return _write_config(options.write_config_to, setup)
    make_extenders(setup.config.extenders)  # what is wrong with them is told before anything is begun
    configure_logs(options)
    try:
        connection = find(setup.config.client_connection.kubeconfig, options.master or "")
        with asyncio.Runner(loop_factory=loop_factory()) as runner:
            return runner.run(Process(options, setup, connection).run())
    except ConfigurationError as error:
        raise BadInput(str(error)) from None


def _write_config(file: str, setup: Setup) -> int:
    try:
        Path(file).write_text(to_yaml(show(setup.config)))
    except OSError as error:
        raise BadInput(f"{file}: cannot be written: {error.strerror}") from None
    return 0


class Process:
    def __init__(self, options: RunOptions, setup: Setup, connection: ConnectionConfig) -> None:
        self._options = options
        self._config = setup.config
        self._registry = setup.registry
        self._connection = connection
        self._stopping = asyncio.Event()
        self._client_metrics = ClientMetrics()
        self._lost_lease = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._assembly: Assembly | None = None

    async def run(self) -> int:
        self._loop = asyncio.get_running_loop()
        signals = Signals(self._stop, hurry=self._hurry, others={signal.SIGUSR2: self._dump})
        signals.start()
        try:
            return await self._run()
        finally:
            signals.stop()

    async def _run(self) -> int:
        self._log_start()
        elector = self._make_elector() if self._config.leader_election.leader_elect else None
        decisions, log_file = self._options.decisions.open()
        async with AsyncExitStack() as stack:
            if log_file is not None:
                stack.enter_context(log_file)
            assembly = self._assembly = self._assemble(elector, decisions)
            if elector is not None:
                # It comes last: whoever takes the lease then finds all finished.
                stack.push_async_callback(elector.stop)
            stack.push_async_callback(assembly.close)
            await assembly.open()
            if self._options.secure_port:
                # What comes with it takes long to load, and is for nothing else.
                from moorage.cli.running.server import RunServer

                server = RunServer(
                    self._options,
                    self._config,
                    assembly,
                    elector,
                    self._stopping.is_set,
                    self._client_metrics,
                )
                await server.start(stack)
            checking = asyncio.create_task(self._report_missing_permissions(assembly))
            stack.callback(checking.cancel)
            if not self._config.delay_cache_until_active:
                assembly.start()
            return await self._work(assembly, elector)

    def _assemble(self, elector: LeaderElector | None, decisions: DecisionLog | None) -> Assembly:
        limits: dict[str, Any] = {
            "qps": self._config.client_connection.qps,
            "burst": self._config.client_connection.burst,
            "user_agent": USER_AGENT,
            "observer": self._client_metrics,
            "may_write": None if elector is None else elector.may_act,
        }
        # Each has a rate of its own: neither thousands of conditions nor of events hold up a bind.
        http, conditions, events = (HttpClient(self._connection, **limits) for _ in range(3))
        # Another process than the one that schedules may run the controllers.
        campaign = None if elector is None else Campaign(self._new_controllers_elector)
        limits["may_write"] = None if campaign is None else campaign.may_act
        controllers = Access(HttpClient(self._connection, **limits), campaign)
        return Assembly(
            self._config,
            self._registry,
            PodWriter(
                http,
                late=conditions,
                bind_seconds=BIND_SECONDS if elector is None else elector.write_seconds,
            ),
            http=http,
            events=events,
            others=(conditions, events),
            may_bind=(lambda: True) if elector is None else elector.may_act,
            max_in_unschedulable=self._options.max_in_unschedulable(),
            legacy_annotation=self._options.legacy_scheduler_annotation,
            plugin_timeout=self._options.plugin_timeout,
            decisions=decisions,
            controllers=controllers,
            gates=self._options.gates,
        )

    async def _work(self, assembly: Assembly, elector: LeaderElector | None) -> int:
        """Waits for its turn, then schedules until it has to stop."""
        scheduling = asyncio.create_task(self._schedule_in_turn(assembly, elector))
        stopping = asyncio.create_task(self._stopping.wait())
        await asyncio.wait((scheduling, stopping), return_when=asyncio.FIRST_COMPLETED)
        failure = await assembly.end(scheduling)
        stopping.cancel()
        if isinstance(failure, PluginLoadError):
            raise failure
        if isinstance(failure, Exception) and not isinstance(failure, ElectionEnded):
            log.error(failure, "The scheduler failed")
            return 1
        return 1 if self._lost_lease else 0

    async def _schedule_in_turn(self, assembly: Assembly, elector: LeaderElector | None) -> None:
        if not self._config.delay_cache_until_active:
            # A plugin that cannot work is no leader.
            await assembly.informers.wait_required()
        if elector is not None:
            elector.start()
            await elector.wait_until_leading()
        if self._config.delay_cache_until_active:
            assembly.start()
        await assembly.schedule()

    def _make_elector(self) -> LeaderElector:
        try:
            return LeaderElector(
                self._elector_client(), self._config.leader_election, on_lost=self._lose_lease
            )
        except ValueError as error:
            raise BadInput(f"leaderElection: {error}") from None

    def _new_controllers_elector(self, on_lost: OnLost) -> LeaderElector:
        election = of_controllers(self._config.leader_election)
        return LeaderElector(self._elector_client(), election, on_lost=on_lost, component=LEASE)

    def _elector_client(self) -> Connect:
        """Makes a client in the elector's thread; what it does is counted in this one."""
        observer = InLoop(self._client_metrics)
        return lambda: HttpClient(self._connection, qps=-1, user_agent=USER_AGENT, observer=observer)

    def _lose_lease(self) -> None:
        """Called in the elector's thread: a plugin that blocks everything else must not keep this alive."""
        last_resort = threading.Timer(SECONDS_TO_EXIT, exit_now)
        last_resort.daemon = True
        last_resort.start()

        def stop() -> None:
            self._lost_lease = True
            if self._assembly is not None:
                self._assembly.abandon()
            self._stopping.set()

        assert self._loop is not None
        with contextlib.suppress(RuntimeError):  # the loop may have ended meanwhile
            self._loop.call_soon_threadsafe(stop)

    async def _report_missing_permissions(self, assembly: Assembly) -> None:
        """Names what the API server would refuse, before anybody has to guess it.

        Nothing waits for this: it has a client and a short time of its own.
        """
        resources = [informer.resource for informer in assembly.informers.all]
        profiles = assembly.scheduler.profiles.values()
        client = HttpClient(
            self._connection,
            qps=-1,
            user_agent=USER_AGENT,
            request_seconds=PERMISSION_SECONDS,
            observer=self._client_metrics,
        )
        async with client:
            for permission in await missing_permissions(client, resources, profiles, self._config):
                log.error(None, "Missing permission", permission=str(permission))

    def _hurry(self) -> None:
        if self._assembly is not None:
            self._assembly.hurry()

    def _stop(self, number: signal.Signals) -> None:
        log.info(0, "Stopping", signal=number.name)
        self._stopping.set()

    def _dump(self) -> None:
        if self._assembly is not None:
            dump(self._assembly.scheduler)

    def _log_start(self) -> None:
        log.info(0, "Starting Moorage", version=build_info()["gitVersion"])
        if log.enabled(2):
            points_of = self._registry.points_of()
            for profile in show_expanded(self._config, points_of)["profiles"]:
                log.info(
                    2,
                    "the scheduler starts to work with those plugins",
                    profile=profile["schedulerName"],
                    Plugins=profile["plugins"],
                )
            log.info(2, "Using component config", config=to_yaml(show(self._config)))
