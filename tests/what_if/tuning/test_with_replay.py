"""A search with real replays of a trace for which the best settings are known."""

from __future__ import annotations

from pathlib import Path

from moorage.what_if.replay.jobs import Job
from moorage.what_if.sweeps.places import replayed
from tests.cli.running import run
from tests.what_if.sweeps.planted_trace import write_planted


def test_a_search_finds_how_to_pack(tmp_path: Path) -> None:
    """With the planted settings fewer nodes are in use, also in the part that the search does not see."""
    trace, out = write_planted(tmp_path / "planted.trace"), tmp_path / "tuned.yaml"
    result = run("tune", trace, "--objective", "nodes_in_use", "--trials", "25", "--seeds", "2", "--out", out)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.splitlines()[-2].startswith("A gain of "), result.stdout
    plain, tuned = (replayed(Job(trace=str(trace), config=config)) for config in ("", out.read_text()))
    assert tuned.placed == plain.placed
    assert tuned.nodes_in_use < 0.9 * plain.nodes_in_use
