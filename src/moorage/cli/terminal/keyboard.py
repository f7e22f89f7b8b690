"""Whoever reads from the terminal, such as a debugger in a plugin, has it for himself meanwhile."""

from __future__ import annotations

import builtins
import os
import sys
import termios
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Any, TextIO

Aside = Callable[[], AbstractContextManager[None]]


class Keyboard:
    """Has `aside` entered while `input()` or `sys.stdin` waits for a line, as pdb does for its prompt."""

    def __init__(self, aside: Aside) -> None:
        self._aside = aside
        self._input = builtins.input
        self._stdin = sys.stdin
        self._modes: list[Any] | None = None

    def start(self) -> None:
        if self._stdin.isatty():
            builtins.input = self._read
            sys.stdin = _Stdin(self._stdin, self._reading)

    def stop(self) -> None:
        self.echo(True)
        builtins.input = self._input
        sys.stdin = self._stdin

    def echo(self, wanted: bool) -> None:
        """Shows what is typed, or not: a frame would be torn by it, and each Enter leave one of its lines."""
        with suppress(OSError, ValueError, termios.error):
            file = self._stdin.fileno()
            # A job in the background would be stopped by the attempt.
            if not os.isatty(file) or os.tcgetpgrp(file) != os.getpgrp():
                return
            if wanted and self._modes is not None:
                termios.tcsetattr(file, termios.TCSANOW, self._modes)
                self._modes = None
            elif not wanted and self._modes is None:
                modes = termios.tcgetattr(file)
                if modes[3] & termios.ECHO:
                    quiet = [*modes[:3], modes[3] & ~termios.ECHO, *modes[4:]]
                    termios.tcsetattr(file, termios.TCSANOW, quiet)
                    self._modes = modes

    def _read(self, prompt: object = "", /) -> str:
        with self._reading():
            return self._input(prompt)

    @contextmanager
    def _reading(self) -> Iterator[None]:
        with self._aside():
            was_quiet = self._modes is not None
            self.echo(True)
            try:
                yield
            finally:
                if was_quiet:
                    self.echo(False)


class _Stdin:
    def __init__(self, original: TextIO, reading: Aside) -> None:
        self._original = original
        self._reading = reading

    def __getattr__(self, name: str) -> Any:
        return getattr(self._original, name)

    def read(self, size: int = -1, /) -> str:
        with self._reading():
            return self._original.read(size)

    def readline(self, size: int = -1, /) -> str:
        with self._reading():
            return self._original.readline(size)

    def readlines(self, hint: int = -1, /) -> list[str]:
        with self._reading():
            return self._original.readlines(hint)

    def __iter__(self) -> _Stdin:
        return self

    def __next__(self) -> str:
        if line := self.readline():
            return line
        raise StopIteration
