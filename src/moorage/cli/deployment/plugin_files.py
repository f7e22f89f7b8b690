"""Plugins that are files: what has to be carried into the cluster, and whether Moorage's image is enough."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable, Iterator
from importlib import metadata
from pathlib import Path

from moorage.cli.setup import BadInput
from moorage.framework.loading.plugin_folders import name_of, package_at

MOUNT = "/etc/moorage/plugins"
_KEY = re.compile(r"[-._a-zA-Z0-9]+")
_REQUIREMENT = re.compile(r"[-._a-zA-Z0-9]+")


class PluginFiles:
    """The files behind `--plugin` values, by name, and the flags that name them in the cluster.

    A file brings along those beside it that it imports. What Moorage's own image does not have needs an
    `image` of the user's own.
    """

    def __init__(self, plugins: Iterable[str], image: str | None) -> None:
        self.texts: dict[str, str] = {}
        self.flags: list[str] = []
        self._paths: dict[str, Path] = {}
        self._image = image
        for spec in plugins:
            place, _, attribute = spec.partition(":")
            if Path(place).is_file():
                self._add(Path(place))
                suffix = f":{attribute}" if attribute else ""
                self.flags.append(f"--plugin={MOUNT}/{Path(place).name}{suffix}")
            elif image is None:
                raise BadInput(
                    f"{spec}: is not a single file, so an image must hold it: "
                    "build one with the package in it and give --image"
                )
            else:
                package = package_at(place)
                module = place if package is None else name_of(package)
                self.flags.append(f"--plugin={module}{f':{attribute}' if attribute else ''}")

    def _add(self, path: Path) -> None:
        name, real = path.name, path.resolve()
        known = self._paths.get(name)
        if known == real:
            return
        if known is not None:
            raise BadInput(f"{path}: {known} has the same name; rename one of them")
        if not _KEY.fullmatch(name):
            raise BadInput(f"{path}: a ConfigMap cannot hold a file of this name; use letters, digits, - _ .")
        self._paths[name] = real
        try:
            self.texts[name] = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise BadInput(f"{path}: cannot be read as UTF-8 text: {error}") from None
        for module in _imported(self.texts[name]):
            self._add_imported(path, module)

    def _add_imported(self, path: Path, module: str) -> None:
        """Adds a module that lies beside the file; refuses what will not be there."""
        first = module.lstrip(".").partition(".")[0]
        beside = path.parent / f"{first}.py"
        is_relative = module.startswith(".")
        if beside.is_file() and (is_relative or first not in sys.stdlib_module_names):
            self._add(beside)
        elif self._image is None and (is_relative or first not in in_stock_image()):
            raise BadInput(
                f"{path}: imports {module}, which Moorage's own image does not have: "
                "build one with it and give --image"
            )


def _imported(text: str) -> Iterator[str]:
    """The modules a file imports, those of its own folder with a dot in front."""
    for node in _executed(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            dots = "." * node.level
            if node.module:
                yield f"{dots}{node.module}"
            else:
                yield from (f"{dots}{alias.name}" for alias in node.names)


def _executed(node: ast.AST) -> Iterator[ast.AST]:
    """A tree without what only type checkers look at."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and ast.unparse(child.test).endswith("TYPE_CHECKING"):
            continue
        yield child
        yield from _executed(child)


def in_stock_image() -> frozenset[str]:
    """The modules that come with Python, with Moorage and with what Moorage requires."""
    wanted, todo = set[str](), ["moorage"]
    while todo:
        name = _canonical(todo.pop())
        if name in wanted:
            continue
        wanted.add(name)
        try:
            required = metadata.requires(name) or []
        except metadata.PackageNotFoundError:
            continue
        todo += [
            found[0] for each in required if "extra ==" not in each and (found := _REQUIREMENT.match(each))
        ]
    modules = {
        module
        for module, owners in metadata.packages_distributions().items()
        if wanted & {_canonical(owner) for owner in owners}
    }
    # An editable installation has no list of its modules.
    return frozenset({*modules, "moorage"} | sys.stdlib_module_names)


def _canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
