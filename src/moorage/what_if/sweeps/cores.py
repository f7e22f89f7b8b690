"""Jobs on the cores of this machine, one process for each that runs at a time."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing.connection import Connection
from threading import Thread
from typing import NamedTuple

from moorage.what_if.replay.jobs import Job, Outcome
from moorage.what_if.sweeps.places import Failure, Finished, Replay, attempted

MOST_TRIES = 3
"""So often a job may take its process with it."""

# A forked process would have locks that threads of this one held, and nobody to release them.
_SPAWN = multiprocessing.get_context("spawn")


def cores_here() -> int:
    """How many processes can work at the same time."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Cores:
    """Processes that each do one job at a time. One that dies is replaced, and its job tried again.

    Each is a pool of its own: if one of several in a pool dies, the pool forgets the jobs of all of them.
    """

    def __init__(self, count: int, replay: Replay) -> None:
        self.count = count
        self._replay = replay
        self._idle: list[_Process] = []
        self._running: dict[Future[Outcome | Failure], _Running] = {}

    def start(self, name: str, job: Job) -> None:
        self._try(name, job, tries=1)

    def wait(self, seconds: float | None = None) -> list[Finished]:
        done, _ = wait(self._running, seconds, return_when=FIRST_COMPLETED)
        finished = []
        for future in done:
            process, name, job, tries = self._running.pop(future)
            try:
                finished.append(Finished(name, future.result()))
            except BrokenProcessPool:
                process.close()
                if tries < MOST_TRIES:
                    self._try(name, job, tries + 1)
                else:
                    finished.append(Finished(name, Failure(_died(tries))))
            else:
                self._idle.append(process)
        return finished

    def close(self) -> None:
        processes = [*self._idle, *(each.process for each in self._running.values())]
        self._idle.clear()
        self._running.clear()
        for process in processes:
            process.end()
        for process in processes:
            process.close()

    def _try(self, name: str, job: Job, tries: int) -> None:
        while True:
            process = self._idle.pop() if self._idle else _Process()
            try:
                future = process.submit(self._replay, job)
            except BrokenProcessPool:  # it was killed while it had nothing to do
                process.close()
            else:
                self._running[future] = _Running(process, name, job, tries)
                return


class _Process:
    """A process that ends when it is told to, even amid a job, and when this one ends in any way."""

    def __init__(self) -> None:
        self._its_end, self._own_end = _SPAWN.Pipe(duplex=False)
        self._pool = ProcessPoolExecutor(
            1, mp_context=_SPAWN, initializer=_prepare, initargs=(self._its_end,)
        )

    def submit(self, replay: Replay, job: Job) -> Future[Outcome | Failure]:
        with _without_interrupts():
            return self._pool.submit(attempted, replay, job)

    def end(self) -> None:
        self._own_end.close()

    def close(self) -> None:
        self.end()
        self._pool.shutdown(cancel_futures=True)
        self._its_end.close()


class _Running(NamedTuple):
    process: _Process
    name: str
    job: Job
    tries: int


def _prepare(pipe: Connection) -> None:
    # What plugins print must not get among the results.
    os.dup2(2, 1)
    Thread(target=_end_with, args=(pipe,), daemon=True).start()


def _end_with(pipe: Connection) -> None:
    """Nothing is ever sent: there is something to read when nobody has the other end any more."""
    pipe.poll(None)
    os._exit(1)


@contextmanager
def _without_interrupts() -> Iterator[None]:
    """A process that is started here does not know Ctrl-C, which is for the one that started it."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _died(times: int) -> str:
    return f"its process died, {times} times; if memory is short, use fewer --jobs"
