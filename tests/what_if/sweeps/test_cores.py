"""Jobs in processes: the same as in one, whatever dies."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from moorage.what_if.replay.jobs import Job, Outcome
from moorage.what_if.sweeps.cores import MOST_TRIES, Cores
from moorage.what_if.sweeps.places import Failure, Replay, run_all
from tests.what_if.sweeps import fakes


def jobs(folder: Path, count: int) -> list[Job]:
    trace = folder / "trace"
    trace.write_text(str(folder))
    return [Job(trace=str(trace), seed=seed) for seed in range(count)]


def run(jobs: list[Job], count: int, replay: Replay) -> list[Outcome | Failure]:
    cores = Cores(count, replay)
    try:
        found = dict(run_all(jobs, cores))
    finally:
        cores.close()
    assert list(found) == list(range(len(jobs))) or count > 1
    return [found[number] for number in range(len(jobs))]


@pytest.mark.parametrize("count", [1, 3])
def test_any_number_of_processes_gives_the_same(count: int, tmp_path: Path) -> None:
    given = jobs(tmp_path, 5)
    assert run(given, count, fakes.by_content) == [fakes.by_content(job) for job in given]


def test_a_process_that_is_killed_is_replaced_and_its_job_done_again(tmp_path: Path) -> None:
    given = jobs(tmp_path, 6)
    assert run(given, 2, fakes.killed_once) == [fakes.by_content(job) for job in given]
    assert (tmp_path / "killed").exists()


def test_a_job_that_kills_every_process_is_given_up(tmp_path: Path) -> None:
    first, killer, last = jobs(tmp_path, 3)
    found = run([first, killer, last], 2, fakes.killed_always)
    assert found[0] == fakes.by_content(first)
    assert found[1] == Failure("its process died, 3 times; if memory is short, use fewer --jobs")
    assert found[2] == fakes.by_content(last)
    assert len(list(tmp_path.glob("try-*"))) == MOST_TRIES


def test_a_job_that_fails_says_why_in_a_line(tmp_path: Path) -> None:
    given = jobs(tmp_path, 3)
    good, bad, other = run(given, 1, fakes.fails_for_one)
    assert isinstance(bad, Failure)
    assert bad.reason == "ValueError: no such thing; as this"
    assert "fakes.py" in bad.details
    assert [good, other] == [fakes.by_content(given[0]), fakes.by_content(given[2])]


def test_closing_ends_what_still_runs(tmp_path: Path) -> None:
    """Though the job would never end."""
    [job] = jobs(tmp_path, 1)
    os.mkfifo(tmp_path / "begun")
    cores = Cores(1, fakes.waits_forever)
    cores.start("0", job)
    process = int((tmp_path / "begun").read_text())
    cores.close()
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)
