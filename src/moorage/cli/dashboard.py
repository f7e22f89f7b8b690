"""What `moorage up` serves of insight, and where other commands find it."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import secrets
import socket
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from moorage.cli.setup import BadInput

if TYPE_CHECKING:
    from moorage.client.loops import LoopThread
    from moorage.cluster.embedded import EmbeddedCluster
    from moorage.insight.live.questions import Questions
    from moorage.server.insight.loopback import LoopbackServer

log = logging.getLogger(__name__)

_HOST = "127.0.0.1"


class Dashboard:
    """The server of insight beside an embedded cluster, and the file that tells where it is.

    It listens from the start on, so that its address is known, and answers from `serve` on.
    """

    def __init__(self, port: int, kubeconfig: Path) -> None:
        """Port 0 picks a free one; raises BadInput if it cannot listen."""
        self._token = secrets.token_urlsafe(24)
        self._file = address_file(kubeconfig)
        try:
            self._listener = socket.create_server((_HOST, port))
        except OSError as error:
            why = os.strerror(error.errno) if error.errno else str(error)
            remedy = "choose another, or 0 for a free one"
            raise BadInput(f"--dashboard-port: cannot listen on {_HOST}:{port}: {why}; {remedy}") from None
        self._server: LoopbackServer | None = None
        self._serving: asyncio.Task[None] | None = None

    def serve(
        self, cluster: EmbeddedCluster, server: LoopThread, questions: Callable[[], Questions | None]
    ) -> None:
        """Answers soon: what that takes is loaded in a thread, as nothing should wait for it."""
        self._serving = asyncio.create_task(self._serve(cluster, server, questions))

    async def _serve(
        self, cluster: EmbeddedCluster, server: LoopThread, questions: Callable[[], Questions | None]
    ) -> None:
        def load() -> LoopbackServer:
            from moorage.cli.cluster_access import ClusterAccess
            from moorage.server.insight.api import InsightApi
            from moorage.server.insight.loopback import LoopbackServer
            from moorage.server.insight.page_files import PageFiles

            access = ClusterAccess(cluster, server, self._token)
            return LoopbackServer(InsightApi(questions), PageFiles(), access)

        try:
            self._server = await asyncio.to_thread(load)
            await self._server.start(self._listener)
        except Exception:
            log.exception("the dashboard cannot be served")

    async def stop(self) -> None:
        if self._serving is not None:
            self._serving.cancel()
            await asyncio.gather(self._serving, return_exceptions=True)
        if self._server is not None:
            await self._server.stop()
        self._listener.close()

    @property
    def url(self) -> str:
        return f"http://{_HOST}:{self._listener.getsockname()[1]}"

    @property
    def page(self) -> str:
        """The address that opens the page."""
        return f"{self.url}/dashboard/#token={self._token}"

    def tell(self) -> None:
        """Writes the file, in one go and for its owner alone."""
        partial = self._file.with_name(f".{self._file.name}.{os.getpid()}")
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            with open(partial, "w", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
                json.dump({"url": self.url, "token": self._token}, file)
            partial.replace(self._file)
        except OSError as error:
            raise BadInput(
                f"{self._file}: cannot be written: {error.strerror}; give another --kubeconfig"
            ) from None

    def untell(self) -> None:
        """Removes the file unless it belongs to another cluster by now."""
        with suppress(OSError):
            if self._token in self._file.read_text(errors="replace"):
                self._file.unlink()


def address_file(kubeconfig: Path) -> Path:
    """Where the address and the token of a cluster's scheduler stand: beside its kubeconfig."""
    return kubeconfig.with_name(f"{kubeconfig.name}.scheduler")


def remove_old_address(kubeconfig: Path) -> None:
    """Removes what an earlier cluster has left behind."""
    file = address_file(kubeconfig)
    with suppress(OSError, ValueError):
        if json.loads(file.read_text()).keys() == {"url", "token"}:
            file.unlink()
