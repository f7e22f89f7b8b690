"""The one writer of a terminal: text scrolls by, and below it a frame is kept current.

After each painting the cursor is back where the frame begins. So, whatever becomes of the frame's lines when
the terminal is resized, all of it is below the cursor and can be erased; and what others write lands on its
first line, which is empty.
"""

from __future__ import annotations

import os
import re
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple, TypeAlias

REPAINT_SECONDS = 0.1
"""At most so often is anything written."""
REFRESH_SECONDS = 5.0
"""So often is a frame painted that looks the same: others may have written over it."""
MOST_WAITING = 8 * 1024**2
"""So many letters may wait for a terminal that takes none."""
AT_ONCE = 256 * 1024
PAUSE_SECONDS = 0.5
END_SECONDS = 2.0

ERASE = "\r\x1b[J"
_ONE_UPDATE = "\x1b[?2026h", "\x1b[?2026l"
_WITHOUT_FOLDING = "\x1b[?7l", "\x1b[?7h"
_CONTROLS = re.compile(r"(\x1b\[[0-9;:]*m)|[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_STYLE_ENDS = "\x1b[0m"


class Size(NamedTuple):
    columns: int
    rows: int


Frame: TypeAlias = Callable[[Size], list[str]]
"""What to show at the bottom, in lines that fit; asked in the thread of the screen."""


def readable(text: str) -> str:
    """Text that can change colours and nothing else of a terminal; other controls are made visible."""
    if text.isprintable():
        return text
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if not _CONTROLS.search(text):
        return text
    shown = _CONTROLS.sub(_visible, text)
    return shown.replace("\n", f"{_STYLE_ENDS}\n") if "\x1b" in shown else shown


def _visible(found: re.Match[str]) -> str:
    if style := found[1]:
        return style
    code = ord(found[0])
    return f"^{chr(code ^ 64)}" if code < 128 else f"\\x{code:02x}"


class Screen:
    """Writes what it is given in a thread of its own; nobody waits for the terminal.

    `unfinished` tells lines that are not complete yet: they are shown, and written when they are.
    """

    def __init__(self, file: int, *, encoding: str = "utf-8", has_frames: bool = True) -> None:
        self.has_frames = has_frames
        self.unfinished: Callable[[], list[str]] = list
        self._file = file
        self._encoding = encoding
        self._frame: Frame | None = None
        self._shows = 0
        self._painted: tuple[Size, list[str]] | None = None
        self._painted_at = 0.0
        self._frame_from = 0.0
        self._is_gone = False
        self._is_lent = False
        self._waiting: deque[str] = deque()
        self._waiting_letters = 0
        self._left_out = 0
        # Signal handlers may write, too: hence locks that the same thread can take twice.
        self._queue = threading.RLock()
        self._terminal = threading.RLock()
        self._work = threading.Event()
        self._is_current = threading.Event()
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, name="screen", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Writes what is left and takes the frame away; a terminal that takes nothing is left as it is."""
        self._ending.set()
        self._work.set()
        self._thread.join(END_SECONDS)
        self._is_gone = True

    def write(self, text: str) -> None:
        """Takes whole lines; may be called in any thread."""
        with self._queue:
            self._waiting.append(text)
            self._waiting_letters += len(text)
            if self._waiting_letters > MOST_WAITING:
                while self._waiting_letters > MOST_WAITING // 2:
                    gone = self._waiting.popleft()
                    self._waiting_letters -= len(gone)
                    self._left_out += gone.count("\n")
        self._work.set()

    def show(self, frame: Frame | None) -> None:
        """Keeps this at the bottom from now on, or nothing."""
        with self._queue:
            self._frame = frame if self.has_frames else None
            self._shows += 1
            self._is_current.clear()
        self._work.set()

    def wait(self) -> None:
        """Returns when all up to the last `show` can be seen; soon, if the terminal takes nothing."""
        if self._is_lent:
            self._put("\n")  # there is no frame, but a prompt, and perhaps nobody will come back to it
        else:
            self._is_current.wait(END_SECONDS)

    @contextmanager
    def aside(self, prompt: str = "") -> Iterator[None]:
        """Leaves the terminal to someone who reads from it: first all is written, then nothing."""
        with self._terminal:
            self._paint(with_frame=False)
            while self._waiting:
                self._paint(with_frame=False)
            self._put(readable(prompt))
            self._is_lent = True
            try:
                yield
            finally:
                self._is_lent = False
                # Whoever has read once often does so again soon, as a debugger does.
                self._frame_from = time.monotonic() + PAUSE_SECONDS

    def _run(self) -> None:
        while not self._ending.is_set():
            self._work.wait(REPAINT_SECONDS)
            self._work.clear()
            shows = self._shows
            with self._terminal:
                self._paint()
            with self._queue:
                if shows == self._shows and not self._waiting:
                    self._is_current.set()
            self._ending.wait(REPAINT_SECONDS)
        with self.aside():
            pass

    def _paint(self, *, with_frame: bool = True) -> None:
        now = time.monotonic()
        is_in_front = self._is_in_front()
        has_frame = with_frame and self.has_frames and is_in_front and now >= self._frame_from
        text = readable(self._take())
        while True:
            size = self.size()
            lines = self._lines(size) if has_frame else []
            # Lines made for a larger terminal would scroll off, where nobody can erase them.
            if not lines or size == self.size():
                break
        if not text and self._painted == (size, lines) and now - self._painted_at < REFRESH_SECONDS:
            return
        output = ERASE if self._painted is not None and is_in_front else ""
        output += text
        if lines:
            up = f"\x1b[{len(lines) - 1}A" if len(lines) > 1 else ""
            output += "\n".join(lines).join(_WITHOUT_FOLDING) + f"{up}\r"
        if ERASE in output:
            output = output.join(_ONE_UPDATE)
        self._painted, self._painted_at = (size, lines) if lines else None, now
        self._put(output)

    def _lines(self, size: Size) -> list[str]:
        unfinished = [readable(line).replace("\n", " ") for line in self.unfinished()]
        lines: list[str] = []
        try:
            if self._frame is not None:
                lines = self._frame(size)
        except Exception:  # what is written must be seen nevertheless
            self._frame = None
            self.write(f"The view has failed:\n{traceback.format_exc()}")
        room = size.rows - 1 - len(lines)
        return [*unfinished[max(0, len(unfinished) - room) :], *lines] if room > 0 else lines[: size.rows - 1]

    def _take(self) -> str:
        """The next lines that wait, not too many at once."""
        with self._queue:
            taken: list[str] = []
            letters = 0
            if self._left_out:
                taken.append(f"... {self._left_out} lines are left out: the terminal was too slow for them\n")
                self._left_out = 0
            while self._waiting and letters < AT_ONCE:
                taken.append(self._waiting.popleft())
                letters += len(taken[-1])
            self._waiting_letters -= letters
            if self._waiting:
                self._work.set()
            return "".join(taken)

    def _put(self, output: str) -> None:
        data = memoryview(output.encode(self._encoding, "replace"))
        while data and not self._is_gone:
            try:
                data = data[os.write(self._file, data) :]
            except InterruptedError:
                continue
            except OSError:  # nobody is at the other end any more
                self._is_gone = True

    def _is_in_front(self) -> bool:
        """In the background the cursor is where the shell has its prompt: no place for a frame."""
        try:
            return os.tcgetpgrp(self._file) == os.getpgrp()
        except OSError:
            return True  # nobody's terminal has no background

    def size(self) -> Size:
        try:
            columns, rows = os.get_terminal_size(self._file)
        except OSError:
            columns, rows = 0, 0
        return Size(columns or 80, rows or 24)
