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
        self._breakpoint = sys.breakpointhook
        self._modes: list[Any] | None = None
        self._echoes = True

    def start(self) -> None:
        if not self._stdin.isatty():
            return
        with suppress(OSError, termios.error):
            self._modes = termios.tcgetattr(self._stdin)
        builtins.input = self._read
        sys.stdin = _Stdin(self._stdin, self._reading)
        if not os.environ.get("PYTHONBREAKPOINT"):
            sys.breakpointhook = _debug

    def stop(self) -> None:
        self.echo(True)
        builtins.input = self._input
        sys.stdin = self._stdin
        sys.breakpointhook = self._breakpoint

    def echo(self, wanted: bool) -> None:
        """Shows what is typed, or not: a frame would be torn by it, and each Enter leave one of its lines."""
        self._echoes = wanted
        if self._modes is None:
            return
        modes = [*self._modes]
        if not wanted:
            modes[3] &= ~termios.ECHO
        with suppress(OSError, ValueError, termios.error):
            # A job in the background would be stopped by the attempt.
            if os.tcgetpgrp(self._stdin.fileno()) == os.getpgrp():
                termios.tcsetattr(self._stdin, termios.TCSANOW, modes)

    def _read(self, prompt: object = "", /) -> str:
        with self._reading():
            return self._input(prompt)

    @contextmanager
    def _reading(self) -> Iterator[None]:
        with self._aside():
            echoed = self._echoes
            self.echo(True)
            try:
                yield
            finally:
                self.echo(echoed)


def _debug(*, header: str | None = None) -> None:
    """What `breakpoint()` does, but for Ctrl-C: pdb would take that for itself when it is told to go on."""
    from pdb import Pdb

    debugger = Pdb(nosigint=True)
    if header is not None:
        debugger.message(header)
    debugger.set_trace(sys._getframe(1))


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
