"""Signals to a process whose main thread may be anywhere, in a plugin that does not return for example."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterable
from types import FrameType

from moorage.process import logs

STOPPING = (signal.SIGTERM, signal.SIGINT)
_SAME_SIGNAL_SECONDS = 0.5  # make passes on what the terminal has sent to both
_BEAT_SECONDS = 0.1
UNRESPONSIVE_SECONDS = 1.2
"""How long an event loop may take for anything once the process is to end."""


def heed_interrupts() -> None:
    """Has Ctrl-C end the process even if it was started with that signal ignored, as shells do for `&`."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def exit_now(code: int = 1) -> None:
    """Ends the process without further ado; what was logged is written."""
    logs.flush()
    os._exit(code)


class Signals:
    """Hears of signals in a thread of its own, from `start` to `stop`, whatever the main thread does.

    `on_stop` is called in the event loop for the first signal to stop; `hurry` is called at once, in the
    other thread, and should end what keeps the loop from it. If the loop does not answer soon, then or later,
    or the user insists with a second signal, `last_resort` has to end the process. `others` are further
    signals, whose functions are called in the loop.
    """

    def __init__(
        self,
        on_stop: Callable[[signal.Signals], None],
        *,
        hurry: Callable[[], None],
        last_resort: Callable[[], None] = exit_now,
        stopping: Iterable[signal.Signals] = STOPPING,
        others: dict[signal.Signals, Callable[[], None]] | None = None,
    ) -> None:
        self._on_stop, self._hurry, self._last_resort = on_stop, hurry, last_resort
        self._stopping = tuple(stopping)
        self._others = others or {}
        self._asked = self._felt = self._heard = 0.0
        self._is_asked = False

    def start(self) -> None:
        """To be called in the running event loop of the main thread, which may have ways of its own."""
        self._loop = asyncio.get_running_loop()
        self._ours, theirs = socket.socketpair()
        theirs.setblocking(False)
        self._theirs = theirs
        self._old_handlers = {
            number: signal.signal(number, _do_nothing) for number in (*self._stopping, *self._others)
        }
        self._old_wakeup = signal.set_wakeup_fd(theirs.fileno(), warn_on_full_buffer=False)
        self._thread = threading.Thread(target=self._listen, name="signals", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        signal.set_wakeup_fd(self._old_wakeup)
        for number, handler in self._old_handlers.items():
            signal.signal(number, handler)
        self._theirs.close()
        self._thread.join()

    def _listen(self) -> None:
        with self._ours as ours:
            while True:
                ours.settimeout(_BEAT_SECONDS if self._is_asked else None)
                try:
                    numbers = ours.recv(64)
                except TimeoutError:
                    pass
                else:
                    if not numbers:
                        return
                    for number in numbers:
                        self._hear(number)
                if self._is_asked and time.monotonic() - self._felt > _BEAT_SECONDS:
                    self._feel_the_pulse()

    def _hear(self, number: int) -> None:
        if number in self._others:
            self._call(self._others[signal.Signals(number)])
        if number not in self._stopping:
            return
        now = time.monotonic()
        if self._is_asked:
            if now - self._asked > _SAME_SIGNAL_SECONDS:
                self._last_resort()
            return
        self._is_asked, self._asked, self._heard = True, now, now
        self._hurry()
        self._call(lambda: self._on_stop(signal.Signals(number)))

    def _feel_the_pulse(self) -> None:
        def answer() -> None:
            self._heard = time.monotonic()

        self._felt = time.monotonic()
        self._call(answer)
        if time.monotonic() - self._heard > UNRESPONSIVE_SECONDS:
            self._last_resort()

    def _call(self, function: Callable[[], None]) -> None:
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(function)


def _do_nothing(number: int, frame: FrameType | None) -> None:
    """The thread has heard of it already."""
