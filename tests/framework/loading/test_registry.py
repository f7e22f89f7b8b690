from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest

from moorage.framework.extension_points import FilterPlugin, Plugin, missing_methods, points_of
from moorage.framework.loading import registry as registry_module
from moorage.framework.loading.registry import Entry, PluginLoadError, Registry, find_plugins
from moorage.framework.plugin_errors import described
from moorage.plugins.catalog import in_tree_registry
from tests.framework.scripted import Filters, plugin

ONE = '''
from moorage import FilterPlugin


class Quiet(FilterPlugin):
    """Keeps nodes quiet.

    In more detail.
    """

    def filter(self, cycle, pod, node):
        return None
'''

TWO = (
    ONE
    + """

class _Hidden(Quiet):
    pass


class Loud(Quiet):
    name = "very-loud"


NUMBER = 7
"""
)


@pytest.fixture(autouse=True)
def _clean_imports(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    known = set(sys.modules)
    yield
    for name in set(sys.modules) - known:
        if name.startswith(("moorage_plugin_", "mine")):
            del sys.modules[name]


def write(path: str, text: str) -> str:
    file = Path(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return path


@pytest.mark.parametrize(
    ("spec", "names"),
    [
        ("plugin.py", ["Quiet", "very-loud"]),
        ("./plugin.py", ["Quiet", "very-loud"]),
        ("plugin.py:Loud", ["very-loud"]),
        ("plugin.py:_Hidden", ["_Hidden"]),
        ("mine.plugin", ["Quiet", "very-loud"]),
        ("mine.plugin:Quiet", ["Quiet"]),
    ],
)
def test_what_a_plugin_option_may_name(spec: str, names: list[str]) -> None:
    write("plugin.py", TWO)
    write("mine/plugin.py", TWO)
    registry = Registry()
    assert registry.load(spec) == names
    assert [entry.name for entry in registry] == names


@pytest.mark.parametrize("spec", ["mine/plugin.py", "mine.plugin"])
@pytest.mark.parametrize("import_line", ["from .reason import REASON", "from mine_reason import REASON"])
def test_a_plugin_may_import_what_lies_beside_it(spec: str, import_line: str) -> None:
    write("mine/plugin.py", f"{import_line}\n{ONE}")
    write("mine/reason.py", "REASON = 'because'\n")
    write("mine_reason.py" if "." in spec.removesuffix(".py") else "mine/mine_reason.py", "REASON = 'so'\n")
    assert Registry().load(spec) == ["Quiet"]


def test_files_of_the_same_name_in_two_folders_do_not_mix() -> None:
    for folder in ("one", "two"):
        write(f"{folder}/plugin.py", f"from .said import NAME\n{ONE}    name = NAME\n")
        write(f"{folder}/said.py", f"NAME = {folder!r}\n")
    registry = Registry()
    assert registry.load("one/plugin.py") + registry.load("two/plugin.py") == ["one", "two"]


def test_an_entry_knows_where_it_comes_from_and_what_it_is_for() -> None:
    write("plugin.py", ONE)
    registry = Registry()
    registry.load("plugin.py")
    entry = registry.get("Quiet")
    assert entry is not None
    assert (entry.source, entry.points, entry.summary) == ("plugin.py", ("filter",), "Keeps nodes quiet.")
    assert entry.load() is entry.load()
    assert "Quiet" in registry
    assert registry.points_of() == {"Quiet": ("filter",)}
    assert registry.get("Loud") is None


@pytest.mark.parametrize(
    ("spec", "text", "message"),
    [
        ("missing.py", None, "missing.py: no such file"),
        ("./folder/", None, "folder: no such file"),
        (
            "mine_missing",
            None,
            "mine_missing: no such module; give a file such as ./my_plugin.py or an importable module:Class",
        ),
        (
            "mine_missing.inner:Class",
            None,
            "mine_missing.inner: no such module; "
            "give a file such as ./my_plugin.py or an importable module:Class",
        ),
        ("p.py", "def f(:\n", "p.py: cannot be imported: SyntaxError: invalid syntax (p.py:1)"),
        (
            "p.py",
            "\n\n1 / 0\n",
            "p.py: cannot be imported: ZeroDivisionError: division by zero (p.py:3)",
        ),
        (
            "p.py",
            "import mine_missing\n",
            "p.py: cannot be imported: ModuleNotFoundError: No module named 'mine_missing' (p.py:1)",
        ),
        ("p.py", "raise ValueError\n", "p.py: cannot be imported: ValueError (p.py:1)"),
        (
            "p.py",
            "raise ValueError('two\\nlines')\n",
            "p.py: cannot be imported: ValueError: two lines (p.py:1)",
        ),
        (
            "p.py",
            "import json\n\njson.loads('{')\n",
            "p.py: cannot be imported: JSONDecodeError: Expecting property name enclosed in double quotes: "
            "line 1 column 2 (char 1) (p.py:3)",
        ),
        ("p.py", "", "p.py: holds no plugin; write a class with a base such as moorage.FilterPlugin"),
        (
            "p.py",
            "from moorage import FilterPlugin\n",
            "p.py: holds no plugin; write a class with a base such as moorage.FilterPlugin",
        ),
        ("p.py:Quiet", "class Quiet: pass\n", "p.py:Quiet: Quiet is not a plugin class in p.py"),
        ("p.py:Quiet", "Quiet = 7\n", "p.py:Quiet: Quiet is not a plugin class in p.py"),
        ("p.py:Quiet", "", "p.py:Quiet: Quiet is not a plugin class in p.py"),
        (
            "p.py",
            "from moorage import FilterPlugin\nclass Quiet(FilterPlugin): pass\n",
            "p.py: class Quiet lacks the method filter or filter_nodes; "
            "write it or drop the base class that calls for it",
        ),
        (
            "p.py",
            "from moorage import ReservePlugin\nclass Half(ReservePlugin):\n"
            "    def reserve(self, cycle, pod, node_name): pass\n",
            "p.py: class Half lacks the method unreserve; "
            "write it or drop the base class that calls for it (p.py:2)",
        ),
        ("mine_broken", "1 / 0\n", "mine_broken: cannot be imported: ZeroDivisionError: division by zero "),
        (
            "mine_broken",
            "import mine_other\n",
            "mine_broken: cannot be imported: ModuleNotFoundError: No module named 'mine_other' ",
        ),
    ],
)
def test_what_cannot_be_used_is_refused_in_one_line(spec: str, text: str | None, message: str) -> None:
    if text is not None:
        place = spec.partition(":")[0]
        write(place if place.endswith(".py") else f"{place}.py", text)
    with pytest.raises(PluginLoadError) as caught:
        Registry().load(spec)
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


def test_a_file_that_failed_can_be_mended_and_loaded() -> None:
    write("p.py", "1 / 0\n")
    registry = Registry()
    with pytest.raises(PluginLoadError):
        registry.load("p.py")
    write("p.py", ONE)
    assert registry.load("p.py") == ["Quiet"]


def test_a_name_that_exists_is_refused() -> None:
    write("a.py", ONE)
    write("b.py", ONE)
    registry = Registry()
    registry.load("a.py")
    with pytest.raises(PluginLoadError) as caught:
        registry.load("b.py")
    assert str(caught.value) == (
        "b.py: a plugin named Quiet already exists (a.py); give the class another `name`"
    )


def test_a_plugin_may_not_take_the_name_of_an_in_tree_one() -> None:
    write("a.py", ONE.replace("class Quiet", "class NodeName"))
    with pytest.raises(PluginLoadError, match=r"a plugin named NodeName already exists \(in-tree\)"):
        in_tree_registry().load("a.py")


def test_a_class_without_an_extension_point_is_refused() -> None:
    class Nothing(Plugin):
        pass

    with pytest.raises(PluginLoadError) as caught:
        Registry().add_class(Nothing, "here")
    line = inspect.getsourcelines(Nothing)[1]
    assert str(caught.value) == (
        "here: class Nothing has no extension point; "
        f"add a base such as FilterPlugin (test_registry.py:{line})"
    )


def test_an_entry_with_known_points_is_not_imported_for_them() -> None:
    def load() -> type[Plugin]:
        raise AssertionError("imported")

    assert Entry("X", "here", load, ("filter",)).points == ("filter",)


def test_the_points_of_a_plugin_stand_in_the_order_in_which_they_run() -> None:
    entry = in_tree_registry().get("DynamicResources")
    assert entry is not None
    assert points_of(entry.load()) == entry.points


def test_every_in_tree_plugin_has_the_points_and_methods_of_the_catalog() -> None:
    for entry in in_tree_registry():
        assert points_of(entry.load()) == entry.points
        assert missing_methods(entry.load()) == []
        assert entry.load().name == entry.name


def test_a_subclass_has_a_name_of_its_own() -> None:
    class First(FilterPlugin):
        name = "first"

    class Second(First):
        pass

    assert (First.name, Second.name) == ("first", "Second")


# Installed packages


class FromPackage(Filters):
    pass


class Distribution:
    name = "quiet-nodes"
    version = "1.2"


def entry_point(value: str, dist: object | None = None) -> metadata.EntryPoint:
    point = metadata.EntryPoint("any", value, registry_module.ENTRY_POINT_GROUP)
    vars(point).update(dist=dist)
    return point


def offer(monkeypatch: pytest.MonkeyPatch, *points: metadata.EntryPoint) -> None:
    def offered(group: str) -> tuple[metadata.EntryPoint, ...]:
        assert group == "moorage.plugins"
        return points

    monkeypatch.setattr(metadata, "entry_points", offered)


@pytest.mark.parametrize(
    ("dist", "source"), [(Distribution(), "quiet-nodes 1.2"), (None, f"{__name__}:FromPackage")]
)
def test_installed_packages_bring_plugins(
    monkeypatch: pytest.MonkeyPatch, dist: object | None, source: str
) -> None:
    monkeypatch.setitem(sys.modules, __name__, sys.modules.get(__name__) or _this_module())
    offer(monkeypatch, entry_point(f"{__name__}:FromPackage", dist))
    registry = Registry()
    registry.load_entry_points()
    entry = registry.get("FromPackage")
    assert entry is not None
    assert (entry.load(), entry.source) == (FromPackage, source)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (
            "mine_missing:Class",
            "pack 1: entry point any = mine_missing:Class cannot be loaded: ModuleNotFoundError",
        ),
        ("moorage:Nothing", "pack 1: entry point any = moorage:Nothing cannot be loaded: AttributeError"),
        ("moorage:Status", "pack 1: entry point any = moorage:Status is not a plugin class"),
        (
            "moorage:FilterPlugin",
            "pack 1: entry point any = moorage:FilterPlugin: class FilterPlugin lacks the method filter",
        ),
    ],
)
def test_a_package_whose_plugin_cannot_be_used_is_named(
    monkeypatch: pytest.MonkeyPatch, value: str, message: str
) -> None:
    dist = type("Pack", (), {"name": "pack", "version": "1"})()
    offer(monkeypatch, entry_point(value, dist))
    registry = Registry()
    registry.load_entry_points()
    assert list(registry) == []
    (broken,) = registry.broken
    assert broken.error.startswith(message)
    assert broken.names == (value.partition(":")[2], "any")


def test_a_plugin_that_is_given_goes_before_the_installed_one(monkeypatch: pytest.MonkeyPatch) -> None:
    offer(monkeypatch, entry_point("mine_installed:Quiet", None))
    write("mine_installed.py", ONE)
    write("quiet.py", ONE)
    monkeypatch.syspath_prepend(".")
    registry = Registry()
    registry.load_entry_points()
    assert registry.load("quiet.py") == ["Quiet"]
    assert [(entry.name, entry.source) for entry in registry] == [("Quiet", "quiet.py")]
    with pytest.raises(PluginLoadError, match=r"a plugin named Quiet already exists \(quiet.py\)"):
        registry.load("quiet.py")


def test_a_package_may_show_the_plugins_of_its_modules(monkeypatch: pytest.MonkeyPatch) -> None:
    write("mine_package/__init__.py", "from moorage import ScorePlugin\nfrom .inner import Quiet\n")
    write("mine_package/inner.py", ONE)
    assert Registry().load("mine_package") == ["Quiet"]


def test_permissions_must_be_permissions() -> None:
    wrong = type("Wrong", (Filters,), {"permissions": ["delete pods"]})
    with pytest.raises(PluginLoadError, match="class Wrong has `permissions` that are not all"):
        Registry().add_class(wrong, "here")


def _this_module() -> object:
    return type("Module", (), {"FromPackage": FromPackage})()


def test_find_plugins_does_not_register() -> None:
    write("plugin.py", TWO)
    assert [(found.name, source) for found, source in find_plugins("plugin.py")] == [
        ("Quiet", "plugin.py"),
        ("very-loud", "plugin.py"),
    ]


def test_an_exception_that_was_never_raised_has_no_place() -> None:
    assert described(ValueError("x")) == "ValueError: x"


def test_classes_are_registered_by_their_name() -> None:
    registry = Registry()
    entry = registry.add_class(plugin(Filters, "Mine"), "here")
    assert (entry.name, entry.source, list(registry)) == ("Mine", "here", [entry])
