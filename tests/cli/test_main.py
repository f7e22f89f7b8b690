from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from moorage import __version__
from moorage.cli.main import COMMANDS
from tests.cli.running import MOORAGE, node, pod, run, run_alone, write

HEAVY = ("numpy", "yaml", "msgspec", "rich")

CONFIG = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"


@pytest.mark.parametrize("option", ["-h", "--help"])
def test_help_names_every_command(option: str) -> None:
    result = run(option)
    assert result.exit_code == 0
    for name, summary in COMMANDS.items():
        assert name in result.stdout
        assert summary in result.stdout


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help(name: str) -> None:
    result = run(name, "--help")
    assert result.exit_code == 0
    assert "Usage: " in result.stdout


def test_version() -> None:
    result = run("--version")
    assert (result.exit_code, result.stdout) == (0, f"moorage, version {__version__}\n")


@pytest.mark.parametrize(
    "args",
    [
        ("nonsense",),
        ("--nonsense",),
        ("config",),
        ("config", "nonsense"),
        ("config", "validate"),
        ("plugins", "extra"),
        ("evaluate",),
        ("evaluate", "--pod", "p.yaml"),
        ("evaluate", "--cluster", "c.yaml"),
        ("evaluate", "lines.jsonl", "--pod", "p.yaml"),
        ("evaluate", "lines.jsonl", "--config", "c.yaml"),
        ("evaluate", "--cluster", "c.yaml", "--pod", "p.yaml", "-o", "xml"),
        ("simulate",),
        ("simulate", "--nodes", "-1"),
        ("simulate", "--nodes", "many"),
        ("simulate", "--nodes", "1", "--workload", "nonsense"),
    ],
)
def test_wrong_usage_has_exit_code_2(args: tuple[str, ...]) -> None:
    result = run(*args)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert "Usage" in result.stderr


def test_the_installed_command_has_the_same_exit_codes(tmp_path: Path) -> None:
    """What click returns and what the process ends with are not the same thing."""
    helped = run_alone("--help")
    assert (helped.returncode, helped.stderr) == (0, "")
    unknown = run_alone("nonsense")
    assert (unknown.returncode, unknown.stdout) == (2, "")
    assert "No such command 'nonsense'" in unknown.stderr
    missing = run_alone("simulate", "none.yaml", cwd=tmp_path)
    assert (missing.returncode, missing.stdout) == (1, "")
    assert missing.stderr == "none.yaml: cannot read the file: No such file or directory; check the path\n"


def imported(*args: str | Path) -> set[str]:
    """The packages that a command imports."""
    command = [sys.executable, "-X", "importtime", MOORAGE, *(str(arg) for arg in args)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    lines = (line for line in done.stderr.splitlines() if line.startswith("import time:"))
    return {line.rpartition("|")[2].strip().partition(".")[0] for line in lines}


def test_help_imports_nothing_heavy() -> None:
    found = imported("--help")
    assert "click" in found
    assert found.isdisjoint(HEAVY)


def test_validating_a_configuration_needs_no_numpy(tmp_path: Path) -> None:
    config = tmp_path / "scheduler.yaml"
    config.write_text(CONFIG)
    found = imported("config", "validate", config)
    assert "yaml" in found
    assert found.isdisjoint(("numpy", "rich"))


@pytest.mark.parametrize(
    "args",
    [
        ("--help",),
        ("plugins",),
        ("simulate", "--nodes", "2", "--pods", "50", "--show-placements"),
        ("evaluate", "--cluster", "cluster.yaml", "--pod", "pod.yaml"),
    ],
)
def test_output_to_a_closed_pipe_ends_without_a_word(args: tuple[str, ...], tmp_path: Path) -> None:
    write(tmp_path / "cluster.yaml", node("n"))
    write(tmp_path / "pod.yaml", pod("p"))
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = subprocess.run(
            [MOORAGE, *args],
            stdout=writer,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            timeout=60,
            cwd=tmp_path,
        )
    finally:
        os.close(writer)
    assert (done.returncode, done.stderr) == (1, "")


def test_verbosity_may_be_written_as_for_go_programs_everywhere() -> None:
    for form in (["-v=10"], ["--v=10"], ["-v", "10"]):
        result = run("up", *form, "--reload")
        assert "--reload needs a --plugin or a --config to watch" in result.output
