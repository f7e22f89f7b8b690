"""A container that is really run: started, watched, started again, ended."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field

import aiohttp

from moorage.cluster.base.store import Document
from moorage.cluster.base.times import Clock, timestamp
from moorage.cluster.life.nodes import pod_status as statuses
from moorage.cluster.life.nodes.environment import Unavailable
from moorage.cluster.life.nodes.processes import NotStarted, Process

FIRST_BACKOFF = 10.0  # seconds before a container that has ended is started again; doubles every time
LONGEST_BACKOFF = 300.0
FORGIVEN_AFTER = 600.0  # seconds of running after which the first back-off is used again
RETRY = 1.0  # seconds until a container that lacks something is tried again
SOON = 1.0  # seconds between probes of a container that was not ready yet
NOT_STARTED = 128  # exit code of what could not be started

Tell = Callable[[str, str, bool], None]
"""Reason, message and whether it is a warning."""


@dataclass(eq=False, kw_only=True)
class Container:
    """The runs of one container, from its first start until it is over.

    `address` is where it is probed. `start` gives a process, or raises NotStarted or Unavailable; `changed`
    is called when the status is another; `tell` makes events. Liveness and startup probes are not looked at:
    a process that is stuck stays so, as it would on anyone's machine.
    """

    uid: str
    spec: Document
    restarts: int
    policy: str
    state: Document
    pod_name: str
    address: str
    start: Callable[[], Awaitable[Process]]
    changed: Callable[[], None]
    tell: Tell
    clock: Clock
    over: bool = False
    """It has ended and will not be started again."""
    last_state: Document = field(default_factory=dict)
    ready: bool = False
    _backoff: float = field(default_factory=lambda: FIRST_BACKOFF)
    _process: Process | None = None
    _stopped: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def exit_code(self) -> int | None:
        """Of a container that is over or between two runs."""
        ended = self.state.get("terminated") or self.last_state.get("terminated")
        return None if ended is None else int(ended["exitCode"])

    def status(self) -> Document:
        return statuses.container_status(
            self.uid,
            self.spec,
            self.state,
            ready=self.ready,
            restarts=self.restarts,
            last_state=self.last_state,
        )

    async def run(self) -> None:
        """Runs it until it is over."""
        while not self._stopped.is_set():
            process = await self._started()
            began = self.clock()
            if process is not None:
                code = await self._watch(process)
                self._end(code, began)
                if self.clock() - began >= FORGIVEN_AFTER:
                    self._backoff = FIRST_BACKOFF
            again = self.policy == "Always" or (self.policy == "OnFailure" and self.exit_code != 0)
            if self._stopped.is_set() or not again:
                break
            await self._wait()
        self.over = True
        self.changed()

    async def stop(self, grace: float) -> None:
        """Ends it for good; `run` returns soon after."""
        is_first = not self._stopped.is_set()
        self._stopped.set()
        if self._process is None:
            return
        if is_first:
            self.tell("Killing", f"Stopping container {self.spec.get('name', '')}", False)
        await self._process.stop(grace)

    async def _pause(self, seconds: float) -> None:
        """Waits, unless it is stopped meanwhile."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._stopped.wait()

    async def _started(self) -> Process | None:
        while not self._stopped.is_set():
            try:
                process = await self.start()
            except Unavailable as problem:
                waiting = {"waiting": {"reason": "CreateContainerConfigError", "message": str(problem)}}
                if waiting != self.state:
                    self.state = waiting
                    self.changed()
                    self.tell("Failed", f"Error: {problem}", True)
                await self._pause(RETRY)
            except NotStarted as problem:
                self.tell("Failed", f"Error: {problem}", True)
                self._end(NOT_STARTED, self.clock(), reason="StartError", message=str(problem))
                return None
            else:
                self._process = process
                self.state = statuses.running_state(self.clock())
                self.ready = not _is_probed(self.spec)
                self.tell("Started", "Container started", False)
                self.changed()
                return process
        return None

    async def _watch(self, process: Process) -> int:
        probing = asyncio.get_running_loop().create_task(self._probe()) if _is_probed(self.spec) else None
        try:
            if self._stopped.is_set():  # while it was being started
                await process.stop(0)
            return await process.ended()
        except asyncio.CancelledError:
            process.kill()
            raise
        finally:
            self._process = None
            if probing is not None:
                probing.cancel()

    def _end(self, code: int, began: float, **why: str) -> None:
        self.ready = False
        run = statuses.container_id(self.uid, self.spec.get("name", ""), self.restarts)
        self.state = statuses.terminated_state(code, timestamp(began), self.clock(), container_id=run, **why)
        self.changed()

    async def _wait(self) -> None:
        """Waits before the next run, longer every time."""
        name, seconds = self.spec.get("name", ""), self._backoff
        self._backoff = min(2 * seconds, LONGEST_BACKOFF)
        self.last_state = self.state
        text = f"back-off {_duration(seconds)} restarting failed container={name} pod={self.pod_name}"
        self.state = {"waiting": {"reason": "CrashLoopBackOff", "message": text}}
        self.tell("BackOff", f"Back-off restarting failed container {name} in pod {self.pod_name}", True)
        self.changed()
        await self._pause(seconds)
        if not self._stopped.is_set():
            self.restarts += 1

    async def _probe(self) -> None:
        check = self.spec.get("readinessProbe") or {}
        period = max(check.get("periodSeconds", 10), 1)
        await asyncio.sleep(max(check.get("initialDelaySeconds", 0), 0))
        good = bad = 0
        ever = False
        while True:
            problem = await _probe_result(check, self.spec, self.address)
            good, bad = (good + 1, 0) if not problem else (0, bad + 1)
            if not problem and not self.ready and good >= check.get("successThreshold", 1):
                self.ready = ever = True
                self.changed()
            elif problem and bad >= check.get("failureThreshold", 3):
                if ever:
                    self.tell("Unhealthy", f"Readiness probe failed: {problem}", True)
                if self.ready:
                    self.ready = False
                    self.changed()
            await asyncio.sleep(period if ever else min(period, SOON))


def _is_probed(spec: Document) -> bool:
    check = spec.get("readinessProbe") or {}
    return bool(check.get("httpGet") or check.get("tcpSocket"))


def _duration(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes}m{rest}s" if minutes else f"{rest}s"


async def _probe_result(check: Document, container: Document, host: str) -> str:
    """What speaks against a container being ready, or nothing."""
    timeout = max(check.get("timeoutSeconds", 1), 1)
    try:
        if check.get("httpGet"):
            return await _get(check["httpGet"], container, host, timeout)
        if check.get("tcpSocket"):
            port = _port(check["tcpSocket"].get("port"), container)
            async with asyncio.timeout(timeout):
                _, writer = await asyncio.open_connection(host, port)
            writer.close()
    except (OSError, TimeoutError, aiohttp.ClientError, ValueError) as error:
        return str(error) or type(error).__name__
    return ""


async def _get(check: Document, container: Document, host: str, timeout: float) -> str:
    scheme = check.get("scheme", "HTTP").lower()
    path = check.get("path", "/").lstrip("/")
    url = f"{scheme}://{host}:{_port(check.get('port'), container)}/{path}"
    headers = {each.get("name", ""): each.get("value", "") for each in check.get("httpHeaders") or ()}
    async with (
        aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=timeout)) as session,
        session.get(url, headers=headers, ssl=False, allow_redirects=False) as answer,
    ):
        if 200 <= answer.status < 400:
            return ""
        return f"HTTP probe failed with statuscode: {answer.status}"


def _port(port: object, container: Document) -> int:
    """A number, or the port of the container that has this name."""
    if isinstance(port, int):
        return port
    named = (
        each.get("containerPort", 0) for each in container.get("ports") or () if each.get("name") == port
    )
    return int(next(named, str(port)))
