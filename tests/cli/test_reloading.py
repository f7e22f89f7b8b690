"""Which files are watched for a plugin, and how their modules are forgotten."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from moorage.cli.reloading import FileWatch, files_of, forget_modules
from moorage.framework.loading.registry import Registry
from tests.cli.running import FILTER


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    yield tmp_path
    for name, module in tuple(sys.modules.items()):
        if (getattr(module, "__file__", None) or "").startswith(str(tmp_path)):
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


def test_files_that_are_given_are_named_once_even_beside_each_other(folder: Path) -> None:
    for name in ("one", "two"):
        (folder / f"{name}.py").write_text(FILTER.replace("Quiet", name.title()))
        Registry().load(f"{name}.py")
    assert names("one.py", "two.py", "./one.py") == ["one.py", "two.py"]


class Ended(Exception):
    pass


def told(files: list[Path], *steps: Callable[[], object]) -> list[list[str]]:
    """What a watch tells, with a step before each of its looks; each told file adds those that it names."""
    calls: list[list[str]] = []
    left = iter(steps)

    async def sleep(_: float) -> None:
        step = next(left, None)
        if step is None:
            raise Ended
        step()

    async def changed(paths: list[Path]) -> None:
        calls.append([path.name for path in paths])
        files[:] = [*files, *(path.with_name(path.read_text()) for path in paths if path.exists())]

    with pytest.raises(Ended):
        asyncio.run(FileWatch(lambda: files, changed).run(sleep))
    return calls


def test_the_changed_files_are_told_and_the_new_ones_watched(folder: Path) -> None:
    first, second = folder / "first.py", folder / "second.py"
    first.write_text("")
    second.write_text("")
    calls = told(
        [first],
        lambda: second.write_text("not watched yet"),
        lambda: first.write_text("second.py"),
        lambda: None,
        lambda: second.write_text("first.py"),
    )
    assert calls == [["first.py"], ["second.py"]]


def test_a_file_that_is_missing_for_a_moment_is_not_told_until_it_is_back(folder: Path) -> None:
    file = folder / "plugin.py"
    file.write_text("")
    assert told([file], file.unlink, lambda: file.write_text("plugin.py")) == [["plugin.py"]]


def test_a_file_that_stays_away_is_told_and_does_not_hide_other_changes(folder: Path) -> None:
    file, helper = folder / "plugin.py", folder / "helper.py"
    file.write_text("")
    helper.write_text("")
    calls = told(
        [file, helper],
        helper.unlink,
        lambda: None,
        lambda: file.write_text("plugin.py"),
        lambda: None,
    )
    assert calls == [["helper.py"], ["plugin.py"]]
