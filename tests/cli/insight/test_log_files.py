"""`moorage explain --log`: what a decision log in a file tells."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from moorage.api.pods import Pod
from moorage.cli.manifest_files import read_manifests
from moorage.cli.setup import set_up
from moorage.insight.log.decision_log import DecisionLog
from moorage.insight.log.writing import LogFile
from moorage.what_if.simulation import Simulation
from tests.cli.insight.clusters import manifests
from tests.cli.running import refused, run


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a scheduler wrote down about the cluster of manifests."""
    folder = tmp_path_factory.mktemp("log")
    setup, decisions = set_up(None, ()), DecisionLog()
    file = LogFile(folder / "decisions.log", decisions)
    simulation = Simulation(setup.config, setup.registry, decisions)
    objects = read_manifests(str(manifests(folder)))
    waiting = [each for each in objects if isinstance(each, Pod) and not each.spec.node_name]
    for each in objects:
        if each not in waiting:
            simulation.add(each)
    file.start()
    try:
        asyncio.run(simulation.run(waiting))
    finally:
        file.stop()
    return folder / "decisions.log"


def test_a_pod_that_stayed_pending(log: Path) -> None:
    result = run("explain", "picky", "--log", log, "--plugins", "--attempts")
    assert (result.exit_code, result.stderr) == (3, "")
    assert result.stdout.startswith("Last tried ")
    assert "3 of 6 nodes do not match its node selector or affinity; 2 have taints" in result.stdout
    assert "\nTries:\nTIME" in result.stdout


def test_a_pod_that_was_placed(log: Path) -> None:
    result = run("explain", "small", "--log", log, "-o", "json", "--nodes")
    assert result.exit_code == 0
    document = json.loads(result.stdout)
    assert document["words"][0].startswith(f"It was placed on {document['node']} ")
    assert [row["node"] for row in document["matrix"]["rows"] if row.get("chosen")] == [document["node"]]


def test_bad_input_is_one_line(log: Path, tmp_path: Path) -> None:
    assert refused(run("explain", "pickle", "--log", log)).endswith("; did you mean default/picky?")
    assert "cannot be read: No such file" in refused(run("explain", "p", "--log", tmp_path / "none"))
    other = tmp_path / "other"
    other.write_bytes(b"\x00\xff nonsense")
    assert "not a decision log" in refused(run("explain", "p", "--log", other))
    (tmp_path / "empty").write_bytes(log.read_bytes().partition(b"\n")[0] + b"\n")
    assert "tells nothing of a pod default/p" in refused(run("explain", "p", "--log", tmp_path / "empty"))
