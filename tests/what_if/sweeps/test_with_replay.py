"""Sweeps with real replays of a trace for which the best settings are known."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from moorage.what_if.sweeps import places
from tests.cli.running import run
from tests.config.samples import text_of
from tests.what_if.sweeps import fakes
from tests.what_if.sweeps.dask_cluster import dask_cluster
from tests.what_if.sweeps.planted_trace import write_planted

PACKED = """
profiles:
- pluginConfig:
  - {name: NodeResourcesFit, args: {scoringStrategy: {type: MostAllocated}}}
  plugins:
    multiPoint: {enabled: [{name: NodeResourcesFit, weight: 10}]}
"""


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_planted(tmp_path_factory.mktemp("trace") / "planted.trace")


def swept(trace: Path, *args: str) -> list[dict[str, Any]]:
    """The results of twelve runs, without how long they took."""
    weights = ("--weights", "NodeResourcesFit=1,5,10")
    result = run("sweep", trace, *weights, "--seeds", "4", "-o", "json", *args)
    assert (result.exit_code, result.stderr) == (0, "")
    found: list[dict[str, Any]] = json.loads(result.stdout)["results"]
    assert len(found) == 12
    for each in found:
        assert each["outcome"].pop("seconds") > 0
    return found


def test_twelve_runs_are_the_same_on_one_core_on_two_and_on_dask_with_a_worker_killed(
    trace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(places, "replayed", fakes.killed_once_replaying)
    note = trace.with_suffix(".killed")
    one = swept(trace, "--jobs", "1")
    note.unlink()
    assert swept(trace, "--jobs", "2") == one
    note.unlink()
    with dask_cluster(tmp_path, workers=2) as cluster:
        assert swept(trace, "--dask", cluster.address) == one
        assert int(note.read_text()) in [worker.pid for worker in cluster.workers]


def test_a_sweep_finds_the_better_file(trace: Path, tmp_path: Path) -> None:
    (tmp_path / "packed.yaml").write_text(text_of() + PACKED)
    (tmp_path / "plain.yaml").write_text(text_of())
    files = ("--config", tmp_path / "plain.yaml", "--config", tmp_path / "packed.yaml")
    result = run("sweep", trace, *files, "--objective", "nodes_in_use", "--seeds", "2", "-o", "json")
    assert (result.exit_code, result.stderr) == (0, "")
    shown: dict[str, Any] = json.loads(result.stdout)
    spread_out, packed_up = shown["results"][0]["outcome"], shown["results"][2]["outcome"]
    assert spread_out["placed"] == packed_up["placed"] == 60
    assert packed_up["nodesInUse"] < spread_out["nodesInUse"]
    assert shown["best"]["configuration"] == str(tmp_path / "packed.yaml")
