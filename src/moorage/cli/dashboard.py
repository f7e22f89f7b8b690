"""What `moorage up` serves of insight, and where other commands find it."""

from __future__ import annotations

import errno
import json
import os
import secrets
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from moorage.cli.setup import BadInput
from moorage.client.loops import LoopThread
from moorage.cluster.base.errors import Refusal
from moorage.cluster.embedded import EmbeddedCluster
from moorage.insight.live.questions import Questions
from moorage.server.access import Refused
from moorage.server.authentication import Credentials
from moorage.server.insight.api import InsightApi
from moorage.server.insight.loopback import HOST, LoopbackServer
from moorage.server.insight.page_files import PageFiles


class ClusterAccess:
    """Lets in whom the embedded cluster would, asked in its own thread; and who has `token`, as its admin."""

    def __init__(self, cluster: EmbeddedCluster, server: LoopThread, token: str) -> None:
        self._cluster, self._server, self._token = cluster, server, token.encode()

    async def check(self, credentials: Credentials, verb: str, path: str) -> None:
        given = credentials.headers.get("Authorization", "").encode(errors="surrogateescape")
        if secrets.compare_digest(given, b"Bearer " + self._token):
            return
        headers: dict[str, list[str]] = {}
        for name, value in credentials.headers.items():
            headers.setdefault(name.lower(), []).append(value)
        try:
            await self._server.called(lambda: self._cluster.admit(headers, verb, path))
        except Refusal as refusal:
            raise Refused(refusal.code, refusal.reason, str(refusal)) from None


class Dashboard:
    """The server of insight beside an embedded cluster, and the file that tells where it is."""

    def __init__(
        self,
        cluster: EmbeddedCluster,
        server: LoopThread,
        questions: Callable[[], Questions | None],
        kubeconfig: Path,
    ) -> None:
        self.token = secrets.token_urlsafe(24)
        self._file = address_file(kubeconfig)
        self._server = LoopbackServer(
            InsightApi(questions), PageFiles(), ClusterAccess(cluster, server, self.token)
        )

    async def start(self, port: int) -> None:
        try:
            await self._server.start(port)
        except OSError as error:
            why = os.strerror(error.errno) if error.errno else str(error)
            remedy = (
                "choose another, or 0 for a free one" if error.errno == errno.EADDRINUSE else "choose another"
            )
            raise BadInput(f"--dashboard-port: cannot listen on {HOST}:{port}: {why}; {remedy}") from None

    async def stop(self) -> None:
        await self._server.stop()

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self._server.port}"

    @property
    def page(self) -> str:
        """The address that opens the page."""
        return f"{self.url}/dashboard/#token={self.token}"

    def tell(self) -> None:
        """Writes the file, in one go and for its owner alone."""
        partial = self._file.with_name(f".{self._file.name}.{os.getpid()}")
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            with open(partial, "w", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
                json.dump({"url": self.url, "token": self.token}, file)
            partial.replace(self._file)
        except OSError as error:
            raise BadInput(
                f"{self._file}: cannot be written: {error.strerror}; give another --kubeconfig"
            ) from None

    def untell(self) -> None:
        """Removes the file unless it belongs to another cluster by now."""
        with suppress(OSError):
            if self.token in self._file.read_text(errors="replace"):
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
