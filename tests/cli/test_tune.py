"""`moorage tune` as its users see it; the replays are not real."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import Result

from moorage.cli.setup import set_up
from moorage.config import expand_all
from moorage.what_if.sweeps import places
from tests.cli.faked_replays import TRACE_FILES, trace_files
from tests.cli.running import refused, run
from tests.config.samples import text_of
from tests.what_if.sweeps import fakes


@pytest.fixture(autouse=True)
def faked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(places, "replayed", fakes.planted)
    monkeypatch.setitem(sys.modules, TRACE_FILES, trace_files())


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    file = tmp_path / "monday.trace"
    file.write_text(str(tmp_path))
    return file


def tune(trace: Path, *args: str | Path, objective: str = "nodes_in_use") -> Result:
    return run("tune", trace, "--objective", objective, "--jobs", "1", *args)


def weights_of(file: Path) -> dict[str, int]:
    """The weights with which `moorage run --config` would score."""
    setup = set_up(str(file), ())
    [points] = expand_all(setup.config, setup.registry.points_of())
    return {ref.name: ref.weight for ref in points["score"]}


def test_the_result_is_a_configuration_that_runs(trace: Path, tmp_path: Path) -> None:
    out = tmp_path / "tuned.yaml"
    result = tune(trace, "--trials", "120", "--seeds", "3", "--out", out)
    assert (result.exit_code, result.stderr) == (0, "")
    first, *_ = lines = result.stdout.splitlines()
    assert first.startswith(f"120 trials on the first 60% of {trace}: nodes_in_use 24 -> ")
    assert "  ImageLocality.weight: 1 -> 0" in lines
    assert "  NodeResourcesFit.strategy: LeastAllocated -> MostAllocated" in lines
    assert "On the rest, which the search never saw, with 3 seeds:" in lines
    assert lines[-2].startswith("A gain of ")
    assert lines[-1] == f"{out} is written; try it with moorage run --config {out}"
    weights = weights_of(out)
    assert "ImageLocality" not in weights
    assert abs(weights["NodeResourcesFit"] - 8) <= 2
    assert run("config", "validate", out).exit_code == 0
    # The report stands in the file, too.
    assert out.read_text().splitlines()[: len(lines)] == [
        "# Made by `moorage tune`.",
        *(f"# {line}" for line in lines[:-1]),
    ]


def test_the_changes_are_made_to_the_given_file(trace: Path, tmp_path: Path) -> None:
    base = tmp_path / "base.yaml"
    base.write_text(text_of() + "podMaxBackoffSeconds: 60\n")
    result = tune(trace, "--trials", "10", "--seeds", "1", "--config", base)
    assert result.exit_code == 0
    assert "podMaxBackoffSeconds: 60\n" in result.stdout
    assert "10 trials on the first 60%" in result.stderr
    tuned = tmp_path / "tuned.yaml"
    tuned.write_text(result.stdout)
    assert set_up(str(tuned), ()).config.pod_max_backoff_seconds == 60


def test_the_same_seed_finds_the_same(trace: Path) -> None:
    found = [tune(trace, "--trials", "30", "--seed", str(seed)).stdout for seed in (4, 4, 5)]
    assert found[0] == found[1] != found[2]


def test_no_gain_on_what_it_never_saw(trace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(places, "replayed", fakes.only_in_the_first_part)
    result = tune(trace, "--trials", "20", "--seeds", "2")
    assert result.exit_code == 0
    assert result.stderr.splitlines()[-1] == "No gain: it is the same. Keep the configuration as it is."
    assert "# No gain: it is the same." in result.stdout


def test_nothing_better(trace: Path, tmp_path: Path) -> None:
    base = tmp_path / "base.yaml"
    base.write_text(PLANTED)
    result = tune(trace, "--trials", "15", "--config", base)
    assert result.exit_code == 0
    assert result.stderr.splitlines()[-1] == "Nothing better was found: keep the configuration as it is."
    tuned = tmp_path / "tuned.yaml"
    tuned.write_text(result.stdout)
    assert weights_of(tuned) == weights_of(base)


PLANTED = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- plugins:
    multiPoint: {enabled: [{name: NodeResourcesFit, weight: 8}]}
    score: {disabled: [{name: ImageLocality}]}
  pluginConfig:
  - {name: NodeResourcesFit, args: {scoringStrategy: {type: MostAllocated}}}
"""


def test_an_end_by_time(trace: Path) -> None:
    result = tune(trace, "--time", "1ms", "--seeds", "1")
    assert result.exit_code == 0
    assert "0 trials on the first 60%" in result.stderr or "1 trial on the first 60%" in result.stderr


def test_ctrl_c_writes_the_best_so_far(trace: Path, tmp_path: Path) -> None:
    out = tmp_path / "tuned.yaml"
    command = [sys.executable, "-m", "tests.cli.faked_replays", "interrupted_search", "tune", str(trace)]
    command += ["--objective", "nodes_in_use", "--jobs", "1", "--out", str(out)]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=60, check=False, start_new_session=True
    )
    assert (done.returncode, done.stderr) == (130, "")
    lines = done.stdout.splitlines()
    assert lines[-2] == "Interrupted: this is the best so far; the gain on the rest is not known."
    assert weights_of(out)["NodeResourcesFit"] > 1


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("--objective", "cost"), "--objective cost needs a --price"),
        (("--objective", "speed"), "'speed' is not one of"),
        (("--objective", "nodes_in_use", "--train", "1"), "1.0 is not in the range 0<x<1"),
        (("--objective", "nodes_in_use", "--time", "soon"), "'soon' is no duration; write it like 10m"),
        ((), "Missing option '--objective'"),
    ],
)
def test_wrong_usage(args: tuple[str, ...], said: str, trace: Path) -> None:
    result = run("tune", trace, *args)
    assert result.exit_code == 2
    assert said in result.stderr


def test_the_extra_is_missing(trace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    line = refused(tune(trace))
    assert line == "moorage tune needs the extra: pip install 'moorage[tune]'"


def test_bad_input(trace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert refused(tune(trace, "--out", tmp_path / "none" / "x")).endswith("choose another place")
    monkeypatch.setattr(places, "replayed", fakes.tells_its_job)
    assert refused(tune(trace)).startswith("the replay failed: ValueError: ")
    trace.write_text("bad")
    assert refused(tune(trace)) == f"{trace}: line 1: no trace; record one"
