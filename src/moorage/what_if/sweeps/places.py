"""Where jobs run, several at a time: on the cores of this machine or on a Dask cluster."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import NamedTuple, Protocol

from msgspec import Struct

from moorage.what_if.replay.jobs import Job, Outcome

Replay = Callable[[Job], Outcome]
"""Does one job. Other processes get it by its name, so it must be a function of a module."""


class Failure(Struct, frozen=True):
    """Why there is no outcome."""

    reason: str
    """One line."""
    details: str = ""
    """The traceback."""


class Finished(NamedTuple):
    name: str
    """As it was started."""
    outcome: Outcome | Failure


class Places(Protocol):
    """What runs jobs. Closing it gives up those that still run."""

    @property
    def count(self) -> int:
        """How many may be started at a time."""

    def start(self, name: str, job: Job) -> None:
        """Has a job run."""

    def wait(self, seconds: float | None = None) -> list[Finished]:
        """Waits until something happens, or so long; what has finished since then, maybe nothing."""

    def close(self) -> None: ...


def run_all(jobs: Iterable[Job], places: Places) -> Iterator[tuple[int, Outcome | Failure]]:
    """The place of each job among them and what became of it, as they end."""
    waiting = enumerate(jobs)
    running = 0
    more = True
    while more or running:
        while more and running < places.count:
            number, job = next(waiting, (0, None))
            if job is None:
                more = False
            else:
                places.start(str(number), job)
                running += 1
        for name, outcome in places.wait() if running else ():
            running -= 1
            yield int(name), outcome


def replayed(job: Job) -> Outcome:
    """The replay itself, imported where it runs."""
    from moorage.what_if.replay.running import run_job

    return run_job(job)


def attempted(replay: Replay, job: Job) -> Outcome | Failure:
    """What other processes are asked for: errors come back as a line, as not every exception can travel."""
    with _quiet():
        try:
            return replay(job)
        except Exception as error:
            return Failure(_in_a_line(error), traceback.format_exc())


def _in_a_line(error: Exception) -> str:
    text = "; ".join(str(error).splitlines())
    ours = type(error).__module__.startswith("moorage.")
    return text if ours and text else f"{type(error).__name__}: {text}".removesuffix(": ")


@contextmanager
def _quiet() -> Iterator[None]:
    """Keeps the scheduler from logging what becomes of each pod: the outcome tells."""
    logger = logging.getLogger("moorage")
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(before)
