"""Which plugins there are, and where they come from.

Light to import: a plugin's module is imported when the plugin is needed.
"""

from __future__ import annotations

import importlib
import importlib.util
import re
import sys
from collections.abc import Callable, Iterator
from importlib import metadata
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, NamedTuple

from moorage.framework.plugin_errors import described

if TYPE_CHECKING:
    from moorage.framework.extension_points import Plugin

ENTRY_POINT_GROUP = "moorage.plugins"
_PACKAGE = "moorage_plugin_"  # how the names of packages begin that stand for folders


class PluginLoadError(Exception):
    """A plugin that cannot be used; the text has a line for each mistake, with the place and the remedy."""


class Entry:
    """A registered plugin. `points` and `load` do no more work than they must."""

    def __init__(
        self,
        name: str,
        source: str,
        load: Callable[[], type[Plugin]],
        points: tuple[str, ...] | None = None,
    ) -> None:
        self.name = name
        self.source = source
        self._load = load
        self._points = points
        self._class: type[Plugin] | None = None

    def load(self) -> type[Plugin]:
        if self._class is None:
            self._class = self._load()
        return self._class

    @property
    def points(self) -> tuple[str, ...]:
        if self._points is None:
            from moorage.framework.extension_points import points_of

            self._points = points_of(self.load())
        return self._points

    @property
    def summary(self) -> str:
        """The first line of the plugin's docstring."""
        return (self.load().__doc__ or "").strip().partition("\n")[0]


class Broken(NamedTuple):
    """An entry point of an installed package that cannot be used."""

    source: str
    """The package and its version."""
    name: str
    value: str
    error: str
    """Why, in one line that begins with the package."""

    @property
    def names(self) -> tuple[str, ...]:
        """What configurations probably call the plugin: that is known only once it is loaded."""
        return tuple(dict.fromkeys((self.value.partition(":")[2].rpartition(".")[2], self.name)))


class Registry:
    """Plugins by name."""

    def __init__(self) -> None:
        self._entries: dict[str, Entry] = {}
        self._installed: set[str] = set()
        self.broken: list[Broken] = []
        """The plugins of installed packages that cannot be used."""

    def __iter__(self) -> Iterator[Entry]:
        return iter(self._entries.values())

    def __contains__(self, name: str) -> bool:
        return name in self._entries

    def get(self, name: str) -> Entry | None:
        return self._entries.get(name)

    def add(self, entry: Entry) -> None:
        known = self._entries.get(entry.name)
        if known is not None:
            raise PluginLoadError(
                f"{entry.source}: a plugin named {entry.name} already exists ({known.source}); "
                "give the class another `name`"
            )
        self._entries[entry.name] = entry

    def add_class(self, plugin: type[Plugin], source: str) -> Entry:
        entry = Entry(checked(plugin, source).name, source, lambda: plugin)
        self.add(entry)
        return entry

    def points_of(self) -> dict[str, tuple[str, ...]]:
        """For every plugin, the extension points it implements."""
        return {name: entry.points for name, entry in self._entries.items()}

    def load(self, spec: str) -> list[str]:
        """Registers what `--plugin` names: a file, a folder or a module, or one `:Class` of it.

        Returns the names of the plugins found. They go before plugins of installed packages, so that a
        project can be installed and worked on at the same time.
        """
        found = find_plugins(spec)
        for plugin, _ in found:
            if plugin.name in self._installed:
                self._installed.remove(plugin.name)
                del self._entries[plugin.name]
        return [self.add_class(plugin, source).name for plugin, source in found]

    def load_entry_points(self) -> None:
        """Registers the plugins of installed packages; one that cannot be used is put among the broken."""
        for point in metadata.entry_points(group=ENTRY_POINT_GROUP):
            source = f"{point.dist.name} {point.dist.version}" if point.dist else point.value
            try:
                plugin = _entry_point_class(point, f"{source}: entry point {point.name} = {point.value}")
                self._installed.add(self.add_class(plugin, source).name)
            except PluginLoadError as error:
                self.broken.append(Broken(source, point.name, point.value, str(error)))


def find_plugins(spec: str) -> list[tuple[type[Plugin], str]]:
    """The plugin classes that a `--plugin` value stands for, each with where it comes from."""
    from moorage.framework.extension_points import Plugin, points_of

    place, _, attribute = spec.partition(":")
    module = import_from(place)
    if attribute:
        found = getattr(module, attribute, None)
        if not (isinstance(found, type) and issubclass(found, Plugin)):
            hint = _meant(module, attribute) if found is None else _why_not(found)
            raise PluginLoadError(f"{spec}: {attribute} is not a plugin class in {place}{hint}")
        return [(found, place)]
    classes = [
        value
        for value in vars(module).values()
        if isinstance(value, type)
        and issubclass(value, Plugin)
        and (value.__module__ == module.__name__ or value.__module__.startswith(f"{module.__name__}."))
        and not value.__name__.startswith("_")
        and points_of(value)
    ]
    if not classes:
        is_package = hasattr(module, "__path__")
        in_package = f"; import the class in {module.__name__}/__init__.py, or give the file that has it"
        remedy = in_package if is_package else _looks_like_one(module)
        raise PluginLoadError(f"{place}: holds no plugin{remedy}")
    return [(plugin, place) for plugin in dict.fromkeys(classes)]


def _looks_like_one(module: ModuleType) -> str:
    """What to do about a module without plugins."""
    from moorage.framework.loading.load_checks import lacking_base

    for value in vars(module).values():
        if isinstance(value, type) and value.__module__ == module.__name__ and (hint := lacking_base(value)):
            return f"; class {value.__name__} {hint}"
    return "; write a class with a base such as moorage.FilterPlugin"


def _meant(module: ModuleType, attribute: str) -> str:
    """Which class of a module may have been meant."""
    from difflib import get_close_matches

    from moorage.framework.extension_points import points_of

    classes = [name for name, value in vars(module).items() if isinstance(value, type) and points_of(value)]
    found = get_close_matches(attribute, classes, 1)
    return f"; did you mean {found[0]}?" if found else ""


def _why_not(found: object) -> str:
    """What to do about something that was named and is no plugin."""
    from moorage.framework.loading.load_checks import lacking_base

    hint = lacking_base(found) if isinstance(found, type) else ""
    return f"; it {hint}" if hint else ""


def checked(plugin: type[Plugin], source: str) -> type[Plugin]:
    """Refuses a class with which something is wrong; the error has a line for each mistake."""
    from moorage.framework.background import background_mistakes
    from moorage.framework.loading.load_checks import mistakes

    found = [*mistakes(plugin), *background_mistakes(plugin)]
    if found:
        raise PluginLoadError("\n".join(f"{source}: class {plugin.__name__} {each}" for each in found))
    return plugin


def _entry_point_class(point: metadata.EntryPoint, source: str) -> type[Plugin]:
    from moorage.framework.extension_points import Plugin

    try:
        found = point.load()
    except (Exception, SystemExit) as error:
        raise PluginLoadError(f"{source} cannot be loaded: {_described(error, point.value)}") from error
    if not (isinstance(found, type) and issubclass(found, Plugin)):
        raise PluginLoadError(f"{source} is not a plugin class")
    return checked(found, source)


def import_from(place: str) -> ModuleType:
    """Imports a Python file, a folder that is or holds a package, or a module; raises PluginLoadError."""
    from moorage.framework.loading.plugin_folders import import_package, package_at

    package = package_at(place)
    if package is not None:
        return import_package(package, place)
    is_file = place.endswith(".py") or place[:1] in ("", ".") or "/" in place or Path(place).is_file()
    return _import_file(Path(place)) if is_file else _import_module(place)


def _import_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise PluginLoadError(f"{path}: no such file; check the path")
    name = f"{_package_of(path.resolve().parent)}.{path.stem.replace('.', '_')}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise PluginLoadError(f"{path}: is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    find_modules_in(path.parent)
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        raise PluginLoadError(f"{path}: cannot be imported: {_described(error, name)}") from error
    return module


def place_of(kind: type) -> str:
    """Where a class is, as commands take it: `file.py:Class` or `module:Class`."""
    file = getattr(sys.modules.get(kind.__module__), "__file__", None)
    if file is None or not kind.__module__.startswith(_PACKAGE):
        return f"{kind.__module__}:{kind.__qualname__}"
    path, here = Path(file).resolve(), Path.cwd()
    return f"{path.relative_to(here) if path.is_relative_to(here) else path}:{kind.__qualname__}"


def _package_of(folder: Path) -> str:
    """A package that stands for a folder, so that its files can import one another: `from .api import X`."""
    name = f"{_PACKAGE}{folder.name.replace('.', '_')}_{abs(hash(str(folder)))}"
    if name not in sys.modules:
        package = sys.modules[name] = ModuleType(name)
        package.__path__ = [str(folder)]
    return name


def _import_module(name: str) -> ModuleType:
    find_modules_in(Path.cwd())
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(f"{error.name}.")):
            raise PluginLoadError(
                f"{name}: no such module; give a file such as ./my_plugin.py or an importable module:Class"
            ) from error
        raise PluginLoadError(f"{name}: cannot be imported: {_described(error, name)}") from error
    except (Exception, SystemExit) as error:
        raise PluginLoadError(f"{name}: cannot be imported: {_described(error, name)}") from error


def find_modules_in(folder: Path) -> None:
    """Lets a plugin import what lies beside it, as a script may."""
    here = str(folder.resolve())
    if here not in sys.path:
        sys.path.append(here)


def _described(error: BaseException, module: str) -> str:
    return described(error, frozenset({re.split("[.:]", module)[0]}))
