"""Tuning from its beginning to its end: the base, the search on the first part, the gain on the rest."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from msgspec.structs import replace

from moorage.what_if.replay.jobs import Job, Outcome
from moorage.what_if.sweeps.configurations import Document, text_of
from moorage.what_if.sweeps.places import Failure, Places, run_all
from moorage.what_if.tuning.gain import Gain
from moorage.what_if.tuning.parameters import Value
from moorage.what_if.tuning.search import Search, Tried
from moorage.what_if.tuning.space import Space


class NotTunable(Exception):
    """Why nothing can be searched or measured; one line that says what to do."""


class Tuning:
    """Values for the parameters of a configuration that make an objective small on a trace.

    Until `split`, seconds since 1970, the search sees the trace; what comes later is for the gain only.
    """

    def __init__(
        self, space: Space, job: Job, places: Places, *, objective: str, split: float, seed: int
    ) -> None:
        """Replays the first part with the configuration as it is; raises NotTunable."""
        self.objective = objective
        self._space = space
        self._job = job
        self._places = places
        self._split = split
        self._seed = seed
        self.tried = 0
        self.failed: list[Failure] = []
        """Of the trials; the search goes on without them."""
        [(_, outcome)] = run_all([self._first_part(text_of(space.document({})))], places)
        self.base = _checked(outcome)
        if self.base.pods == 0:
            raise NotTunable("no pod comes in the first part of the trace; choose a larger --train")
        self._search = Search(space, self.base, objective, seed=seed, at_once=places.count)

    @property
    def best(self) -> Tried:
        """The best values so far."""
        return self._search.best

    def changes(self) -> list[tuple[str, Value, Value]]:
        """What the best values change: the parameter, what it was and what it is."""
        base, values = self._space.base, self.best.values
        return [
            (name, base[name], values[name]) for name in base if values.get(name, base[name]) != base[name]
        ]

    def document(self) -> Document:
        """The configuration with the best values so far."""
        return self._space.document(self.best.values)

    def trials(self, may_go_on: Callable[[int], bool]) -> Iterator[Tried]:
        """Searches as long as `may_go_on` answers so to the number of trials begun."""
        for tried in self._search.trials(self._places, self._first_part, may_go_on):
            self.tried += 1
            if isinstance(tried.outcome, Failure):
                self.failed.append(tried.outcome)
            yield tried

    def simplify(self) -> Iterator[Tried]:
        """Puts back, one by one, what was changed to no advantage."""
        return self._search.simplify(self._places, self._first_part)

    def gain(self, seeds: int, advance: Callable[[], None]) -> Gain:
        """Measures both configurations on the rest of the trace; raises NotTunable."""
        texts = [text_of(self._space.document({})), text_of(self.document())]
        jobs = [
            replace(self._job, config=text, since=self._split, seed=seed)
            for text in texts
            for seed in range(seeds)
        ]
        found: dict[int, Outcome] = {}
        for number, outcome in run_all(jobs, self._places):
            found[number] = _checked(outcome)
            advance()
        outcomes = [found[number] for number in range(len(jobs))]
        if outcomes[0].pods == 0:
            raise NotTunable("no pod comes in the rest of the trace; choose a smaller --train")
        return Gain(self.objective, outcomes[:seeds], outcomes[seeds:])

    def _first_part(self, config: str) -> Job:
        return replace(self._job, config=config, until=self._split, seed=self._seed)


def _checked(outcome: Outcome | Failure) -> Outcome:
    if isinstance(outcome, Failure):
        raise NotTunable(f"the replay failed: {outcome.reason}")
    return outcome
