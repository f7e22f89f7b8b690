"""Questions to somebody outside of this process, on which an answer to a request depends.

The server answers requests in one go: nothing changes under it. When it needs to know what somebody else
says, the whole attempt ends with `Unanswered` and has changed nothing. The questions are then asked, which
may take as long as it takes, while others are served, and the request is carried out again from the start,
with the answers at hand. If the world has changed meanwhile and there are other questions, those are asked.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable, Iterable
from typing import Any, Protocol, TypeVar

T = TypeVar("T")


class Question(Protocol):
    @property
    def key(self) -> Hashable:
        """Questions with the same key have the same answer."""

    async def ask(self) -> Any:
        """The answer; a failure is one, too: nothing is raised."""


class Answers:
    """What one request knows so far when it is carried out again."""

    def __init__(self) -> None:
        self._given: dict[Hashable, Any] = {}
        self._fixed: dict[str, Any] = {}

    def all_of(self, questions: Iterable[Question]) -> list[Any]:
        """The answers, in order. Raises Unanswered with those questions that have none yet."""
        asked = list(questions)
        missing = [question for question in asked if question.key not in self._given]
        if missing:
            raise Unanswered(self, missing)
        return [self._given[question.key] for question in asked]

    def of(self, question: Question) -> Any:
        return self.all_of((question,))[0]

    def put(self, key: Hashable, answer: Any) -> None:
        self._given[key] = answer

    def fixed(self, name: str, make: Callable[[], T]) -> T:
        """What was made by chance or by the clock the first time, and stays so."""
        if name not in self._fixed:
            self._fixed[name] = make()
        kept: T = self._fixed[name]
        return kept


class Unanswered(Exception):
    """A request that cannot go on before its questions are answered."""

    def __init__(self, answers: Answers, questions: list[Question]) -> None:
        super().__init__(f"{len(questions)} questions are open")
        self._answers = answers
        self._questions = questions

    async def ask(self) -> None:
        """Asks all at once; the request can then be tried again."""
        given = await asyncio.gather(*(question.ask() for question in self._questions))
        for question, answer in zip(self._questions, given, strict=True):
            self._answers.put(question.key, answer)
