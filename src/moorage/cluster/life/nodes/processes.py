"""A program that is run for a container, as a process group of its own."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from moorage.cluster.life.nodes.guard import Guard
from moorage.cluster.life.nodes.logs import Log

LAST_OUTPUT = 1.0  # seconds to wait for output after the end
_PORTION = 2**16


class NotStarted(Exception):
    """The program cannot be run; the text says why."""


class Process:
    """One run of a program. Its output goes to a log, which is closed when it has ended."""

    def __init__(self, process: asyncio.subprocess.Process, output: int, log: Log, guard: Guard) -> None:
        self._process = process
        self._log = log
        self._guard = guard
        guard.watch(process.pid)
        self._output = asyncio.get_running_loop().create_task(self._copy(output))

    @classmethod
    async def start(
        cls, words: list[str], *, variables: Mapping[str, str], folder: Path, log: Log, guard: Guard
    ) -> Process:
        # A pipe of our own: with one of asyncio's, a program counts as running as long as anything it has
        # started holds the other end.
        output, theirs = os.pipe()
        try:
            process = await asyncio.create_subprocess_exec(
                *words,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=theirs,
                stderr=theirs,
                env=variables,
                cwd=folder,
                start_new_session=True,
            )
        except BaseException as error:
            os.close(output)
            log.close()
            if not isinstance(error, OSError | ValueError):
                raise
            raise NotStarted(f"{words[0]}: {getattr(error, 'strerror', None) or error}") from None
        finally:
            os.close(theirs)
        return cls(process, output, log, guard)

    @property
    def pid(self) -> int:
        return self._process.pid

    async def ended(self) -> int:
        """Waits for the end; the exit code is as a shell gives it, 128 and more for signals."""
        code = await self._process.wait()
        # As in a container, what the program has started ends with it.
        self._signal(signal.SIGKILL)
        self._guard.forget(self.pid)
        await asyncio.wait((self._output,), timeout=LAST_OUTPUT)
        self._output.cancel()
        self._log.close()
        return code if code >= 0 else 128 - code

    async def stop(self, grace: float) -> None:
        """Asks it to end, and ends it when the time is over. Another task waits for `ended`."""
        if self._process.returncode is not None:
            return
        if grace > 0:
            self._signal(signal.SIGTERM)
            with suppress(TimeoutError):
                async with asyncio.timeout(grace):
                    await self._process.wait()
                    return
        self._signal(signal.SIGKILL)
        await self._process.wait()

    def kill(self) -> None:
        """Ends it at once, where nobody can wait for that."""
        self._signal(signal.SIGKILL)
        self._guard.forget(self.pid)
        self._output.cancel()
        self._log.close()

    def _signal(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, number)

    async def _copy(self, output: int) -> None:
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader()
        pipe = os.fdopen(output, "rb", buffering=0)
        try:
            transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), pipe)
        except BaseException:
            pipe.close()
            raise
        try:
            while data := await reader.read(_PORTION):
                self._log.write(data)
        finally:
            transport.close()
