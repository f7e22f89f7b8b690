"""The scheduler process: everything that runs beside the scheduling itself, started and stopped in order."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import sys
from contextlib import AsyncExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any

from moorage.api.pods import Pod
from moorage.cli.run_options import RunOptions
from moorage.cli.setup import BadInput, Setup
from moorage.client.connection import ConnectionConfig, find
from moorage.client.errors import ConfigurationError
from moorage.client.http import HttpClient
from moorage.client.pod_writer import PodWriter
from moorage.config import expand_all, show
from moorage.config.show import show_expanded, to_yaml
from moorage.framework.logger import Logger, set_verbosity
from moorage.framework.registry import PluginLoadError
from moorage.process import logs
from moorage.process.dump import dump
from moorage.process.event_recorder import EventBroadcaster
from moorage.process.informers import Informers
from moorage.process.leader_election import ElectionEnded, LeaderElector
from moorage.process.metrics import SchedulerMetrics
from moorage.process.permissions import missing_permissions
from moorage.scheduler.scheduler import Scheduler
from moorage.server.access import Access
from moorage.server.app import Server
from moorage.server.health import HealthChecks, ping
from moorage.server.pages import Content
from moorage.server.process import ProcessMetrics
from moorage.server.reviews import ApiReviewer
from moorage.server.tls import TlsError, server_context

log = Logger(__name__)

USER_AGENT = "moorage/scheduler"
_LATE_EVENTS = 3.0


def run_process(options: RunOptions) -> int:
    """Runs the scheduler until a signal or the loss of the lease; returns the exit code."""
    setup = options.set_up()
    expand_all(setup.config, setup.registry.points_of())
    if options.write_config_to is not None:
        return _write_config(options.write_config_to, setup)
    if setup.config.extenders:
        raise BadInput(
            "extenders: HTTP extenders are not supported yet; remove them or write them as plugins"
        )
    logs.configure(verbosity=options.verbosity, format=options.logging_format)
    try:
        connection = find(setup.config.client_connection.kubeconfig, options.master or "")
        with asyncio.Runner(loop_factory=loop_factory()) as runner:
            return runner.run(Process(options, setup, connection).run())
    except (ConfigurationError, TlsError) as error:
        raise BadInput(str(error)) from None


def _write_config(file: str, setup: Setup) -> int:
    try:
        Path(file).write_text(to_yaml(show(setup.config)))
    except OSError as error:
        raise BadInput(f"{file}: cannot be written: {error.strerror}") from None
    return 0


def loop_factory() -> Any:
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop


class Process:
    def __init__(self, options: RunOptions, setup: Setup, connection: ConnectionConfig) -> None:
        self._options = options
        self._config = setup.config
        self._registry = setup.registry
        self._connection = connection
        self._stopping = asyncio.Event()
        self._lost_lease = False
        self._elector: LeaderElector | None = None
        self._informers: Informers | None = None
        self._scheduler: Scheduler | None = None

    async def run(self) -> int:
        self._watch_signals()
        self._log_start()
        async with AsyncExitStack() as stack:
            limits: dict[str, Any] = {
                "qps": self._config.client_connection.qps,
                "burst": self._config.client_connection.burst,
                "user_agent": USER_AGENT,
            }
            late = await stack.enter_async_context(HttpClient(self._connection, **limits))
            client = await stack.enter_async_context(HttpClient(self._connection, **limits))
            events = EventBroadcaster(late)
            metrics = SchedulerMetrics()
            scheduler = Scheduler(
                self._config,
                self._registry,
                recorder_of=events.recorder,
                observer=metrics,
                max_in_unschedulable=self._options.max_in_unschedulable(),
                legacy_annotation=self._options.legacy_scheduler_annotation,
            )
            self._scheduler = scheduler
            scheduler.connect(PodWriter(client, late=late))
            metrics.watch(scheduler.queue, scheduler.state)
            delivering = asyncio.create_task(events.run())
            try:
                return await self._serve(stack, client, scheduler, metrics)
            finally:
                await events.stop(_LATE_EVENTS)
                delivering.cancel()
                await asyncio.gather(delivering, return_exceptions=True)
                scheduler.close()

    async def _serve(
        self, stack: AsyncExitStack, client: HttpClient, scheduler: Scheduler, metrics: SchedulerMetrics
    ) -> int:
        election = self._config.leader_election
        if election.leader_elect:
            self._elector = self._make_elector(scheduler)
        informers = self._informers = Informers(
            client, scheduler.handlers, scheduler.services.listers, scheduler.profiles
        )
        server = await self._start_server(stack, scheduler, metrics)
        try:
            await self._report_missing_permissions(client, scheduler, informers)
            if not self._config.delay_cache_until_active:
                informers.start()
            return await self._lead(scheduler, informers)
        finally:
            scheduler.stop()
            await informers.stop()
            if self._elector is not None:
                await self._elector.stop()
            if server is not None:
                await server.stop()

    async def _lead(self, scheduler: Scheduler, informers: Informers) -> int:
        """Waits for its turn, then schedules until it has to stop."""
        working = asyncio.create_task(self._work(scheduler, informers))
        stopping = asyncio.create_task(self._stopping.wait())
        await asyncio.wait((working, stopping), return_when=asyncio.FIRST_COMPLETED)
        scheduler.stop()
        if not scheduler.is_running:
            working.cancel()
        results = await asyncio.gather(working, return_exceptions=True)
        stopping.cancel()
        for result in results:
            if isinstance(result, PluginLoadError):
                raise result
            if isinstance(result, Exception) and not isinstance(result, ElectionEnded):
                log.error(result, "The scheduler failed")
                return 1
        return 1 if self._lost_lease else 0

    async def _work(self, scheduler: Scheduler, informers: Informers) -> None:
        if not self._config.delay_cache_until_active:
            # A plugin that cannot work is no leader.
            await informers.wait_required()
        if self._elector is not None:
            self._elector.start()
            await self._elector.wait_until_leading()
        if self._config.delay_cache_until_active:
            informers.start()
        await informers.wait_synced()
        log.info(1, "Caches are synced, starting to schedule")
        # What the first lists brought stays for good: it need not be looked through again and again.
        gc.collect()
        gc.freeze()
        await scheduler.run()

    def _make_elector(self, scheduler: Scheduler) -> LeaderElector:
        settings = self._config.leader_election
        try:
            elector = LeaderElector(
                lambda: HttpClient(self._connection, qps=-1, user_agent=USER_AGENT),
                settings,
                on_lost=self._lose_lease,
            )
        except ValueError as error:
            raise BadInput(f"leaderElection: {error}") from None
        scheduler.services.may_bind = elector.may_act
        return elector

    def _lose_lease(self) -> None:
        self._lost_lease = True
        self._stopping.set()

    # The server

    async def _start_server(
        self, stack: AsyncExitStack, scheduler: Scheduler, metrics: SchedulerMetrics
    ) -> Server | None:
        options = self._options
        if not options.secure_port:
            return None
        elector = self._elector
        process = ProcessMetrics(
            lease_name=self._config.leader_election.resource_name,
            leads=None if elector is None else lambda: elector.is_leading,
        )
        content = Content(
            healthz=HealthChecks("healthz", **self._election_check(), **({} if elector else {"ping": ping})),
            readyz=self._readiness(),
            registries=[metrics.registry, scheduler.services.metrics.registry, process.registry],
            reset_metrics=metrics.reset,
            pods=lambda: self._known_pods(scheduler),
            config=lambda: show(self._config),
            flags={name.replace("_", "-"): str(value) for name, value in asdict(options).items()},
            set_verbosity=set_verbosity if self._config.enable_profiling else None,
        )
        context = server_context(
            options.tls_cert_file or "",
            options.tls_private_key_file or "",
            client_ca_file=options.client_ca_file or "",
            **({"min_version": options.tls_min_version} if options.tls_min_version else {}),
        )
        access = Access(
            await self._reviewer(stack),
            always_allow_paths=[path for path in options.authorization_always_allow_paths.split(",") if path],
        )
        server = Server(options.listen_address, options.secure_port, context, content, access)
        try:
            await server.start()
        except OSError as error:
            place = f"{options.listen_address}:{options.secure_port}"
            raise BadInput(
                f"--secure-port: cannot listen on {place}: {error.strerror}; choose another or 0 for none"
            ) from None
        log.info(1, "Serving securely", address=f"{options.listen_address}:{server.port}")
        return server

    def _election_check(self) -> dict[str, Any]:
        elector = self._elector
        if elector is None:
            return {}
        return {"leaderElection": lambda: None if elector.healthy() else "the lease could not be renewed"}

    def _readiness(self) -> HealthChecks:
        checks = HealthChecks("readyz", **self._election_check())
        checks.add("shutdown", lambda: "process is shutting down" if self._stopping.is_set() else None)
        checks.add("sched-handler-sync", self._sync_problem)
        return checks

    def _sync_problem(self) -> str | None:
        missing = self._informers.not_synced() if self._informers else ["everything"]
        return f"waiting for {', '.join(missing)}" if missing else None

    def _known_pods(self, scheduler: Scheduler) -> list[Pod]:
        if self._elector is not None and not self._elector.is_leading:
            return []
        return scheduler.handlers.pods()

    async def _reviewer(self, stack: AsyncExitStack) -> ApiReviewer | None:
        """Who answers for callers: the API server of the given kubeconfigs, or of the pod this runs in."""
        clients: list[HttpClient] = []
        for kubeconfig in (self._options.authentication_kubeconfig, self._options.authorization_kubeconfig):
            try:
                config = find(kubeconfig or "")
            except ConfigurationError as error:
                if kubeconfig:
                    raise BadInput(str(error)) from None
                log.warning("Callers cannot be authenticated; only the open paths are served", err=str(error))
                return None
            client = HttpClient(config, qps=-1, user_agent=USER_AGENT)
            clients.append(await stack.enter_async_context(client))
        return ApiReviewer(*clients)

    # Signals and logs

    def _watch_signals(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._stop, number)
        loop.add_signal_handler(signal.SIGUSR2, self._dump)

    def _stop(self, number: signal.Signals) -> None:
        if self._stopping.is_set():
            # The second signal means it.
            sys.stderr.flush()
            os._exit(1)
        log.info(0, "Stopping", signal=number.name)
        self._stopping.set()

    def _dump(self) -> None:
        if self._scheduler is not None:
            dump(self._scheduler)

    def _log_start(self) -> None:
        log.info(0, "Starting Moorage")
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

    async def _report_missing_permissions(
        self, client: HttpClient, scheduler: Scheduler, informers: Informers
    ) -> None:
        """Names what the API server would refuse, before anybody has to guess it."""
        resources = [informer.resource for informer in informers.all]
        for permission in await missing_permissions(
            client, resources, scheduler.profiles.values(), self._config
        ):
            log.error(None, "Missing permission", permission=str(permission))
