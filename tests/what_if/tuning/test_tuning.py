"""The search finds what was planted, is not tempted, and is the same with the same seed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
import yaml

from moorage.plugins.catalog import in_tree_registry
from moorage.what_if.replay.jobs import Job, Outcome
from moorage.what_if.sweeps.configurations import Document, score_weights
from moorage.what_if.sweeps.cores import Cores
from moorage.what_if.sweeps.places import Failure, Finished, Replay, attempted
from moorage.what_if.tuning.parameters import Value
from moorage.what_if.tuning.search import Tried
from moorage.what_if.tuning.space import Space
from moorage.what_if.tuning.tuning import NotTunable, Tuning
from tests.config.samples import text_of
from tests.what_if.sweeps import fakes


class Here:
    """Jobs in this process."""

    def __init__(self, replay: Replay, count: int = 1) -> None:
        self.count = count
        self.jobs: list[Job] = []
        self._replay = replay
        self._finished: list[Finished] = []

    def start(self, name: str, job: Job) -> None:
        assert len(self._finished) < self.count
        self.jobs.append(job)
        self._finished.append(Finished(name, attempted(self._replay, job)))

    def wait(self, seconds: float | None = None) -> list[Finished]:
        return [self._finished.pop(0)]

    def close(self) -> None: ...


def space() -> Space:
    document: Document = yaml.safe_load(text_of())
    return Space(document, score_weights(document, in_tree_registry().points_of()), ["cpu", "memory"])


def tuning(places: Here | Cores, objective: str = "nodes_in_use", seed: int = 0) -> Tuning:
    job = Job(trace="none")
    return Tuning(space(), job, places, objective=objective, split=1000.0, seed=seed)


def searched(found: Tuning, trials: int) -> list[Tried]:
    return [*found.trials(lambda begun: begun < trials), *found.simplify()]


def test_planted_weights_are_found_and_nothing_else_is_changed() -> None:
    found = tuning(Here(fakes.planted))
    searched(found, 200)
    changed = {name: now for name, _, now in found.changes()}
    assert changed == {
        "NodeResourcesFit.weight": 8,
        "ImageLocality.weight": 0,
        "NodeResourcesFit.strategy": "MostAllocated",
    }
    gain = found.gain(3, lambda: None)
    assert gain.why_not == ""
    assert gain.before.mean - gain.after.mean == pytest.approx(14)
    [profile] = found.document()["profiles"]
    assert profile["plugins"]["multiPoint"]["enabled"] == [{"name": "NodeResourcesFit", "weight": 8}]


@pytest.mark.parametrize("count", [1, 3])
def test_the_search_sees_the_first_part_only(count: int) -> None:
    places = Here(fakes.planted, count)
    found = tuning(places)
    searched(found, 20)
    assert {(job.since, job.until, job.seed) for job in places.jobs} == {(None, 1000.0, 0)}
    places.jobs.clear()
    found.gain(2, lambda: None)
    assert {(job.since, job.until) for job in places.jobs} == {(1000.0, None)}
    assert sorted(job.seed for job in places.jobs) == [0, 0, 1, 1]


def test_fewer_placed_pods_do_not_win() -> None:
    found = tuning(Here(fakes.tempted))
    searched(found, 60)
    assert found.best.values["NodeResourcesFit.weight"] == 4
    assert isinstance(found.best.outcome, Outcome)
    assert found.best.outcome.placed == 100


def test_a_gain_of_the_first_part_alone_is_none() -> None:
    found = tuning(Here(fakes.only_in_the_first_part))
    searched(found, 60)
    assert found.changes()
    assert found.gain(3, lambda: None).why_not == "it is the same"


def asked(seed: int) -> Sequence[dict[str, Value]]:
    return [tried.values for tried in searched(tuning(Here(fakes.planted), seed=seed), 40)]


def test_one_at_a_time_two_searches_with_one_seed_are_the_same() -> None:
    assert asked(1) == asked(1) != asked(2)


def test_no_configuration_is_replayed_twice() -> None:
    places = Here(fakes.planted)
    searched(tuning(places), 100)
    configs = [job.config for job in places.jobs]
    assert len(set(configs)) == len(configs)


def test_where_nothing_is_better_nothing_is_changed() -> None:
    found = tuning(Here(fakes.always_the_same))
    searched(found, 20)
    assert found.changes() == []
    assert found.document()["kind"] == "KubeSchedulerConfiguration"


def fails_often(job: Job) -> Outcome:
    if fakes.weights_in(job).get("ImageLocality", 1) > 5:
        raise ValueError("too heavy")
    return fakes.planted(job)


def test_trials_that_fail_do_not_end_the_search() -> None:
    found = tuning(Here(fails_often))
    searched(found, 60)
    assert {failure.reason for failure in found.failed} == {"ValueError: too heavy"}
    assert found.best.score < fakes.planted(Job(trace="", config=text_of_json())).nodes_in_use


def text_of_json() -> str:
    from moorage.what_if.sweeps import configurations

    return configurations.text_of(yaml.safe_load(text_of()))


def fails(job: Job) -> Outcome:
    raise ValueError("no trace\nhere")


def no_pods(job: Job) -> Outcome:
    from msgspec.structs import replace

    return replace(fakes.OUTCOME, pods=0, placed=0)


@pytest.mark.parametrize(
    ("replay", "said"),
    [
        (fails, "the replay failed: ValueError: no trace; here"),
        (no_pods, "no pod comes in the first part of the trace; choose a larger --train"),
    ],
)
def test_a_base_that_cannot_be_measured(replay: Replay, said: str) -> None:
    with pytest.raises(NotTunable, match=said):
        tuning(Here(replay))


def test_several_processes_find_it_too(tmp_path: Path) -> None:
    cores = Cores(2, fakes.planted)
    try:
        found = tuning(cores)
        searched(found, 60)
    finally:
        cores.close()
    assert not any(isinstance(failure, Failure) for failure in found.failed)
    assert found.best.score < 16
