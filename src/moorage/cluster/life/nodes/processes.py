"""Programs that are run for containers, each as a process group of its own."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from moorage.cluster.life.nodes.logs import Log

LAST_OUTPUT = 1.0  # seconds to wait for output after the end
_PORTION = 2**16
_GUARD = """
groups=
while read -r line; do groups=$line; done
for group in $groups; do kill -s KILL -- "-$group"; done
"""


class Guard:
    """Ends the processes of a cluster that is itself killed before it can.

    A small process beside this one, from the first group of processes to be watched until `close`, reads
    which groups there are. When this process is gone, by whatever signal, its input ends, and it kills those
    that are left.
    """

    def __init__(self) -> None:
        self._groups: dict[int, None] = {}
        self._shell: subprocess.Popen[bytes] | None = None

    def watch(self, group: int) -> None:
        self._groups[group] = None
        self._tell()

    def forget(self, group: int) -> None:
        if group in self._groups:
            del self._groups[group]
            self._tell()

    def close(self) -> None:
        if self._shell is not None:
            self._shell.communicate()
            self._shell = None

    def _tell(self) -> None:
        try:
            if self._shell is None:
                # In a session of its own: what the terminal sends to this process does not end it.
                self._shell = subprocess.Popen(
                    ("/bin/sh", "-c", _GUARD),
                    stdin=subprocess.PIPE,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    cwd="/",
                    bufsize=0,
                    start_new_session=True,
                )
            assert self._shell.stdin is not None
            self._shell.stdin.write(f"{' '.join(map(str, self._groups))}\n".encode())
        except OSError:
            return  # there is no shell, or somebody has ended it: the cluster works without


class NotStarted(Exception):
    """The program cannot be run; the text says why."""


class Launch(NamedTuple):
    """All that is needed to start a program."""

    words: list[str]
    variables: dict[str, str]
    folder: Path


class Process:
    """One run of a program. Its output goes to a log, which is closed when it has ended."""

    def __init__(self, process: asyncio.subprocess.Process, output: int, log: Log, guard: Guard) -> None:
        self._process = process
        self._log = log
        self._guard = guard
        guard.watch(process.pid)
        self._output = asyncio.get_running_loop().create_task(self._copy(output))

    @classmethod
    async def start(cls, launch: Launch, log: Log, guard: Guard) -> Process:
        # A pipe of our own: with one of asyncio's, a program counts as running as long as anything it has
        # started holds the other end.
        output, theirs = os.pipe()
        try:
            process = await asyncio.create_subprocess_exec(
                *launch.words,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=theirs,
                stderr=theirs,
                env=launch.variables,
                cwd=launch.folder,
                start_new_session=True,
            )
        except BaseException as error:
            os.close(output)
            log.close()
            if not isinstance(error, OSError | ValueError):
                raise
            raise NotStarted(f"{launch.words[0]}: {getattr(error, 'strerror', None) or error}") from None
        finally:
            os.close(theirs)
        return cls(process, output, log, guard)

    async def ended(self) -> int:
        """Waits for the end; the exit code is as a shell gives it, 128 and more for signals."""
        code = await self._process.wait()
        # As in a container, what the program has started ends with it.
        self._signal(signal.SIGKILL)
        self._guard.forget(self._process.pid)
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
        self._guard.forget(self._process.pid)
        self._output.cancel()
        self._log.close()

    def _signal(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)

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
