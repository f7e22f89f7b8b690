from __future__ import annotations

import os
from pathlib import Path

import pytest

from moorage.plugins.catalog import CATALOG, CONTRIB
from tests.cli.running import FILTER, environment, refused, run, run_alone, write_plugin


def test_every_plugin_that_comes_along_is_listed_with_what_it_does() -> None:
    result = run("plugins")
    assert (result.exit_code, result.stderr) == (0, "")
    header, *lines = result.stdout.splitlines()
    assert header.split() == ["NAME", "SOURCE", "EXTENSION", "POINTS"]
    rows = [line.split(maxsplit=2) for line in lines if not line.startswith(" ")]
    assert [(name, points.split(", ")) for name, _, points in rows] == [
        (name, list(plugin.points)) for name, plugin in (CATALOG | CONTRIB).items()
    ]
    assert [source for _, source, _ in rows] == ["in-tree"] * len(CATALOG) + ["contrib"] * len(CONTRIB)
    assert len(lines) == 2 * len(rows), "a summary for each"


@pytest.mark.parametrize("ending", ["", ":Quiet"])
def test_a_plugin_from_a_file(tmp_path: Path, ending: str) -> None:
    file = write_plugin(tmp_path / "quiet.py")
    result = run("plugins", "--plugin", f"{file}{ending}")
    assert result.exit_code == 0
    *_, row, summary = result.stdout.splitlines()
    assert row.split() == ["Quiet", str(file), "filter"]
    assert summary.strip() == "Keeps pods off noisy nodes."


def test_a_plugin_from_a_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_plugin(tmp_path / "moorage_test_module.py")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    for spec in ("moorage_test_module", "moorage_test_module:Quiet"):
        result = run("plugins", "--plugin", spec)
        assert result.exit_code == 0
        assert "Quiet" in result.stdout


def install(folder: Path, *points: str, text: str = FILTER) -> Path:
    """A package as pip would leave it: a module and a dist-info folder."""
    info = folder / "moorage_quiet-1.2.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: moorage-quiet\nVersion: 1.2\n")
    (info / "entry_points.txt").write_text("[moorage.plugins]\n" + "\n".join(points) + "\n")
    write_plugin(folder / "moorage_quiet.py", text)
    return folder


def beside(folder: Path) -> dict[str, str]:
    """An environment in which the packages of this folder are installed, too."""
    return environment(PYTHONPATH=os.pathsep.join((str(folder), os.environ.get("PYTHONPATH", ""))))


def test_a_plugin_of_an_installed_package(tmp_path: Path) -> None:
    folder = install(tmp_path / "site", "quiet = moorage_quiet:Quiet")
    done = run_alone("plugins", env=beside(folder), cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    (row,) = (line for line in done.stdout.splitlines() if line.startswith("Quiet"))
    assert row.split(maxsplit=1)[1].split() == ["moorage-quiet", "1.2", "filter"]


HEAD = "from moorage import FilterPlugin\n\n\nclass Mine(FilterPlugin):\n"
FILTERS = "    def filter(self, cycle, pod, node):\n        return None\n"

UNUSABLE = {
    "syntax": ("class X(:\n", "cannot be imported: SyntaxError: invalid syntax (mine.py:1)"),
    "import": ("import mine_gone\n", "ModuleNotFoundError: No module named 'mine_gone' (mine.py:1)"),
    "raise": ("\nraise RuntimeError('a\\nb')\n", "cannot be imported: RuntimeError: a b (mine.py:2)"),
    "exit": ("import sys\nsys.exit('bye')\n", "cannot be imported: SystemExit: bye (mine.py:2)"),
    "null": ("x = '\0'\n", "cannot be imported: SyntaxError: source code string cannot contain null bytes"),
    "empty": ("", "holds no plugin; write a class with a base such as moorage.FilterPlugin"),
    "no plugin": ("class Mine:\n    pass\n", "holds no plugin; write a class with a base such as"),
    "no method": (
        HEAD + "    pass\n",
        "class Mine lacks the method filter or filter_nodes; write it or drop",
    ),
    "clash": (
        HEAD + '    name = "NodeName"\n' + FILTERS,
        "a plugin named NodeName already exists (in-tree); give the class another `name`",
    ),
    "name": (HEAD + "    name = 5\n" + FILTERS, "class Mine has the name 5; use text"),
    "args": (HEAD + "    args_type = dict\n" + FILTERS, "class Mine has an `args_type` that is no msgspec.S"),
}


@pytest.mark.parametrize("case", UNUSABLE)
def test_a_file_whose_plugin_cannot_be_used(case: str, tmp_path: Path) -> None:
    text, message = UNUSABLE[case]
    file = write_plugin(tmp_path / "mine.py", text)
    line = refused(run("plugins", "--plugin", file))
    assert line.startswith(f"{file}: ")
    assert message in line
    assert "Traceback" in run("plugins", "--plugin", file, "-v").stderr


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("none.py", "none.py: no such file; check the path"),
        ("./none", "none: no such file; check the path"),
        (".", ".: is a folder without a package; give a package (with __init__.py), a project that holds"),
        ("", ".: no such file; check the path"),
        ("quiet.py:Loud", "quiet.py:Loud: Loud is not a plugin class in quiet.py"),
        ("moorage_gone", "moorage_gone: no such module; give a file such as ./my_plugin.py or an importable"),
        ("moorage_gone:Quiet", "moorage_gone: no such module; give a file such as"),
    ],
)
def test_a_plugin_that_is_not_there(
    spec: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_plugin(tmp_path / "quiet.py")
    assert refused(run("plugins", "--plugin", spec)).startswith(message)


def test_the_same_plugin_twice(tmp_path: Path) -> None:
    file = write_plugin(tmp_path / "quiet.py")
    line = refused(run("plugins", "--plugin", file, "--plugin", file))
    assert line == f"{file}: a plugin named Quiet already exists ({file}); give the class another `name`"
