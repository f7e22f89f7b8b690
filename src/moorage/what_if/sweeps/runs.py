"""The runs of a sweep: every configuration with every combination of weights and every seed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from itertools import product
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from moorage.what_if.replay.jobs import History, Job, Outcome
from moorage.what_if.sweeps.configurations import Document, profiles_of, set_weight, text_of
from moorage.what_if.sweeps.fingerprints import key_of
from moorage.what_if.sweeps.places import Failure, Places, run_all


class Configuration(NamedTuple):
    """A KubeSchedulerConfiguration that is swept."""

    name: str
    document: Document
    scoring: Sequence[Mapping[str, int]]
    """For each profile, the plugins that score and their weights."""


class Run(Struct, frozen=True, kw_only=True, rename="camel"):
    """One replay of a sweep."""

    key: str
    """The same for runs of which the same is to be expected."""
    configuration: str
    weights: dict[str, int]
    """Those that differ from the configuration."""
    seed: int
    job: Job

    @property
    def label(self) -> str:
        return _label(self.configuration, self.weights)

    def result(self, outcome: Outcome | None, error: str = "") -> Result:
        """What became of it, without the figures over time, of which there are too many for a sweep."""
        if outcome is not None:
            outcome = replace(outcome, history=History())
        return Result(
            key=self.key,
            configuration=self.configuration,
            weights=self.weights,
            seed=self.seed,
            outcome=outcome,
            error=error,
        )


class Result(Struct, frozen=True, kw_only=True, rename="camel"):
    """What became of a run: an outcome, or an error."""

    key: str
    configuration: str
    weights: dict[str, int]
    seed: int
    outcome: Outcome | None = None
    error: str = ""

    @property
    def label(self) -> str:
        return _label(self.configuration, self.weights)


def _label(configuration: str, weights: Mapping[str, int]) -> str:
    """The configuration and the weights that differ from it, in words."""
    return " ".join((configuration, *(f"{plugin}={weight}" for plugin, weight in weights.items())))


def plan(
    base: Job,
    configurations: Iterable[Configuration],
    weights: Mapping[str, Sequence[int]],
    seeds: int,
) -> Iterator[Run]:
    """All runs; weights count in every profile in which the plugin scores."""
    for configuration in configurations:
        for combination in product(*weights.values()):
            chosen = dict(zip(weights, combination, strict=True))
            text = text_of(with_weights(configuration, chosen))
            for seed in range(seeds):
                job = replace(base, config=text, seed=seed)
                yield Run(
                    key=key_of(job), configuration=configuration.name, weights=chosen, seed=seed, job=job
                )


def with_weights(configuration: Configuration, weights: Mapping[str, int]) -> Document:
    """The document of a configuration with other weights."""
    document = deepcopy(configuration.document)
    for profile, scoring in zip(profiles_of(document), configuration.scoring, strict=True):
        for plugin, weight in weights.items():
            if plugin in scoring:
                set_weight(profile, plugin, weight)
    return document


def results(runs: Sequence[Run], places: Places) -> Iterator[tuple[Result, Failure | None]]:
    """What became of the runs, as they end; with the failure, if one failed."""
    for number, outcome in run_all((run.job for run in runs), places):
        if isinstance(outcome, Failure):
            yield runs[number].result(None, outcome.reason), outcome
        else:
            yield runs[number].result(outcome), None
