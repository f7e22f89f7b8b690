"""`--plugin FOLDER`: a package, or a project that holds one."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from moorage.cli.reloading import files_of, forget_modules
from moorage.framework.loading.registry import Registry
from tests.cli.running import FILTER, refused, run, write_plugin


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        if (getattr(sys.modules[name], "__file__", None) or "").startswith(str(tmp_path)):
            del sys.modules[name]


def package(at: Path, init: str = "from .plugin import Quiet\n") -> Path:
    at.mkdir(parents=True)
    (at / "__init__.py").write_text(init)
    write_plugin(at / "plugin.py", "from .words import REASON\n" + FILTER)
    (at / "words.py").write_text("REASON = 'old'\n")
    return at


def found(*specs: str) -> list[str]:
    plugins = [word for spec in specs for word in ("--plugin", spec)]
    result = run("plugins", "-o", "json", *plugins)
    assert result.exit_code == 0, result.output
    listed = json.loads(result.stdout)["plugins"]
    return [each["name"] for each in listed if each["source"] not in ("in-tree", "contrib")]


@pytest.mark.parametrize("spec", ["hushed/", "hushed", "./hushed", "hushed:Quiet", "hushed/:Quiet"])
def test_a_package(spec: str, folder: Path) -> None:
    package(folder / "hushed")
    assert found(spec) == ["Quiet"]


def test_a_package_may_import_itself_by_name_and_be_deep(folder: Path) -> None:
    package(folder / "outer" / "inner", "from outer.inner.plugin import Quiet\n")
    (folder / "outer" / "__init__.py").write_text("")
    assert found("outer/inner/") == ["Quiet"]


@pytest.mark.parametrize("spec", ["quiet-nodes", "quiet-nodes/", "./quiet-nodes", "quiet-nodes:QuietNodes"])
def test_a_new_project(spec: str, folder: Path) -> None:
    assert run("new", "plugin", "quiet-nodes", "--crd").exit_code == 0
    assert found(spec) == ["QuietNodes"]


def test_a_project_with_its_package_below_src(folder: Path) -> None:
    package(folder / "project" / "src" / "hushed")
    (folder / "project" / "pyproject.toml").write_text("")
    (folder / "project" / "tests").mkdir()
    (folder / "project" / "tests" / "__init__.py").write_text("")
    assert found("project") == ["Quiet"]


def test_here(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(package(folder / "hushed"))
    assert found(".") == ["Quiet"]


EXPECTED = "a package (with __init__.py), a project that holds one, or a file such as"


def test_other_folders_are_refused_in_a_line(folder: Path) -> None:
    (folder / "notes").mkdir()
    line = refused(run("plugins", "--plugin", "notes/"))
    assert line == f"notes/: is a folder without a package; give {EXPECTED} notes/plugin.py"
    assert refused(run("plugins", "--plugin", "notes")).startswith("notes: is a folder without a package; ")
    write_plugin(folder / "notes" / "quiet.py")
    line = refused(run("plugins", "--plugin", "notes/"))
    assert line.endswith(f"{EXPECTED} notes/quiet.py")
    package(folder / "notes" / "one")
    package(folder / "notes" / "two")
    line = refused(run("plugins", "--plugin", "notes"))
    assert line == "notes: holds several packages: one, two; give one of them, such as notes/one"


def test_a_package_without_plugins_says_where_to_name_them(folder: Path) -> None:
    package(folder / "hushed", "")
    line = refused(run("plugins", "--plugin", "hushed/"))
    assert line == (
        "hushed/: holds no plugin; import the class in hushed/__init__.py, or give the file that has it"
    )


def test_a_package_with_the_name_of_another_module_is_refused(folder: Path) -> None:
    package(folder / "json")
    line = refused(run("plugins", "--plugin", "json/"))
    assert line.startswith("json/: there is another module json already (")
    assert line.endswith("); rename the folder")


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("__init__.py", "import hushed_gone\n", "ModuleNotFoundError: No module named 'hushed_gone'"),
        ("plugin.py", "class X(:\n", "SyntaxError: invalid syntax (plugin.py:1)"),
        ("words.py", "raise SystemExit(3)\n", "SystemExit: 3 (words.py:1)"),
    ],
)
def test_a_package_that_cannot_be_imported(name: str, text: str, said: str, folder: Path) -> None:
    (package(folder / "hushed") / name).write_text(text)
    line = refused(run("plugins", "--plugin", "hushed/"))
    assert line.startswith("hushed/: cannot be imported: ")
    assert said in line
    package_again = folder / "hushed"
    (package_again / "__init__.py").write_text("from .plugin import Quiet\n")
    write_plugin(package_again / "plugin.py")
    forget_modules(files_of(["hushed/"]))
    assert found("hushed/") == ["Quiet"]


def reason(registry: Registry) -> str:
    entry = registry.get("Quiet")
    assert entry is not None
    return str(sys.modules[entry.load().__module__].__dict__["REASON"])


@pytest.mark.parametrize("spec", ["project/", "project/hushed", "project:Quiet"])
def test_all_files_of_the_package_are_followed(spec: str, folder: Path) -> None:
    package(folder / "project" / "hushed")
    (folder / "project" / "hushed" / "not_imported_yet.py").write_text("")
    first = Registry()
    first.load(spec)
    assert reason(first) == "old"
    names = sorted(path.name for path in files_of([spec]))
    assert names == ["__init__.py", "not_imported_yet.py", "plugin.py", "words.py"]
    (folder / "project" / "hushed" / "words.py").write_text("REASON = 'new'\n")
    forget_modules(files_of([spec]))
    second = Registry()
    second.load(spec)
    assert reason(second) == "new"


def test_in_a_cluster_the_package_is_named_as_its_image_has_it(folder: Path) -> None:
    package(folder / "project" / "hushed")
    for spec, flag in (("project/", "--plugin=hushed"), ("project/hushed:Quiet", "--plugin=hushed:Quiet")):
        result = run("manifests", "--plugin", spec, "--image", "registry/mine:1")
        assert result.exit_code == 0, result.output
        assert f"- {flag}\n" in result.stdout
    assert "build one with the package in it" in refused(run("manifests", "--plugin", "project/"))
