"""Who may use what `moorage up` serves beside its API server."""

from __future__ import annotations

import secrets

from moorage.client.loops import LoopThread
from moorage.cluster.base.errors import Refusal
from moorage.cluster.embedded import EmbeddedCluster
from moorage.server.access import Refused
from moorage.server.authentication import Credentials


class ClusterAccess:
    """Lets in whom the embedded cluster would, asked in its own thread; and who has `token`, as its admin."""

    def __init__(self, cluster: EmbeddedCluster, server: LoopThread, token: str) -> None:
        self._cluster, self._server, self._token = cluster, server, token.encode()

    async def check(self, credentials: Credentials, verb: str, path: str) -> None:
        """Raises Refused, as the cluster says it."""
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
