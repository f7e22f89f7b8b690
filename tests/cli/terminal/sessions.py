"""Programs in a pseudo-terminal, as somebody at the keyboard has them."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import termios
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

import pyte

from tests.cli.running import MOORAGE, environment
from tests.cli.terminal.emulator import Emulator
from tests.controlplane.servers import wait_for

SECONDS = 30.0


class Terminal:
    """A pseudo-terminal with an emulator at its other end, for the length of a `with` block."""

    def __init__(self, columns: int, rows: int, *, folds: bool = False) -> None:
        self.emulator = Emulator(columns, rows, folds=folds)
        self.received = bytearray()
        self._stream = pyte.ByteStream(self.emulator)
        self._lock = threading.Lock()
        self._reads = threading.Event()
        self._reads.set()
        self._main, self.file = pty.openpty()
        self._set_size(columns, rows)
        self._reader = threading.Thread(target=self._read, daemon=True)

    def __enter__(self) -> Self:
        self._reader.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._reads.set()
        os.close(self.file)
        self._reader.join()
        os.close(self._main)

    def _read(self) -> None:
        with contextlib.suppress(OSError):  # how a terminal that nobody writes to any more ends
            while self._reads.wait() and (chunk := os.read(self._main, 65536)):
                with self._lock:
                    self.received += chunk
                    self._stream.feed(chunk)

    @contextlib.contextmanager
    def stopped(self) -> Iterator[None]:
        """Nothing is taken from whoever writes meanwhile, as after Ctrl-S."""
        self._reads.clear()
        try:
            yield
        finally:
            self._reads.set()

    def screen(self) -> list[str]:
        with self._lock:
            return self.emulator.screen()

    def text(self) -> list[str]:
        with self._lock:
            return self.emulator.text()

    def lines_with(self, part: str) -> list[str]:
        return [line for line in self.text() if part in line]

    def shown(self) -> str:
        return "\n".join(self.text())

    def wait_for(self, what: str, condition: Callable[[], object]) -> None:
        def met() -> bool:
            self.check()
            return bool(condition())

        try:
            wait_for(what, met, seconds=SECONDS)
        except Exception as error:
            raise AssertionError(f"{error}\n{self.shown()}") from None

    def wait_for_text(self, part: str) -> None:
        self.wait_for(repr(part), lambda: any(part in line for line in self.text()))

    def wait_for_row(self, pattern: str) -> None:
        """Waits until a row of the screen begins like that."""
        self.wait_for(pattern, lambda: any(re.match(pattern, row) for row in self.screen()))

    def check(self) -> None:
        """Raises if there is nothing to wait for."""

    def type(self, text: str) -> None:
        os.write(self._main, text.encode())

    def resize(self, columns: int, rows: int) -> None:
        """Returns when whoever writes has painted anew.

        What is under way was painted for another size, and no terminal can help that: so there must be none.
        """
        with self.halted():
            self.settle()
            before = len(self.received)
            self.change_size(columns, rows)
        self.wait_for("another painting", lambda: len(self.received) > before)
        self.settle()

    def change_size(self, columns: int, rows: int) -> None:
        with self._lock:
            self.emulator.change_size(columns, rows)
            self._set_size(columns, rows)

    @contextlib.contextmanager
    def halted(self) -> Iterator[None]:
        """Whoever writes does not run meanwhile."""
        yield

    def _set_size(self, columns: int, rows: int) -> None:
        """The system tells the programs in the terminal, with SIGWINCH."""
        fcntl.ioctl(self.file, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def echoes(self) -> bool:
        return bool(termios.tcgetattr(self.file)[3] & termios.ECHO)

    def settle(self) -> None:
        """Waits until everything written so far has been read."""
        deadline = time.monotonic() + SECONDS
        before = -1
        while before != len(self.received) and time.monotonic() < deadline:
            before = len(self.received)
            time.sleep(0.1)


class Session(Terminal):
    """A command in a terminal; it is ended with the `with` block."""

    def __init__(
        self,
        command: Sequence[str],
        folder: Path,
        *,
        columns: int = 80,
        rows: int = 24,
        folds: bool = False,
        **variables: str,
    ) -> None:
        super().__init__(columns, rows, folds=folds)
        unwanted = ("COLUMNS", "LINES", "NO_COLOR")
        kept = {key: value for key, value in environment().items() if key not in unwanted}
        self.process = subprocess.Popen(
            command,
            cwd=folder,
            stdin=self.file,
            stdout=self.file,
            stderr=self.file,
            env={**kept, "TERM": "xterm-256color", **variables},
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._reads.set()
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        super().__exit__(kind, error, trace)

    @contextlib.contextmanager
    def halted(self) -> Iterator[None]:
        self.process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self.process.send_signal(signal.SIGCONT)

    def check(self) -> None:
        if self.process.poll() is not None:
            self.settle()
            raise AssertionError("it ended")

    def end(self, number: int | None = None) -> int:
        """Ends it with Ctrl-C or the given signal; its exit code, once all it wrote has been read."""
        if number is None:
            self.type("\x03")
        else:
            self.process.send_signal(number)
        return self.exit_code()

    def exit_code(self) -> int:
        code = self.process.wait(SECONDS)
        self.settle()
        return code


class UpSession(Session):
    """`moorage up` in a terminal."""

    def __init__(
        self, folder: Path, *flags: str, columns: int = 80, rows: int = 24, folds: bool = False, **env: str
    ) -> None:
        self.kubeconfig = folder / "kubeconfig"
        command = (MOORAGE, "up", f"--kubeconfig={self.kubeconfig}", *flags)
        super().__init__(command, folder, columns=columns, rows=rows, folds=folds, **env)

    def wait_ready(self) -> None:
        self.wait_for_text("Ctrl-C ends it.")
