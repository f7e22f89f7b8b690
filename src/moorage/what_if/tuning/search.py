"""The search for better values, with Optuna. Needs the extra `tune`."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import optuna

from moorage.what_if.replay.jobs import Job, Outcome
from moorage.what_if.sweeps.configurations import text_of
from moorage.what_if.sweeps.objectives import value_of
from moorage.what_if.sweeps.places import Failure, Places, run_all
from moorage.what_if.tuning.parameters import Choice, Value, matters
from moorage.what_if.tuning.space import Space

_WORST = 1e12
"""More than any objective: where fewer pods are placed than before, only their number counts."""


class Tried(NamedTuple):
    """Some values and what became of them."""

    values: dict[str, Value]
    outcome: Outcome | Failure
    score: float
    """The less, the better; infinite for a failure."""


def penalised(outcome: Outcome, base: Outcome, objective: str) -> float:
    """The objective; where fewer pods are placed than by the base, more than any objective."""
    missing = base.placed - outcome.placed
    if missing > 0:
        return _WORST * (1 + missing / base.placed)
    return min(value_of(outcome, objective), _WORST)


class Search:
    """Asks for replays and keeps the best values so far, which at first are those of the base.

    The values asked for depend on the seed and on what was told before, in that order.
    """

    def __init__(self, space: Space, base: Outcome, objective: str, *, seed: int, at_once: int = 1) -> None:
        self._space = space
        self.base = base
        self._objective = objective
        optuna.logging.set_verbosity(optuna.logging.CRITICAL)
        with warnings.catch_warnings():
            # Older versions of Optuna call what several trials at once need experimental.
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
            sampler = optuna.samplers.TPESampler(seed=seed, constant_liar=at_once > 1)
        self._study = optuna.create_study(sampler=sampler)
        self._study.enqueue_trial(space.base)
        self._known: dict[str, Outcome | Failure] = {self.config_of(space.base): base}
        self.best = Tried(dict(space.base), base, penalised(base, base, objective))

    def config_of(self, values: dict[str, Value]) -> str:
        """The text of the configuration with these values."""
        return text_of(self._space.document(values))

    def trials(
        self, places: Places, job_of: Callable[[str], Job], may_go_on: Callable[[int], bool]
    ) -> Iterator[Tried]:
        """Tries values, as long as `may_go_on` answers so to the number of those begun; yields as they end.

        `job_of` makes a job of the text of a configuration.
        """
        begun = 0
        running: dict[str, tuple[Any, dict[str, Value], str]] = {}
        self._tell(*self._ask()[:2], self.base)  # the base is known already
        while True:
            while len(running) < places.count and may_go_on(begun):
                trial, values, config = self._ask()
                begun += 1
                if config in self._known:
                    yield self._tell(trial, values, self._known[config])
                else:
                    running[str(trial.number)] = trial, values, config
                    places.start(str(trial.number), job_of(config))
            if not running:
                return
            for name, outcome in places.wait():
                trial, values, config = running.pop(name)
                self._known[config] = outcome
                yield self._tell(trial, values, outcome)

    def simplify(self, places: Places, job_of: Callable[[str], Job]) -> Iterator[Tried]:
        """Puts back, one by one, what was changed to no advantage; yields each attempt."""
        for parameter in self._space.parameters:
            if self.best.values.get(parameter.name, parameter.base) == parameter.base:
                continue
            values = {**self.best.values, parameter.name: parameter.base}
            config = self.config_of(values)
            if config not in self._known:
                [(_, self._known[config])] = run_all([job_of(config)], places)
            tried = self._judged(values, self._known[config])
            if tried.score <= self.best.score:
                self.best = tried
            yield tried

    def _ask(self) -> tuple[Any, dict[str, Value], str]:
        trial = self._study.ask()
        values: dict[str, Value] = {}
        for parameter in self._space.parameters:
            if not matters(parameter, values):
                continue
            if isinstance(parameter, Choice):
                values[parameter.name] = trial.suggest_categorical(parameter.name, parameter.choices)
            else:
                values[parameter.name] = trial.suggest_int(parameter.name, parameter.low, parameter.high)
        return trial, values, self.config_of(values)

    def _tell(self, trial: Any, values: dict[str, Value], outcome: Outcome | Failure) -> Tried:
        tried = self._judged(values, outcome)
        if isinstance(outcome, Failure):
            self._study.tell(trial, state=optuna.trial.TrialState.FAIL)
        else:
            self._study.tell(trial, tried.score)
        if tried.score < self.best.score:
            self.best = tried
        return tried

    def _judged(self, values: dict[str, Value], outcome: Outcome | Failure) -> Tried:
        if isinstance(outcome, Failure):
            return Tried(values, outcome, math.inf)
        return Tried(values, outcome, penalised(outcome, self.base, self._objective))
