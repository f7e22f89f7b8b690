"""Folders that `--plugin` may name: a package, or a project that holds one."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

from moorage.framework.loading.registry import PluginLoadError, find_modules_in
from moorage.framework.plugin_errors import described

_NOT_PLUGINS = ("test", "tests")


def package_at(place: str) -> Path | None:
    """The folder of the package that a place stands for; None if it stands for a file or a module.

    Raises PluginLoadError for a folder in which no package, or more than one, is found.
    """
    folder = Path(place)
    if not place or not folder.is_dir():
        return None
    is_bare = "/" not in place and place.isidentifier()
    if (folder / "__init__.py").is_file():
        return None if is_bare else folder.resolve()
    if is_bare and _is_importable(place):
        return None
    inner = [
        found.parent
        for within in (folder, folder / "src")
        for found in sorted(within.glob("*/__init__.py"))
        if found.parent.name not in _NOT_PLUGINS
    ]
    if len(inner) > 1:
        names = ", ".join(found.name for found in inner)
        raise PluginLoadError(
            f"{place}: holds several packages: {names}; give one of them, such as {inner[0]}"
        )
    if not inner:
        example = next(iter(sorted(folder.glob("*.py"))), folder / "plugin.py")
        raise PluginLoadError(
            f"{place}: is a folder without a package; give a package (with __init__.py), "
            f"a project that holds one, or a file such as {example}"
        )
    return inner[0].resolve()


def _is_importable(name: str) -> bool:
    """Whether there is a module of that name that is more than a folder."""
    try:
        spec = importlib.util.find_spec(name)
    except ValueError:
        return False
    return spec is not None and spec.origin is not None


def name_of(package: Path) -> str:
    """What the package is imported as: `outer.inner` if it lies within another."""
    outermost = outermost_of(package)
    return ".".join((outermost.name, *package.relative_to(outermost).parts))


def outermost_of(package: Path) -> Path:
    while (package.parent / "__init__.py").is_file():
        package = package.parent
    return package


def import_package(package: Path, place: str) -> ModuleType:
    """Imports it under its own name, and from this folder, whatever is installed under that name."""
    outermost = outermost_of(package)
    name = outermost.name
    init = outermost / "__init__.py"
    known = sys.modules.get(name)
    there = None if known is None else getattr(known, "__file__", None) or "built in"
    if name in sys.stdlib_module_names or (there is not None and Path(there).resolve() != init):
        origin = there or "part of Python"
        raise PluginLoadError(
            f"{place}: there is another module {name} already ({origin}); rename the folder"
        )
    find_modules_in(outermost.parent)
    try:
        if known is None:
            _execute(name, init)
        return importlib.import_module(name_of(package))
    except (Exception, SystemExit) as error:
        for each in [each for each in sys.modules if each == name or each.startswith(f"{name}.")]:
            del sys.modules[each]
        raise PluginLoadError(f"{place}: cannot be imported: {described(error)}") from error


def _execute(name: str, init: Path) -> None:
    spec = importlib.util.spec_from_file_location(name, init, submodule_search_locations=[str(init.parent)])
    assert spec is not None and spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
