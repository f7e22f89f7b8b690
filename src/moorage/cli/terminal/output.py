"""Where `moorage up` writes, from its first word to its last."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

import click

from moorage.cli.terminal.keyboard import Keyboard
from moorage.cli.terminal.log_file import LogFile
from moorage.cli.terminal.screen import Frame, Screen
from moorage.cli.terminal.streams import LineMaker, Stream

PATIENCE_SECONDS = 1.5


class Output:
    """Takes `sys.stdout` and `sys.stderr` in hand for the length of a `with` block.

    In a terminal everything goes through a `Screen`, so that a frame can be shown below. Elsewhere everything
    goes where it would go anyway. With a log file, all lines are written there, too.
    """

    def __init__(self, log_file: Path | None = None) -> None:
        self._log_path = log_file
        self._log: LogFile | None = None
        self._screen: Screen | None = None
        self._keyboard: Keyboard | None = None
        self._streams: dict[str, Stream] = {}
        self._on_screen: set[Stream] = set()
        self._lines = LineMaker(self._line)
        self._doing: str | None = None
        self._doing_lock = threading.Lock()

    @property
    def has_frames(self) -> bool:
        """Whether there is a terminal on which something can be kept current."""
        return self._screen is not None and self._screen.has_frames

    @property
    def has_colours(self) -> bool:
        return self.has_frames and not os.environ.get("NO_COLOR")

    def __enter__(self) -> Self:
        if self._log_path is not None:
            self._log = LogFile(self._log_path, self._complain)
        # Other debuggers than pdb paint for themselves.
        if sys.stdout.isatty() and os.environ.get("PYTHONBREAKPOINT", "") in ("", "0", "pdb.set_trace"):
            is_dumb = os.environ.get("TERM", "dumb") in ("", "dumb", "unknown")
            self._screen = Screen(sys.stdout.fileno(), encoding=sys.stdout.encoding, has_frames=not is_dumb)
            self._screen.unfinished = self._lines.unfinished
            self._keyboard = Keyboard(self._aside)
        for name in ("stdout", "stderr"):
            original = getattr(sys, name)
            is_on_screen = self._screen is not None and original.isatty()
            if is_on_screen or self._log is not None:
                original.flush()
                stream = self._streams[name] = Stream(original, self._take)
                setattr(sys, name, stream)
                if is_on_screen:
                    self._on_screen.add(stream)
        if self._screen is not None and self._keyboard is not None:
            self._screen.start()
            self._keyboard.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.doing(None)
        self._lines.finish()
        if self._screen is not None and self._keyboard is not None:
            self._keyboard.stop()
            self._screen.stop()
        for name, stream in self._streams.items():
            stream.let_go()
            if getattr(sys, name) is stream:
                setattr(sys, name, stream.original)
        if self._log is not None:
            self._log.close()

    def show(self, frame: Frame | None) -> None:
        """Keeps a frame below all text, in a terminal that can have one.

        After None there is none, and all text is written: the process may be about to end in any way.
        """
        if self._screen is not None and self._keyboard is not None:
            self._keyboard.echo(frame is None)
            self._screen.show(frame)
            if frame is None:
                self._screen.wait()

    def say(self, line: str) -> None:
        """Writes a line of its own, whatever somebody else has begun to write."""
        self._lines.finish()
        click.echo(line)

    def doing(self, what: str | None) -> None:
        """Tells someone at a terminal what is being done if it takes long; the next call ends it."""
        with self._doing_lock:
            self._doing = what
        if what is not None and self._screen is not None:
            timer = threading.Timer(PATIENCE_SECONDS, self._tell, (what,))
            timer.daemon = True
            timer.start()

    def _tell(self, what: str) -> None:
        with self._doing_lock:
            if self._doing is what:
                click.echo(f"{what} ...", err=True)

    def log(self, line: str) -> None:
        """Writes to the log file what is shown in another way."""
        if self._log is not None:
            self._log.write(f"{line}\n")

    def _take(self, stream: Stream, text: str) -> None:
        if stream not in self._on_screen:
            stream.original.write(text)
        self._lines.add(stream, text)

    def _line(self, stream: Stream, text: str) -> None:
        if self._screen is not None and stream in self._on_screen:
            self._screen.write(text)
        if self._log is not None:
            self._log.write(text)

    def _complain(self, text: str) -> None:
        if self._screen is not None:
            self._screen.write(text)
        else:
            self._streams["stderr"].original.write(text)

    @contextmanager
    def _aside(self) -> Iterator[None]:
        assert self._screen is not None
        prompt = self._lines.take()
        if prompt:
            self.log(prompt)
        with self._screen.aside(prompt):
            yield
