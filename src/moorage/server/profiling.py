"""Where the process spends its time, and where it is now."""

from __future__ import annotations

import asyncio
import io
import sys
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterable
from types import CodeType, FrameType
from typing import Any, NamedTuple

LONGEST_PROFILE = 300.0
SAMPLE_SECONDS = 0.01

Stack = tuple["Place", ...]
"""The calls of a thread, the outermost first."""


class Place(NamedTuple):
    """A function in a file; of a thread, only its name."""

    name: str
    file: str = ""
    line: int = 0

    def __str__(self) -> str:
        text = f"{self.name} ({self.file}:{self.line})" if self.file else self.name
        return text.replace(";", ",").replace("\n", " ")


class Profile:
    """How often each stack was seen; the first place of a stack names its thread."""

    def __init__(self) -> None:
        self.counts: Counter[Stack] = Counter()
        self.seconds = 0.0
        """How long it took; the samples are spread over it."""
        self._samples = 0

    def sample(self, leave_out: Iterable[int] = ()) -> None:
        """Adds where all threads are now, but those with the given numbers."""
        self._samples += 1
        names = {thread.ident: thread.name for thread in threading.enumerate()}
        for number, frame in sys._current_frames().items():
            if number not in leave_out:
                self.counts[(Place(names.get(number, f"thread {number}")), *_stack(frame))] += 1

    def collapsed(self) -> str:
        """A line per stack with its count, as flamegraph.pl, speedscope and inferno read it."""
        lines = (f"{';'.join(map(str, stack))} {count}\n" for stack, count in self.counts.items())
        return "".join(sorted(lines))

    def speedscope(self) -> dict[str, Any]:
        """For https://www.speedscope.app: one profile for each thread."""
        interval = self.seconds / max(self._samples, 1)
        frames: dict[Place, int] = {}
        profiles: dict[str, dict[str, Any]] = {}
        for (thread, *calls), count in sorted(self.counts.items()):
            profile = profiles.setdefault(
                thread.name,
                {
                    "type": "sampled",
                    "name": thread.name,
                    "unit": "seconds",
                    "startValue": 0,
                    "endValue": 0.0,
                    "samples": [],
                    "weights": [],
                },
            )
            profile["samples"].append([frames.setdefault(call, len(frames)) for call in calls])
            profile["weights"].append(count * interval)
            profile["endValue"] += count * interval
        return {
            "$schema": "https://www.speedscope.app/file-format-schema.json",
            "exporter": "moorage",
            "shared": {"frames": [place._asdict() for place in frames]},
            "profiles": list(profiles.values()),
        }


def _stack(frame: FrameType | None) -> list[Place]:
    found: list[Place] = []
    while frame is not None:
        found.append(_place(frame.f_code))
        frame = frame.f_back
    return found[::-1]


def _place(code: CodeType) -> Place:
    return Place(code.co_qualname, code.co_filename, code.co_firstlineno)


class Sampler:
    """Looks at the threads from one of its own: the event loop goes on meanwhile."""

    def __init__(self, interval: float = SAMPLE_SECONDS) -> None:
        self._interval = interval
        self._busy = False

    async def profile(self, seconds: float) -> Profile | None:
        """The profile of the next seconds, or None if somebody else is just making one."""
        if self._busy:
            return None
        self._busy = True
        ending = threading.Event()
        profile = Profile()
        began = time.monotonic()
        try:
            sampling = asyncio.get_running_loop().run_in_executor(None, self._sample, profile, ending)
            try:
                await asyncio.sleep(seconds)
            finally:
                ending.set()
                await sampling
                profile.seconds = time.monotonic() - began
        finally:
            self._busy = False
        return profile

    def _sample(self, profile: Profile, ending: threading.Event) -> None:
        own = threading.get_ident()
        while not ending.wait(self._interval):
            profile.sample(leave_out=(own,))


def stacks(tasks: Callable[[], Iterable[asyncio.Task[Any]]] = asyncio.all_tasks) -> str:
    """All threads and all tasks of the event loop, with their stacks, the innermost call last."""
    text = io.StringIO()
    frames = sys._current_frames()
    for thread in threading.enumerate():
        text.write(f"thread {thread.name}{' (daemon)' if thread.daemon else ''}\n")
        traceback.print_stack(frames.get(thread.ident or 0), file=text)
        text.write("\n")
    for task in sorted(tasks(), key=lambda each: each.get_name()):
        text.write(f"task {task.get_name()}: {_coroutine_name(task)}\n")
        for frame in _frames_of(task):
            text.write("".join(traceback.format_list(traceback.extract_stack(frame, limit=1))))
        text.write("\n")
    return text.getvalue()


def _coroutine_name(task: asyncio.Task[Any]) -> str:
    return getattr(task.get_coro(), "__qualname__", repr(task.get_coro()))


def _frames_of(task: asyncio.Task[Any]) -> list[FrameType]:
    """The coroutines that wait for one another, from the task's own to the one that really waits.

    `Task.get_stack` knows the first of them only.
    """
    frames: list[FrameType] = []
    waiting: Any = task.get_coro()
    while waiting is not None:
        frame = next(
            (found for part in ("cr", "ag", "gi") if (found := getattr(waiting, f"{part}_frame", None))), None
        )
        if frame is None:
            break
        frames.append(frame)
        waiting = next(
            (
                found
                for name in ("cr_await", "ag_await", "gi_yieldfrom")
                if (found := getattr(waiting, name, None)) is not None
            ),
            None,
        )
    return frames
