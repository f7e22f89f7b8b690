"""Ending calls of plugins that do not return: while one of them runs, nothing else is scheduled."""

from __future__ import annotations

import ctypes
import math
import signal
import sys
import threading
import time
import traceback
from pathlib import Path
from types import FrameType
from typing import NamedTuple, TypeAlias

from moorage.framework.logger import Logger

log = Logger(__name__)

DEFAULT_SECONDS = 10.0
HURRY_SECONDS = 0.5
"""How long a call may take once the process is to end."""
_LOOK_SECONDS = 0.25
_TRY_SECONDS = 0.01
_TOLD_SECONDS = 30.0  # between two lines about a call that cannot be ended

_DEBUGGERS = {"pdb", "bdb", "ipdb", "IPython", "pudb", "debugpy", "pydevd", "_pydevd_bundle"}
_MOORAGE = str(Path(__file__).parents[2]) + "/"
_CALLING = tuple(
    f"{_MOORAGE}framework/{file}.py" for file in ("runtime/calls", "runtime/slow_calls", "listers")
)
"""The frames around calls of plugins, which know what to do when one fails."""
_BETWEEN = (f"{_MOORAGE}framework/extension_points.py",)
"""Code between these and the methods that plugins write; it may be left at any time."""


class DidNotReturn(BaseException):
    """Ends a call of a plugin; no Exception, so that a plugin that survives all of those does not go on."""

    text = ""

    def __str__(self) -> str:
        return self.text


Call: TypeAlias = tuple[str, str, float]
"""The plugin, the point, and when it began by the performance counter; plain, as there are many."""


class RunningCall:
    """The call of a plugin in which a scheduler is right now; None if it is in none."""

    __slots__ = ("call", "interrupted")

    def __init__(self) -> None:
        self.call: Call | None = None
        self.interrupted = -math.inf
        """When the last one was that did not return, by the performance counter."""


class HangWatch:
    """Ends calls that take longer than a number of seconds, in the thread in which `start` is called.

    That is done from another thread. In the main thread a signal interrupts whatever Python waits for,
    sleeping and sockets included; in any other, a call ends only when it comes back to Python code. Nothing
    is interrupted while code of the scheduler itself runs, or under a debugger.
    """

    def __init__(self, running: RunningCall, seconds: float = DEFAULT_SECONDS) -> None:
        self._running = running
        self._seconds = seconds
        self._hurrying = False
        self._overdue: Call | None = None
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="hang-watch", daemon=True)
        self._watched = 0
        self._in_main_thread = False

    def start(self) -> None:
        self._watched = threading.get_ident()
        self._in_main_thread = threading.current_thread() is threading.main_thread()
        if self._in_main_thread:
            signal.signal(signal.SIGURG, self._interrupt)
        self._thread.start()

    def stop(self) -> None:
        self._ended.set()
        self._thread.join()
        if self._in_main_thread:
            signal.signal(signal.SIGURG, signal.SIG_DFL)

    def hurry(self) -> None:
        """The process is to end: from now on calls have little time."""
        self._hurrying = True

    def _watch(self) -> None:
        told: tuple[Call, float] | None = None
        while not self._ended.wait(_TRY_SECONDS if self._overdue is not None else _LOOK_SECONDS):
            if time.perf_counter() - self._running.interrupted < _LOOK_SECONDS:
                continue  # to find its way out of there
            call = self._running.call
            self._overdue = call if call is not None and self._takes_too_long(call) else None
            if call is None or self._overdue is None:
                continue
            if not self._hurrying and _is_at_a_prompt(sys._current_frames().get(self._watched)):
                self._overdue = None
                continue
            now = time.perf_counter()
            is_new = told is None or told[0] is not call
            if is_new or (told is not None and now - told[1] > _TOLD_SECONDS):
                told = call, now
                self._tell(call, now, is_new=is_new)
            if self._in_main_thread:
                signal.pthread_kill(self._watched, signal.SIGURG)
            else:
                self._interrupt_from_outside()

    def _takes_too_long(self, call: Call) -> bool:
        limit = HURRY_SECONDS if self._hurrying else self._seconds
        return 0 < limit < time.perf_counter() - call[2]

    def _tell(self, call: Call, now: float, *, is_new: bool) -> None:
        """Names the call and the line; the whole stack only if it could not be ended."""
        plugin, point, started = call
        frame = sys._current_frames().get(self._watched)
        method = _method_in(frame)
        log.error(
            f"{method.name if method else 'it'} did not return for {now - started:.1f}s",
            "A plugin is interrupted" if is_new else "A plugin cannot be interrupted",
            plugin=plugin,
            extensionPoint=point,
            at=method.place if method else "",
            **({} if is_new else {"stacktrace": "".join(traceback.format_stack(frame))}),
        )

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        """Runs in the main thread, on top of whatever it does."""
        overdue, method = self._overdue, _method_in(frame)
        if overdue is None or overdue is not self._running.call or method is None:
            return
        if method.may_end and (self._hurrying or sys.gettrace() is None):
            self._overdue = None
            raise self._error(method)

    def _interrupt_from_outside(self) -> None:
        method = _method_in(sys._current_frames().get(self._watched))
        if method is not None and method.may_end:
            self._overdue = None
            kind = ctypes.py_object(type(self._error(method)))
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(self._watched), kind)

    def _error(self, method: _Method) -> DidNotReturn:
        self._running.interrupted = time.perf_counter()
        why = "as the scheduler is to end" if self._hurrying else f"after {self._seconds:g}s"
        text = f"{method.name} did not return and was interrupted {why}"
        # From outside only a class can be raised, so it has to be the class that knows the text.
        kind: type[DidNotReturn] = type("DidNotReturn", (DidNotReturn,), {"text": text})
        return kind()


def _is_at_a_prompt(frame: FrameType | None) -> bool:
    """Whether a debugger has stopped the program."""
    while frame is not None:
        if str(frame.f_globals.get("__name__")).partition(".")[0] in _DEBUGGERS:
            return True
        frame = frame.f_back
    return False


class _Method(NamedTuple):
    """A plugin's method that runs."""

    name: str
    place: str
    """The line of the plugin's own code: `plugin.py:6`."""
    may_end: bool
    """Whether it may be interrupted: not while code of the scheduler runs, even if the plugin called it."""


def _method_in(frame: FrameType | None) -> _Method | None:
    lines: list[FrameType] = []
    may_end = True
    while frame is not None:
        file = frame.f_code.co_filename
        if not file.startswith(_MOORAGE):
            lines.append(frame)
        elif lines and file in _CALLING:
            code = lines[-1].f_code
            own = next(each for each in lines if each.f_code.co_filename == code.co_filename)
            return _Method(code.co_qualname, f"{Path(code.co_filename).name}:{own.f_lineno}", may_end)
        elif not lines or file not in _BETWEEN:
            may_end = False
        frame = frame.f_back
    return None
