from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from moorage.cli.config import config as command
from tests.config.samples import V1, V1BETA2, text_of, with_plugins

MINE = """
from moorage.framework.extension_points import ScorePlugin


class Mine(ScorePlugin):
    def score(self, cycle, pod, node):
        return 1
"""


@pytest.fixture
def mine(tmp_path: Path) -> str:
    """A file with a score plugin named Mine."""
    path = tmp_path / "mine.py"
    path.write_text(MINE)
    return str(path)


def run(*args: str, **options: Any) -> Result:
    return CliRunner().invoke(command, args, **options)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "scheduler.yaml"


def test_validate_says_valid(file: Path) -> None:
    file.write_text(text_of())
    result = run("validate", str(file))
    assert (result.exit_code, result.output) == (0, f"{file}: valid\n")


def test_validate_prints_every_problem_on_a_line(file: Path) -> None:
    file.write_text(text_of(parallelism=0, percentageOfNodesToScore=-1))
    result = run("validate", str(file))
    assert result.exit_code == 1
    assert result.stdout == ""
    assert result.stderr.splitlines() == [
        f"{file}: parallelism: Invalid value: 0: should be an integer value greater than zero",
        f"{file}: percentageOfNodesToScore: Invalid value: -1: not in valid range [0-100]",
    ]


def test_unregistered_plugin_is_named(file: Path, mine: str) -> None:
    file.write_text(text_of(**with_plugins(score={"enabled": [{"name": "Mine"}]})))
    for name in ("validate", "view", "convert"):
        result = run(name, str(file))
        assert result.exit_code == 1
        assert 'ScorePlugin "Mine" does not exist' in result.stderr
        assert run(name, str(file), "--plugin", mine).exit_code == 0


def test_plugin_problems_are_one_line(file: Path) -> None:
    file.write_text(text_of())
    result = run("validate", str(file), "--plugin", str(file.parent / "none.py"))
    assert result.exit_code == 1
    assert "none.py" in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_plugin_that_no_profile_enables_is_pointed_out(file: Path, mine: str) -> None:
    file.write_text(text_of())
    result = run("validate", str(file), "--plugin", mine)
    assert result.exit_code == 0
    assert result.stderr == "Warning: plugin Mine is registered, but no profile enables it\n"


def test_missing_file(tmp_path: Path) -> None:
    missing = tmp_path / "none.yaml"
    result = run("validate", str(missing))
    assert result.exit_code == 1
    assert result.stderr == f"{missing}: cannot read the file: No such file or directory; check the path\n"


def test_wrong_usage() -> None:
    assert run("validate").exit_code == 2
    assert run("validate", "a", "b").exit_code == 2


def test_traceback_only_on_demand(file: Path) -> None:
    file.write_text("a: b: c")
    assert "Traceback" not in run("validate", str(file)).output
    assert "Traceback" in run("validate", str(file), "-v").output


def test_standard_input() -> None:
    result = run("validate", "-", input=text_of())
    assert (result.exit_code, result.stdout) == (0, "<stdin>: valid\n")


def test_old_version_warns_once(file: Path) -> None:
    file.write_text(text_of(V1BETA2))
    warning = f"Warning: KubeSchedulerConfiguration {V1BETA2} is no longer served, reading it as v1\n"
    for name in ("validate", "view", "convert"):
        result = run(name, str(file))
        assert (result.exit_code, result.stderr) == (0, warning)
        refused = run(name, str(file), "--strict-config-version")
        assert refused.exit_code == 1
        assert "is registered for version" in refused.stderr


def test_view_shows_the_complete_configuration(file: Path) -> None:
    file.write_text(text_of(parallelism=3))
    shown = run("view", str(file)).stdout
    assert list(yaml.safe_load(shown)) == sorted(yaml.safe_load(shown))
    assert yaml.safe_load(shown)["parallelism"] == 3
    file.write_text(shown)
    assert run("view", str(file)).stdout == shown


def test_view_expanded(file: Path, mine: str) -> None:
    file.write_text(text_of(**with_plugins(score={"enabled": [{"name": "Mine", "weight": 4}]})))
    shown = yaml.safe_load(run("view", str(file), "--expanded", "--plugin", mine).stdout)
    (profile,) = shown["profiles"]
    assert profile["schedulerName"] == "default-scheduler"
    assert list(profile["plugins"])[:3] == ["preEnqueue", "queueSort", "preFilter"]
    assert profile["plugins"]["queueSort"] == ["PrioritySort"]
    assert profile["plugins"]["score"][-1] == {"name": "Mine", "weight": 4}


def test_convert_prints_what_the_file_says_as_v1(file: Path) -> None:
    file.write_text(text_of(V1BETA2, parallelism=3))
    converted = yaml.safe_load(run("convert", str(file)).stdout)
    assert list(converted) == ["apiVersion", "kind", "parallelism", "profiles"]
    assert converted["apiVersion"] == V1


@pytest.mark.parametrize("name", ["validate", "view", "convert"])
def test_help_has_an_example(name: str) -> None:
    text = run(name, "--help").output
    assert f"Example:\n    moorage config {name} " in text


def test_starts_light() -> None:
    code = (
        "import sys; import moorage.cli.config; heavy = {'yaml', 'msgspec', 'numpy'} & set(sys.modules);"
        "import moorage.config; print(sorted(heavy), 'numpy' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[] False\n"
