"""Which files are watched for a plugin, and how their modules are forgotten."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from moorage.cli.reloading import files_of, forget_modules
from moorage.framework.registry import Registry
from tests.cli.running import FILTER


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    known = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - known:
        del sys.modules[name]


def names(*plugins: str) -> list[str]:
    return sorted(path.name for path in files_of(plugins))


def reason(registry: Registry) -> str:
    entry = registry.get("Quiet")
    assert entry is not None
    return str(sys.modules[entry.load().__module__].__dict__["REASON"])


def test_a_file_and_what_it_imports_from_beside_it(folder: Path) -> None:
    (folder / "quiet.py").write_text("from .words import REASON\n" + FILTER)
    (folder / "words.py").write_text("REASON = 'old'\n")
    (folder / "other.py").write_text("")
    first = Registry()
    first.load("quiet.py")
    assert names("quiet.py", "quiet.py:Quiet") == ["quiet.py", "words.py"]
    assert reason(first) == "old"

    (folder / "words.py").write_text("REASON = 'new'\n")
    forget_modules(files_of(["quiet.py"]))
    second = Registry()
    second.load("quiet.py")
    assert reason(second) == "new"


@pytest.mark.parametrize("spec", ["pack", "pack:Quiet", "pack.plugin"])
def test_all_modules_of_a_package(spec: str, folder: Path) -> None:
    (folder / "pack").mkdir()
    (folder / "pack" / "__init__.py").write_text("from pack.plugin import Quiet\n")
    (folder / "pack" / "plugin.py").write_text("REASON = 'old'\n" + FILTER)
    first = Registry()
    first.load(spec)
    assert names(spec) == ["__init__.py", "plugin.py"]
    (folder / "pack" / "plugin.py").write_text("REASON = 'new'\n" + FILTER)
    forget_modules(files_of([spec]))
    second = Registry()
    second.load(spec)
    assert (reason(first), reason(second)) == ("new", "new")  # by the module of that name


def test_a_file_that_is_gone_is_watched_all_the_same() -> None:
    assert names("gone.py") == ["gone.py"]
