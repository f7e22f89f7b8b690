"""An installed package whose plugin cannot be loaded concerns those only who use that plugin."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.cli.running import FILTER, node, pod, run_alone, write
from tests.cli.test_plugins import beside, install
from tests.config.samples import text_of, with_plugins

BROKEN = "raise RuntimeError('spoilt')\n"
REASON = (
    "moorage-quiet 1.2: entry point quiet = moorage_quiet:Quiet cannot be loaded: "
    "RuntimeError: spoilt (moorage_quiet.py:1)"
)
WARNING = f"Warning: {REASON}; it is left out\n"


def alone(folder: Path, *args: str | Path) -> subprocess.CompletedProcess[str]:
    return run_alone(*args, env=beside(folder / "site"), cwd=folder)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    install(tmp_path / "site", "quiet = moorage_quiet:Quiet", text=BROKEN)
    return tmp_path


@pytest.mark.parametrize(
    "args",
    [
        ("simulate", "--nodes", "1", "--pods", "1"),
        ("config", "validate", "plain.yaml"),
        ("config", "view", "plain.yaml", "--expanded"),
        ("evaluate", "--cluster", "cluster.yaml", "--pod", "pod.yaml"),
        ("manifests",),
    ],
)
def test_others_only_hear_of_it(args: tuple[str, ...], folder: Path) -> None:
    (folder / "plain.yaml").write_text(text_of())
    write(folder / "cluster.yaml", node("n"))
    write(folder / "pod.yaml", pod("p"))
    done = alone(folder, *args)
    assert (done.returncode, done.stderr) == (0, WARNING)
    assert done.stdout


def test_a_configuration_that_enables_it_is_refused_with_the_reason(folder: Path) -> None:
    (folder / "uses.yaml").write_text(text_of(**with_plugins(filter={"enabled": [{"name": "Quiet"}]})))
    for args in (
        ("config", "validate", "uses.yaml"),
        ("config", "convert", "uses.yaml"),
        ("simulate", "--nodes", "1", "--pods", "1", "--config", "uses.yaml"),
        ("manifests", "--config", "uses.yaml"),
        ("run", "--config", "uses.yaml"),
        ("up", "--config", "uses.yaml"),
    ):
        done = alone(folder, *args)
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr.splitlines()[-1] == f"uses.yaml: plugin Quiet: {REASON}"


MANY = FILTER + "\n\nclass Lacking(FilterPlugin):\n    pass\n\n\nnumber = 1\n"
WRONG = {
    "a = moorage_quiet:Nope": " cannot be loaded: AttributeError: ",
    "b = moorage_gone:Quiet": " cannot be loaded: ModuleNotFoundError: ",
    "c = moorage_quiet:number": " is not a plugin class",
    "d = moorage_exit:x": " cannot be loaded: SystemExit: 3 (moorage_exit.py:1)",
    "e = moorage_quiet:Lacking": ": class Lacking lacks the method filter or filter_nodes",
}


def test_whatever_is_wrong_is_said_in_a_line(tmp_path: Path) -> None:
    install(tmp_path / "site", *WRONG, text=MANY)
    (tmp_path / "site" / "moorage_exit.py").write_text("raise SystemExit(3)\n")
    done = alone(tmp_path, "simulate", "--nodes", "1", "--pods", "1")
    assert done.returncode == 0
    for line, (point, said) in zip(done.stderr.splitlines(), WRONG.items(), strict=True):
        assert line.startswith(f"Warning: moorage-quiet 1.2: entry point {point}{said}")


def test_so_is_the_module_itself(folder: Path) -> None:
    done = alone(folder, "plugins", "--plugin", "moorage_quiet")
    assert (done.returncode, done.stdout) == (1, "")
    said = "moorage_quiet: cannot be imported: RuntimeError: spoilt (moorage_quiet.py:1)"
    assert done.stderr.splitlines()[-1] == said


def test_it_is_listed_as_broken(folder: Path) -> None:
    done = alone(folder, "plugins")
    assert (done.returncode, done.stderr) == (0, "")
    *_, row, reason = done.stdout.splitlines()
    assert row.split() == ["quiet", "moorage-quiet", "1.2", "broken"]
    assert reason.strip() == REASON
    shown = json.loads(alone(folder, "plugins", "-o", "json").stdout)
    assert shown["broken"] == [
        {"entryPoint": "quiet = moorage_quiet:Quiet", "source": "moorage-quiet 1.2", "error": REASON}
    ]


def test_what_needs_no_plugins_imports_none(folder: Path) -> None:
    (folder / "site" / "moorage_quiet.py").write_text("import os; os.write(2, b'imported')\n" + FILTER)
    (folder / "api.py").write_text(
        "from moorage import Object\n\n\nclass Rule(Object):\n"
        "    group = 'example.com'\n    resource = 'rules'\n    kind = 'Rule'\n"
    )
    assert alone(folder, "plugins").stderr == "imported"
    for args in (("--help",), ("--version",), ("crd", "api.py"), ("new", "plugin", "calm-nodes")):
        done = alone(folder, *args)
        assert (done.returncode, done.stderr) == (0, ""), args


def test_another_package_works_beside_it(folder: Path) -> None:
    loud = folder / "site" / "moorage_loud-2.0.dist-info"
    loud.mkdir()
    (loud / "METADATA").write_text("Metadata-Version: 2.1\nName: moorage-loud\nVersion: 2.0\n")
    (loud / "entry_points.txt").write_text("[moorage.plugins]\nloud = moorage_loud:Loud\n")
    (folder / "site" / "moorage_loud.py").write_text(FILTER.replace("Quiet", "Loud"))
    (folder / "uses.yaml").write_text(text_of(**with_plugins(filter={"enabled": [{"name": "Loud"}]})))
    done = alone(folder, "config", "validate", "uses.yaml")
    assert (done.returncode, done.stdout, done.stderr) == (0, "uses.yaml: valid\n", WARNING)
