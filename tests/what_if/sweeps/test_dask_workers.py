"""Jobs on a real Dask cluster give what they give on cores, whoever dies."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from moorage.what_if.replay.jobs import Job, Outcome
from moorage.what_if.sweeps import dask_workers
from moorage.what_if.sweeps.cores import Cores
from moorage.what_if.sweeps.dask_workers import DaskWorkers, NoCluster, files_of
from moorage.what_if.sweeps.fingerprints import content_key
from moorage.what_if.sweeps.places import Failure, Places, Replay, run_all
from tests.what_if.sweeps import fakes
from tests.what_if.sweeps.dask_cluster import DaskCluster, dask_cluster


@pytest.fixture(autouse=True)
def files_may_change() -> None:
    content_key.cache_clear()


@pytest.fixture
def doomed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaskCluster]:
    """A cluster for one test, which may kill what it likes."""
    with dask_cluster(tmp_path_factory.mktemp("workers"), workers=2) as started:
        yield started


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaskCluster]:
    with dask_cluster(tmp_path_factory.mktemp("workers"), workers=2) as started:
        yield started


def jobs(folder: Path, count: int) -> list[Job]:
    trace = folder / "trace"
    trace.write_text(str(folder))
    return [Job(trace=str(trace), seed=seed) for seed in range(count)]


def run(given: list[Job], places: Places) -> list[Outcome | Failure]:
    try:
        found = dict(run_all(given, places))
    finally:
        places.close()
    return [found[number] for number in range(len(given))]


def on_dask(cluster: DaskCluster, given: list[Job], replay: Replay) -> list[Outcome | Failure]:
    return run(given, DaskWorkers(cluster.address, replay, files_of(given[0])))


def test_twelve_runs_are_the_same_on_one_core_on_two_and_on_dask_with_a_worker_killed(
    doomed: DaskCluster, tmp_path: Path
) -> None:
    given = jobs(tmp_path, 12)
    expected = [fakes.by_content(job) for job in given]
    for places in (Cores(1, fakes.killed_once), Cores(2, fakes.killed_once)):
        assert run(given, places) == expected
        (tmp_path / "killed").unlink()
    assert on_dask(doomed, given, fakes.killed_once) == expected
    assert int((tmp_path / "killed").read_text()) in [worker.pid for worker in doomed.workers]


def test_files_that_workers_do_not_have_are_sent_and_removed(
    cluster: DaskCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The workers have another working directory, so that they do not find what is named from here."""
    monkeypatch.chdir(tmp_path)
    [whole] = jobs(tmp_path, 1)
    plugins = tmp_path / "plugins" / "inner"
    plugins.mkdir(parents=True)
    (plugins / "own.py").write_text("own = 1")
    job = Job(trace="trace", plugins=("plugins:Own",))
    [found] = on_dask(cluster, [job], fakes.reads_its_plugin)
    assert found == fakes.by_content(whole)
    assert list(cluster.folder.rglob("moorage-*")) == []


def test_files_on_a_shared_path_are_used_there(cluster: DaskCluster, tmp_path: Path) -> None:
    [job] = jobs(tmp_path, 1)
    [told] = on_dask(cluster, [job], fakes.tells_its_job)
    assert isinstance(told, Failure)
    assert json.loads(told.reason.removeprefix("ValueError: "))["trace"] == job.trace


def test_one_that_fails(cluster: DaskCluster, tmp_path: Path) -> None:
    good, bad, other = on_dask(cluster, jobs(tmp_path, 3), fakes.fails_for_one)
    assert isinstance(good, Outcome)
    assert isinstance(other, Outcome)
    assert isinstance(bad, Failure)
    assert bad.reason == "ValueError: no such thing; as this"


def test_workers_with_another_moorage(cluster: DaskCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dask_workers, "__version__", "0.0.0")
    with pytest.raises(NoCluster, match=r"tcp://127.0.0.1:\d+ has Moorage .*; install Moorage "):
        DaskWorkers(cluster.address, fakes.by_content, [])


def test_a_scheduler_that_dies_does_not_hold_up_the_sweep(doomed: DaskCluster, tmp_path: Path) -> None:
    (tmp_path / "scheduler").write_text(str(doomed.scheduler.pid))
    found = on_dask(doomed, jobs(tmp_path, 6), fakes.kills_the_scheduler)
    failed = [each for each in found if isinstance(each, Failure)]
    assert failed
    assert {failure.reason for failure in failed} == {
        f"the Dask scheduler at {doomed.address} is gone, or gave it up"
    }


@pytest.mark.parametrize(
    "address", ["tcp://127.0.0.1:1", "127.0.0.1:1", "nonsense://x", "no.such.host.invalid:1"]
)
def test_no_scheduler_there(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dask_workers, "_PATIENCE", 0.2)
    with pytest.raises(
        NoCluster, match=f"^--dask {address}: no scheduler answers there: .*; start `dask sche"
    ):
        DaskWorkers(address, fakes.by_content, [])


def test_a_cluster_without_workers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dask_workers, "_PATIENCE", 1)
    with (
        dask_cluster(tmp_path, workers=0) as cluster,
        pytest.raises(NoCluster, match="it has no worker; start"),
    ):
        DaskWorkers(cluster.address, fakes.by_content, [])


def test_workers_without_this_moorage(tmp_path: Path) -> None:
    (tmp_path / "moorage").mkdir()
    (tmp_path / "moorage" / "__init__.py").write_text("")
    with (
        dask_cluster(tmp_path, workers=1, import_from=[tmp_path]) as cluster,
        pytest.raises(NoCluster, match=r"its workers cannot replay: .*No module named .*; install Moorage "),
    ):
        DaskWorkers(cluster.address, fakes.by_content, [])
