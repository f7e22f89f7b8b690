"""The trace as one of Moorage's own: what is here is what the commands make, and policies replay it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from examples.gpu_study.__main__ import SAMPLE
from examples.gpu_study.convert import main as convert


def converted(file: Path, capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> Path:
    assert convert([str(each) for each in arguments]) == 0
    file.write_text(capsys.readouterr().out)
    return file


def moorage(*arguments: str | Path) -> str:
    command = [sys.executable, "-m", "moorage", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def shown(trace: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(moorage("trace", "show", trace, "-o", "json"))
    return found


def test_the_trace_that_is_here(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    jobs = converted(tmp_path / "jobs.csv", capsys, "--pods", SAMPLE / "pods-default.csv.gz")
    nodes = converted(tmp_path / "nodes.csv", capsys, "--nodes", SAMPLE / "nodes.csv")
    moorage("trace", "import", jobs, "--nodes", nodes, "--out", tmp_path / "openb.moor")
    made, here = shown(tmp_path / "openb.moor"), shown(SAMPLE / "openb-default.moor")
    assert {kind: counts["objects"] for kind, counts in here["kinds"].items()} == {"Node": 1213, "Pod": 8152}
    assert "Alibaba, Apache-2.0, github.com/hkust-adsl/kubernetes-scheduler-simulator" in here["source"]
    for what in ("kinds", "began", "ended", "changes"):
        assert made[what] == here[what]


def test_a_policy_replays_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """All take turns on one GPU: a policy that does not see who has ended would place one."""
    (tmp_path / "nodes").write_text("sn,cpu_milli,memory_mib,gpu,model\nn,64000,262144,1,P100\n")
    (tmp_path / "pods").write_text(
        "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,creation_time,deletion_time\n"
        + "".join(f"p{number},1000,1024,1,700,,{100 * number},{100 * number + 90}\n" for number in range(5))
    )
    jobs = converted(tmp_path / "jobs.csv", capsys, "--pods", tmp_path / "pods")
    nodes = converted(tmp_path / "nodes.csv", capsys, "--nodes", tmp_path / "nodes")
    config = converted(tmp_path / "fgd.yaml", capsys, "--pods", tmp_path / "pods", "--policy", "FGD")
    moorage("trace", "import", jobs, "--nodes", nodes, "--out", tmp_path / "few.moor")
    plugin = "examples.gpu_study.policies.fgd:FGD"
    told = moorage("replay", tmp_path / "few.moor", "--plugin", plugin, "--config", config, "-o", "json")
    assert '"placed":5' in told
