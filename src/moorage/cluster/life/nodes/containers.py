"""A container that is really run: started, watched, started again, ended."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from moorage.cluster.base.store import Document
from moorage.cluster.base.times import Clock, timestamp
from moorage.cluster.life.nodes.fields import Unavailable
from moorage.cluster.life.nodes.pod_status import (
    container_id,
    container_status,
    running_state,
    terminated_state,
)
from moorage.cluster.life.nodes.probes import probe
from moorage.cluster.life.nodes.processes import NotStarted, Process

FIRST_BACKOFF = 10.0  # seconds before a container that has ended is started again; doubles every time
LONGEST_BACKOFF = 300.0
FORGIVEN_AFTER = 600.0  # seconds of running after which the first back-off is used again
RETRY = 1.0  # seconds until a container that lacks something is tried again
SOON = 1.0  # seconds between probes of a container that was not ready yet
NOT_STARTED = 128  # exit code of what could not be started

Tell = Callable[[str, str, bool], None]
"""Reason, message and whether it is a warning."""


class Container:
    """The runs of one container, from its first start until it is over.

    `address` is where it is probed. `start` gives a process, or raises NotStarted or Unavailable; `changed`
    is called when the status is another; `tell` makes events. Liveness and startup probes are not looked at:
    a process that is stuck stays so, as it would on anyone's machine.
    """

    def __init__(
        self,
        uid: str,
        spec: Document,
        *,
        restarts: int,
        policy: str,
        state: Document,
        pod_name: str,
        address: str,
        start: Callable[[], Awaitable[Process]],
        changed: Callable[[], None],
        tell: Tell,
        clock: Clock,
    ) -> None:
        self.spec = spec
        self.over = False
        """It has ended and will not be started again."""
        self._uid = uid
        self._restarts = restarts
        self._policy = policy
        self._pod_name = pod_name
        self._address = address
        self._start = start
        self._changed = changed
        self._tell = tell
        self._clock = clock
        self._state = state
        self._last_state: Document = {}
        self._ready = False
        self._backoff = FIRST_BACKOFF
        self._process: Process | None = None
        self._stopped = asyncio.Event()

    @property
    def exit_code(self) -> int | None:
        """Of a container that is over or between two runs."""
        ended = self._state.get("terminated") or self._last_state.get("terminated")
        return None if ended is None else int(ended["exitCode"])

    def status(self) -> Document:
        return container_status(
            self._uid,
            self.spec,
            self._state,
            ready=self._ready,
            restarts=self._restarts,
            last_state=self._last_state,
        )

    async def run(self) -> None:
        """Runs it until it is over."""
        while not self._stopped.is_set():
            process = await self._started()
            began = self._clock()
            if process is not None:
                code = await self._watch(process)
                self._end(code, began)
                if self._clock() - began >= FORGIVEN_AFTER:
                    self._backoff = FIRST_BACKOFF
            if self._stopped.is_set() or not self._again():
                break
            await self._wait()
        self.over = True
        self._changed()

    async def stop(self, grace: float) -> None:
        """Ends it for good; `run` returns soon after."""
        self._stopped.set()
        if self._process is not None:
            self._tell("Killing", f"Stopping container {self.spec.get('name', '')}", False)
            await self._process.stop(grace)

    async def _pause(self, seconds: float) -> None:
        """Waits, unless it is stopped meanwhile."""
        try:
            async with asyncio.timeout(seconds):
                await self._stopped.wait()
        except TimeoutError:
            return

    async def _started(self) -> Process | None:
        while not self._stopped.is_set():
            try:
                process = await self._start()
            except Unavailable as problem:
                if self._waits("CreateContainerConfigError", str(problem)):
                    self._tell("Failed", f"Error: {problem}", True)
                await self._pause(RETRY)
            except NotStarted as problem:
                self._tell("Failed", f"Error: {problem}", True)
                now = self._clock()
                self._state = terminated_state(
                    NOT_STARTED,
                    timestamp(now),
                    now,
                    reason="StartError",
                    message=str(problem),
                    container_id=container_id(self._uid, self.spec.get("name", ""), self._restarts),
                )
                self._changed()
                return None
            else:
                self._run_on(process)
                return process
        return None

    def _run_on(self, process: Process) -> None:
        self._process = process
        self._state = running_state(self._clock())
        self._ready = not _is_probed(self.spec)
        self._tell("Started", "Container started", False)
        self._changed()

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

    def _end(self, code: int, began: float) -> None:
        self._ready = False
        self._state = terminated_state(
            code,
            timestamp(began),
            self._clock(),
            container_id=container_id(self._uid, self.spec.get("name", ""), self._restarts),
        )
        self._changed()

    def _again(self) -> bool:
        return self._policy == "Always" or (self._policy == "OnFailure" and self.exit_code != 0)

    async def _wait(self) -> None:
        """Waits before the next run, longer every time."""
        name, seconds = self.spec.get("name", ""), self._backoff
        self._backoff = min(2 * seconds, LONGEST_BACKOFF)
        self._last_state = self._state
        text = f"back-off {_duration(seconds)} restarting failed container={name} pod={self._pod_name}"
        self._state = {"waiting": {"reason": "CrashLoopBackOff", "message": text}}
        self._tell("BackOff", f"Back-off restarting failed container {name} in pod {self._pod_name}", True)
        self._changed()
        await self._pause(seconds)
        if not self._stopped.is_set():
            self._restarts += 1

    def _waits(self, reason: str, message: str) -> bool:
        """Says what it waits for; whether that is new."""
        state = {"waiting": {"reason": reason, "message": message}}
        if state == self._state:
            return False
        self._state = state
        self._changed()
        return True

    async def _probe(self) -> None:
        check = self.spec.get("readinessProbe") or {}
        period = max(check.get("periodSeconds", 10), 1)
        await asyncio.sleep(max(check.get("initialDelaySeconds", 0), 0))
        good = bad = 0
        ever = False
        while True:
            problem = await probe(check, self.spec, self._address)
            good, bad = (good + 1, 0) if not problem else (0, bad + 1)
            if not problem and not self._ready and good >= check.get("successThreshold", 1):
                self._ready = ever = True
                self._changed()
            elif problem and bad >= check.get("failureThreshold", 3):
                if ever:
                    self._tell("Unhealthy", f"Readiness probe failed: {problem}", True)
                if self._ready:
                    self._ready = False
                    self._changed()
            await asyncio.sleep(period if ever else min(period, SOON))


def _is_probed(spec: Document) -> bool:
    check = spec.get("readinessProbe") or {}
    return bool(check.get("httpGet") or check.get("tcpSocket"))


def _duration(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes}m{rest}s" if minutes else f"{rest}s"
