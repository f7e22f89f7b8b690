"""What `make up` says on its first run, with a Python that only pretends to install."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]

PYTHON = """#!/bin/sh
case "$*" in
    *version_info*) exit {too_old} ;;
    --version) echo Python 3.9.2 ;;
    "-m venv"*) mkdir -p "$3/bin"; ln -s "$0" "$3/bin/python"
        printf '#!/bin/sh\necho up "$@"\n' > "$3/bin/moorage"; chmod +x "$3/bin/moorage"; exit {venv_code} ;;
    *"pip install"*) echo "  Installing build dependencies: started"
        echo "Collecting aiohttp>=3.9 (from moorage==0.1.0)"
        echo "  Downloading aiohttp-3.14.5.whl (1.7 MB)"
        echo "Collecting idna<4,>=2 (from yarl)"
        echo "ERROR: no network" >&2
        echo "Installing collected packages: aiohttp"; exit {pip_code} ;;
esac
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("Makefile", "pyproject.toml", "constraints.txt"):
        shutil.copy(REPOSITORY / name, tmp_path)
    return tmp_path


def make_up(folder: Path, **codes: int) -> subprocess.CompletedProcess[str]:
    python = folder / "python"
    python.write_text(PYTHON.format(**{"too_old": 0, "venv_code": 0, "pip_code": 0, **codes}))
    python.chmod(0o755)
    unset = ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")
    return subprocess.run(
        ["make", "up", f"PYTHON={python}", "ARGS=--nodes 7"],
        cwd=folder,
        env={key: value for key, value in os.environ.items() if key not in unset},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_the_first_run_names_what_it_installs_and_the_next_says_nothing(folder: Path) -> None:
    packages = (folder / "constraints.txt").read_text().count("==")
    first = make_up(folder)
    assert first.stdout.splitlines() == [
        f"Installing Moorage and about {packages} packages into .venv, once:",
        "  setuptools",
        "  aiohttp",
        "  idna",
        "  All are there and are being unpacked.",
        "up up --nodes 7",
    ]
    assert first.returncode == 0
    second = make_up(folder)
    assert (second.stdout, second.stderr, second.returncode) == ("up up --nodes 7\n", "", 0)


def test_a_python_that_is_too_old(folder: Path) -> None:
    result = make_up(folder, too_old=1)
    assert result.stdout == ""
    assert result.stderr.splitlines()[0] == (
        f"Moorage needs Python 3.11 or newer, and {folder}/python says: Python 3.9.2;"
        " name another: make up PYTHON=python3.12"
    )
    assert result.returncode != 0
    assert not (folder / ".venv").exists()


def test_no_virtual_environment(folder: Path) -> None:
    result = make_up(folder, venv_code=1)
    assert "No virtual environment could be made, for the reason above" in result.stderr
    assert result.returncode != 0
    assert not (folder / ".venv").exists(), "half of one would be taken for whole the next time"


def test_pip_fails(folder: Path) -> None:
    result = make_up(folder, pip_code=1)
    reason, line, *_ = result.stderr.splitlines()
    assert reason == "ERROR: no network"
    assert line == "pip failed, for the reason above; the next make goes on from here"
    assert result.returncode != 0
    assert make_up(folder).returncode == 0
