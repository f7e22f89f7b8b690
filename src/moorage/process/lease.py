"""The Lease that says which of several schedulers may act."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from datetime import UTC, datetime
from enum import Enum
from functools import lru_cache
from typing import Any, Protocol

from moorage.framework.logger import Logger

log = Logger(__name__)

API_VERSION = "coordination.k8s.io/v1"
RELEASED_DURATION = 1  # seconds; the API refuses 0

Document = dict[str, Any]


class RequestsJson(Protocol):
    """What is asked of a client; an error that the API server sent has its status as `code`."""

    async def request_json(self, method: str, path: str, body: Any = None) -> Document: ...


class Outcome(Enum):
    """What came of trying to take or to keep the lease."""

    HELD = "held"
    HELD_BY_OTHER = "held by another"
    FAILED = "failed"


class LeaseLock:
    """One candidate's view of the lease.

    Clocks of different machines are never compared: another's lease has run out when its record has not
    changed for its whole duration, measured here from the moment it was first seen. Two candidates that try
    at once are told apart by the resourceVersion they send along.
    """

    def __init__(
        self,
        client: RequestsJson,
        namespace: str,
        name: str,
        *,
        identity: str,
        duration: float,
        request_timeout: float,
        clock: Callable[[], float],
        wall_clock: Callable[[], float],
    ) -> None:
        self._client = client
        self._collection = f"/apis/{API_VERSION}/namespaces/{namespace}/leases"
        self._path = f"{self._collection}/{name}"
        self._namespace = namespace
        self._name = name
        self._identity = identity
        self._duration = duration
        self._request_timeout = request_timeout
        self._clock = clock
        self._wall_clock = wall_clock
        self._lease: Document | None = None
        self._observed_at = -math.inf
        self._may_be_held = False
        self.slow_renewals = 0
        """How often the lease had to be read before it could be renewed."""
        self.renewed_at = -math.inf
        """When the last write that succeeded was begun: others count the lease from then at the earliest."""

    @property
    def key(self) -> str:
        return f"{self._namespace}/{self._name}"

    @property
    def reference(self) -> Document:
        """The lease as an event refers to it."""
        meta = self._lease["metadata"] if self._lease is not None else {}
        known = {field: meta[field] for field in ("uid", "resourceVersion") if field in meta}
        return {
            "kind": "Lease",
            "apiVersion": API_VERSION,
            "namespace": self._namespace,
            "name": self._name,
            **known,
        }

    async def take_or_keep(self) -> Outcome:
        """Takes the lease if it is free, renews it if it is ours; whatever goes wrong is logged."""
        try:
            if self._holder == self._identity and await self._renew_unread():
                return Outcome.HELD
            return await self._read_and_write()
        except Exception as error:
            if status_of(error) == 409:
                log.info(2, "Another candidate was faster", lock=self.key, err=error)
            else:
                log.error(error, "Error retrieving or updating lease lock", lock=self.key)
            return Outcome.FAILED

    async def release(self) -> None:
        """Lets others take the lease at once, if it is ours; raises what the API server says."""
        if not self._may_be_held:
            return
        # An update whose answer never came may have succeeded, so what was last seen does not count.
        lease = await self._request("GET", self._path)
        if lease["spec"].get("holderIdentity") != self._identity:
            return
        now = self._now()
        await self._update(
            lease,
            holderIdentity="",
            leaseDurationSeconds=RELEASED_DURATION,
            acquireTime=now,
            renewTime=now,
        )
        self._may_be_held = False

    @property
    def _holder(self) -> str:
        return str(self._spec.get("holderIdentity") or "")

    @property
    def _spec(self) -> Document:
        spec: Document = (self._lease or {}).get("spec") or {}
        return spec

    async def _renew_unread(self) -> bool:
        """Renews on top of what was last written here; False if that is no longer what the server has."""
        assert self._lease is not None
        try:
            await self._renew(self._lease)
        except Exception as error:
            if status_of(error) in (404, 409):
                return False
            raise
        return True

    async def _read_and_write(self) -> Outcome:
        try:
            lease = await self._request("GET", self._path)
        except Exception as error:
            if status_of(error) != 404:
                raise
            await self._create()
            return Outcome.HELD
        self._observe(lease)
        holder = self._holder
        if holder == self._identity:
            self.slow_renewals += 1
            await self._renew(lease)
            return Outcome.HELD
        if holder and not self._expired:
            log.info(4, "Lease is held by another", lock=self.key, holder=holder)
            return Outcome.HELD_BY_OTHER
        now = self._now()
        transitions = (self._spec.get("leaseTransitions") or 0) + 1
        await self._take(lease, acquireTime=now, renewTime=now, leaseTransitions=transitions)
        return Outcome.HELD

    def _observe(self, lease: Document) -> None:
        changed = self._lease is None or (lease.get("spec") or {}) != self._spec
        self._lease = lease
        if changed:
            self._observed_at = self._clock()

    @property
    def _expired(self) -> bool:
        duration = self._spec.get("leaseDurationSeconds") or self._duration
        return self._clock() - self._observed_at >= float(duration)

    async def _create(self) -> None:
        now = self._now()
        metadata = {"name": self._name, "namespace": self._namespace}
        lease = {"apiVersion": API_VERSION, "kind": "Lease", "metadata": metadata}
        await self._take(lease, acquireTime=now, renewTime=now, leaseTransitions=0)

    async def _renew(self, lease: Document) -> None:
        await self._take(lease, renewTime=self._now())

    async def _take(self, lease: Document, **fields: Any) -> None:
        """Writes the lease as ours, with these fields beside the holder."""
        begun = self._clock()
        self._may_be_held = True
        # Rounded up: a candidate must not think that the lease ends before we do.
        seconds = math.ceil(self._duration)
        written = await self._update(
            lease, holderIdentity=self._identity, leaseDurationSeconds=seconds, **fields
        )
        self._observe(written)
        self.renewed_at = begun

    async def _update(self, lease: Document, **fields: Any) -> Document:
        body = {**lease, "spec": {**(lease.get("spec") or {}), **fields}}
        if "resourceVersion" in lease["metadata"]:
            return await self._request("PUT", self._path, body)
        return await self._request("POST", self._collection, body)

    async def _request(self, method: str, path: str, body: Document | None = None) -> Document:
        async with asyncio.timeout(self._request_timeout):
            return await self._client.request_json(method, path, body)

    def _now(self) -> str:
        return micro_time(self._wall_clock())


def micro_time(seconds: float) -> str:
    """Seconds since the epoch as the API writes times with microseconds."""
    micros = round(seconds * 1_000_000)
    return f"{_whole_seconds(micros // 1_000_000)}.{micros % 1_000_000:06d}Z"


@lru_cache(maxsize=16)
def _whole_seconds(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat().removesuffix("+00:00")


def status_of(error: Exception) -> int | None:
    """The status the API server answered with; None if the error is not from there."""
    code = getattr(error, "code", None)
    return code if isinstance(code, int) and code > 0 else None
