from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from moorage import __version__
from moorage.cli.main import COMMANDS, command_of
from tests.cli.running import MOORAGE, environment, node, pod, run, run_alone, write

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


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("simluate",), "No such command 'simluate'. Did you mean 'simulate'?"),
        (("config", "validat"), "No such command 'validat'. Did you mean 'validate'?"),
        (("new", "plugins"), "No such command 'plugins'. Did you mean 'plugin'?"),
        (("nonsense",), "No such command 'nonsense'. There are capacity, completion, config, "),
        (("config", "nonsense"), "No such command 'nonsense'. There are convert, validate, view."),
    ],
)
def test_a_command_that_is_misspelt(args: tuple[str, ...], said: str) -> None:
    result = run(*args)
    assert result.exit_code == 2
    assert said in result.stderr


def test_as_a_module(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "moorage"]
    done = subprocess.run([*command, "--help"], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("Usage: python -m moorage [OPTIONS] COMMAND [ARGS]...\n")
    done = subprocess.run(
        [*command, "simulate", "none.yaml"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        cwd=tmp_path,
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("none.yaml: cannot read the file")


def commands() -> list[tuple[str, ...]]:
    """Every command and group, by the words that call it."""
    found: list[tuple[str, ...]] = [()]
    for name in COMMANDS:
        found.append((name,))
        found += [(name, inner) for inner in getattr(command_of(name), "commands", ())]
    return found


@pytest.mark.parametrize("words", commands(), ids=" ".join)
def test_help_has_examples_and_fits_the_terminal(
    words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    text = run(*words, "--help").stdout
    assert "Example" in text
    assert [line for line in text.splitlines() if len(line) > 80] == []


INTERRUPTED = """
import os
import signal
import sys


class Interrupts:
    def find_spec(self, name, path=None, target=None):
        if name == os.environ["INTERRUPTED_AT"]:
            os.kill(os.getpid(), signal.SIGINT)


sys.meta_path.insert(0, Interrupts())
"""


@pytest.mark.parametrize(
    ("at", "args"),
    [
        ("click", ("--help",)),
        ("moorage.cli.plugins", ("plugins",)),
        ("moorage.plugins.catalog", ("plugins",)),
        ("moorage.config.problems", ("evaluate", "-")),
        ("numpy", ("simulate", "--nodes", "1", "--pods", "1")),
        ("asyncio", ("simulate", "--nodes", "1", "--pods", "1")),
        ("yaml", ("config", "validate", "-")),
        ("moorage.cli.up_process", ("up",)),
        ("moorage.cli.running.process", ("run", "--master", "http://127.0.0.1:1")),
    ],
)
def test_ctrl_c_while_modules_are_imported_ends_without_a_word(
    at: str, args: tuple[str, ...], tmp_path: Path
) -> None:
    (tmp_path / "sitecustomize.py").write_text(INTERRUPTED)
    done = subprocess.run(
        [sys.executable, "-m", "moorage", *args],
        env=environment(
            INTERRUPTED_AT=at, PYTHONPATH=os.pathsep.join((str(tmp_path), os.environ.get("PYTHONPATH", "")))
        ),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


def test_a_pipe_that_is_closed_early_ends_without_a_word() -> None:
    command = f"{MOORAGE} plugins | head -n 1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=60, check=False)
    assert (len(done.stdout.splitlines()), done.stderr) == (1, "")
