"""Answers that hold for a while."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

MOST_REMEMBERED = 1024

K = TypeVar("K")
V = TypeVar("V")


class Remembered(Generic[K, V]):
    """Answers by question, each for its time; the oldest go first when there are too many."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._answers: dict[K, tuple[V, float]] = {}

    def __contains__(self, question: K) -> bool:
        found = self._answers.get(question)
        return found is not None and self._clock() < found[1]

    def __getitem__(self, question: K) -> V:
        return self._answers[question][0]

    def put(self, question: K, answer: V, seconds: float) -> None:
        self._answers.pop(question, None)
        while len(self._answers) >= MOST_REMEMBERED:
            del self._answers[next(iter(self._answers))]
        self._answers[question] = (answer, self._clock() + seconds)
