"""Completion in shells, by a real one where it is at hand."""

from __future__ import annotations

import contextlib
import os
import pty
import shutil
import subprocess
from pathlib import Path

import pytest
from click.shell_completion import BashComplete

from moorage.cli.main import COMMANDS, moorage
from tests.cli.running import MOORAGE, environment, run
from tests.config.samples import text_of

PATH = os.pathsep.join((str(Path(MOORAGE).parent), os.environ["PATH"]))


def completed(*words: str) -> list[str]:
    """What bash is told for the last of these words."""
    *before, last = words
    bash = BashComplete(moorage, {}, "moorage", "_MOORAGE_COMPLETE")
    return [bash.format_completion(item) for item in bash.get_completions(before, last)]


def plain(*names: str) -> list[str]:
    return [f"plain,{name}" for name in names]


def test_commands() -> None:
    assert completed("") == plain(*COMMANDS)
    assert completed("si") == plain("simulate")
    assert completed("config", "v") == plain("validate", "view")


def test_options_and_their_choices() -> None:
    assert completed("simulate", "--work") == plain("--workload")
    assert completed("simulate", "--workload", "a") == plain("affinity", "antiaffinity")
    assert completed("plugins", "-o", "") == plain("table", "json")
    assert completed("completion", "") == plain("bash", "zsh", "fish")
    assert completed("new", "plugin", "x", "--points", "filter,sc") == plain("filter,score")


@pytest.mark.parametrize(
    "words",
    [
        ("simulate", "--config"),
        ("plugins", "--plugin"),
        ("simulate",),
        ("evaluate", "--cluster"),
        ("evaluate", "--pod"),
        ("evaluate",),
        ("config", "validate"),
        ("crd",),
        ("up", "--nodes"),
        ("up", "--data"),
        ("run", "--config"),
        ("run", "--tls-cert-file"),
        ("manifests", "--config"),
    ],
)
def test_files(words: tuple[str, ...]) -> None:
    assert completed(*words, "fo") == ["file,fo"]


def test_a_real_bash_completes_what_is_typed(tmp_path: Path) -> None:
    (tmp_path / "scheduler.yaml").write_text(text_of())
    main, terminal = pty.openpty()
    shown = bytearray()
    with subprocess.Popen(
        ["bash", "--norc", "--noprofile", "-i"],
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        cwd=tmp_path,
        start_new_session=True,
        env=environment(PATH=PATH, PS1="$ ", TERM="dumb", HISTFILE="", INPUTRC="/dev/null"),
    ) as shell:
        os.close(terminal)
        os.write(main, b"source <(moorage completion bash)\nmoorage conf\tvalid\tsched\t\nexit\n")
        with contextlib.suppress(OSError):  # how a terminal that nobody writes to any more ends
            while chunk := os.read(main, 65536):
                shown += chunk
        assert shell.wait(timeout=60) == 0
    os.close(main)
    assert "\nscheduler.yaml: valid\r\n" in shown.decode(), shown.decode()


@pytest.mark.parametrize(
    ("shell", "begins"),
    [("bash", "_moorage_completion() {"), ("zsh", "#compdef moorage"), ("fish", "function")],
)
def test_what_a_shell_reads(shell: str, begins: str) -> None:
    result = run("completion", shell)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.startswith(begins)
    assert "_MOORAGE_COMPLETE" in result.stdout
    if shutil.which(shell) is not None:
        command = [shell, "-n", "/dev/stdin"]
        subprocess.run(command, input=result.stdout, text=True, check=True, timeout=60)


def test_an_unknown_shell() -> None:
    result = run("completion", "tcsh")
    assert result.exit_code == 2
    assert "'tcsh' is not one of 'bash', 'zsh', 'fish'." in result.stderr
