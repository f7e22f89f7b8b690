"""What `moorage run` tells over HTTPS: its health, its metrics and its configuration."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass
from typing import Any

from moorage.api.pods import Pod
from moorage.cli.run_options import RunOptions
from moorage.cli.setup import BadInput
from moorage.client.connection import find
from moorage.client.errors import ConfigurationError
from moorage.client.http import HttpClient
from moorage.config import KubeSchedulerConfiguration, show
from moorage.framework.logger import Logger, set_verbosity
from moorage.process.assembly import USER_AGENT, Assembly
from moorage.process.leader_election import LeaderElector
from moorage.server.access import Access
from moorage.server.app import Server
from moorage.server.health import HealthChecks, ping
from moorage.server.pages import Content
from moorage.server.process import ProcessMetrics
from moorage.server.reviews import ApiReviewer
from moorage.server.tls import server_context

log = Logger(__name__)


@dataclass(frozen=True)
class RunServer:
    """Serves what it is made of."""

    options: RunOptions
    config: KubeSchedulerConfiguration
    assembly: Assembly
    elector: LeaderElector | None
    is_stopping: Callable[[], bool]

    async def start(self, stack: AsyncExitStack) -> None:
        """Listens until the stack is closed."""
        options = self.options
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
        server = Server(options.listen_address, options.secure_port, context, self._content(), access)
        try:
            await server.start()
        except OSError as error:
            place = f"{options.listen_address}:{options.secure_port}"
            raise BadInput(
                f"--secure-port: cannot listen on {place}: {error.strerror}; choose another or 0 for none"
            ) from None
        stack.push_async_callback(server.stop)
        log.info(1, "Serving securely", address=f"{options.listen_address}:{server.port}")

    def _content(self) -> Content:
        elector, metrics = self.elector, self.assembly.metrics
        process = ProcessMetrics(
            lease_name=self.config.leader_election.resource_name,
            leads=None if elector is None else lambda: elector.is_leading,
        )
        of_plugins = self.assembly.scheduler.services.metrics
        return Content(
            healthz=HealthChecks("healthz", **self._election_check(), **({} if elector else {"ping": ping})),
            readyz=self._readiness(),
            registries=[metrics.registry, of_plugins.registry, process.registry],
            reset_metrics=metrics.reset,
            pods=self._known_pods,
            config=lambda: show(self.config),
            flags={name.replace("_", "-"): str(value) for name, value in asdict(self.options).items()},
            set_verbosity=set_verbosity if self.config.enable_profiling else None,
        )

    def _readiness(self) -> HealthChecks:
        checks = HealthChecks("readyz", **self._election_check())
        checks.add("shutdown", lambda: "process is shutting down" if self.is_stopping() else None)
        checks.add("sched-handler-sync", self._sync_problem)
        checks.add("watches", self._silence)
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

    async def _reviewer(self, stack: AsyncExitStack) -> ApiReviewer | None:
        """Who answers for callers: the API server of the given kubeconfigs, or of the pod this runs in."""
        clients: list[HttpClient] = []
        for kubeconfig in (self.options.authentication_kubeconfig, self.options.authorization_kubeconfig):
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
