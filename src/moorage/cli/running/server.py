"""What `moorage run` tells over HTTPS: its health, its metrics and its configuration."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial
from typing import Any

from moorage.api.pods import Pod
from moorage.cli.running.options import RunOptions
from moorage.cli.running.security import RunSecurity
from moorage.cli.setup import BadInput
from moorage.config import KubeSchedulerConfiguration, show
from moorage.framework.logger import Logger, set_verbosity
from moorage.process.assembly import Assembly
from moorage.process.client_metrics import ClientMetrics
from moorage.process.leader_election import LeaderElector
from moorage.server.app import Server
from moorage.server.health import HealthChecks, ping
from moorage.server.insight.api import InsightApi
from moorage.server.insight.page_files import PageFiles
from moorage.server.pages import Content
from moorage.server.process import ProcessMetrics
from moorage.server.tls import TlsError

log = Logger(__name__)


@dataclass(frozen=True)
class RunServer:
    """Serves what it is made of."""

    options: RunOptions
    config: KubeSchedulerConfiguration
    assembly: Assembly
    elector: LeaderElector | None
    is_stopping: Callable[[], bool]
    client_metrics: ClientMetrics

    async def start(self, stack: AsyncExitStack) -> None:
        """Listens until the stack is closed."""
        options = self.options
        try:
            contexts, access = await RunSecurity(options, stack, self.client_metrics).open()
        except TlsError as error:
            raise BadInput(str(error)) from None
        server = Server(
            options.listen_address,
            options.secure_port,
            contexts,
            self._content(),
            access,
            share_port=bool(options.permit_port_sharing),
        )
        try:
            await server.start()
        except OSError as error:
            place = f"{options.listen_address}:{options.secure_port}"
            why = str(error.strerror).partition(" (while")[0]
            raise BadInput(
                f"--secure-port: cannot listen on {place}: {why}; choose another or 0 for none"
            ) from None
        stack.push_async_callback(server.stop)
        log.info(1, "Serving securely", address=f"{options.listen_address}:{server.port}")

    def _content(self) -> Content:
        elector, metrics = self.elector, self.assembly.metrics
        gates, requests = self.options.gates, self.client_metrics
        process = ProcessMetrics(
            gates=gates,
            lease_name=self.config.leader_election.resource_name,
            leads=None if elector is None else lambda: elector.is_leading,
            slow_renewals=lambda: 0 if elector is None else elector.slow_renewals,
            others=(metrics, requests),
        )
        questions = self.assembly.questions
        if questions is not None and elector is not None:
            questions.leads = lambda: elector.is_leading
        of_plugins = self.assembly.scheduler.services.metrics
        return Content(
            healthz=HealthChecks("healthz", **self._election_check(), **({} if elector else {"ping": ping})),
            readyz=self._readiness(),
            registries=[metrics.registry, requests.registry, of_plugins.registry, process.registry],
            reset_metrics=self._reset_metrics,
            pods=self._known_pods,
            config=lambda: show(self.config),
            flags=self.options.shown if gates.enabled("ComponentFlagz") else None,
            shows_status=gates.enabled("ComponentStatusz"),
            set_verbosity=set_verbosity if self.config.enable_profiling else None,
            insight=InsightApi(lambda: questions),
            page_files=PageFiles() if self.options.dashboard else None,
        )

    def _reset_metrics(self) -> None:
        self.assembly.metrics.reset()
        self.client_metrics.reset()

    def _readiness(self) -> HealthChecks:
        checks = HealthChecks("readyz", **self._election_check())
        checks.add("shutdown", lambda: "process is shutting down" if self.is_stopping() else None)
        checks.add("sched-handler-sync", self._sync_problem)
        checks.add("watches", self._silence)
        # In their names, as why a check fails is not told to everybody.
        for resource in self.assembly.informers.required:
            checks.add(f"resource-{resource}", partial(self.assembly.informers.missing, resource))
        return checks

    def _election_check(self) -> dict[str, Any]:
        elector = self.elector
        if elector is None:
            return {}
        return {"leaderElection": lambda: None if elector.healthy() else "the lease could not be renewed"}

    def _sync_problem(self) -> str | None:
        missing = self.assembly.informers.not_synced()
        return f"waiting for {', '.join(missing)}" if missing else None

    def _silence(self) -> str | None:
        silent = self.assembly.informers.silent()
        return f"nothing is heard of {', '.join(silent)}" if silent else None

    def _known_pods(self) -> list[Pod]:
        if self.elector is not None and not self.elector.is_leading:
            return []
        return self.assembly.scheduler.door.pods()
