"""Many runs at once, one on each core, with a bar that shows how far they are."""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from multiprocessing import resource_tracker
from typing import Any, NamedTuple

from examples.gpu_study.study import run
from examples.gpu_study.trace_files import TraceNode, TracePod

BAR = 30


class Task(NamedTuple):
    nodes: Sequence[TraceNode]
    pods: Sequence[TracePod]
    policy: str
    seed: int


def run_all(tasks: Sequence[Task]) -> list[dict[str, Any]]:
    """The results, in the order of the tasks."""
    bar = _Bar(len(tasks))
    if len(tasks) == 1:
        with _quiet():
            result = run(*tasks[0], progress=bar.show)
        bar.clear()
        return [result]
    results: list[dict[str, Any]] = []
    # New interpreters instead of forks: threads of NumPy do not survive a fork.
    context = multiprocessing.get_context("spawn")
    with without_interrupts():
        processes = context.Pool(min(_cores(), len(tasks)))
    with processes as pool:
        for result in pool.imap(_run, tasks):
            results.append(result)
            bar.show(len(results))
    bar.clear()
    return results


def _run(task: Task) -> dict[str, Any]:
    with _quiet():
        return run(*task)


@contextmanager
def _quiet() -> Iterator[None]:
    """That pods find no node is what the study is about, and need not be logged."""
    logger = logging.getLogger("moorage")
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(before)


@contextmanager
def without_interrupts() -> Iterator[None]:
    """Processes that are started here leave Ctrl-C to the one that starts them, even while they import."""
    resource_tracker.ensure_running()  # which lets all signals through again when it starts
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class _Bar:
    """How many runs are done, on a terminal; nothing anywhere else."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._shown = ""

    def show(self, done: float) -> None:
        full = int(BAR * done / self._total)
        text = f"[{'#' * full}{'.' * (BAR - full)}] {100 * done / self._total:3.0f} %"
        if sys.stderr.isatty() and text != self._shown:
            self._shown = text
            sys.stderr.write(f"\r{text}")
            sys.stderr.flush()

    def clear(self) -> None:
        if self._shown:
            sys.stderr.write(f"\r{' ' * len(self._shown)}\r")
