"""One name in the spellings that a project needs."""

from __future__ import annotations

import keyword
import re
from typing import NamedTuple

from moorage.cli.setup import BadInput
from moorage.framework.extension_points import BASES

_ALLOWED = re.compile("[A-Za-z][A-Za-z0-9]*([-_][A-Za-z0-9]+)*")
_WORD = re.compile("[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z0-9]+|[A-Z]+[0-9]*|[0-9]+")
_MOST_LETTERS = 30
_NEEDED = ("mypy", "pip", "pytest", "ruff", "setuptools")


class Names(NamedTuple):
    project: str
    """`quiet-nodes`: the folder, the distribution and the scheduler."""
    package: str
    """`quiet_nodes`"""
    plugin: str
    """`QuietNodes`: the class, and the name in configurations."""

    @property
    def args(self) -> str:
        return f"{self.plugin}Args"

    @property
    def rule(self) -> str:
        """The kind of the custom resource."""
        return f"{self.plugin}Rule"

    @property
    def rules(self) -> str:
        """Its plural in URLs."""
        return f"{self.rule.lower()}s"

    @property
    def domain(self) -> str:
        """What labels and annotations begin with, and the group of the custom resource."""
        return f"{self.project}.example.com"


def read_name(text: str) -> Names:
    """Takes `quiet-nodes`, `quiet_nodes` and `QuietNodes`; refuses what cannot be all three."""
    if not _ALLOWED.fullmatch(text) or len(text) > _MOST_LETTERS:
        raise BadInput(
            f"{text!r} cannot be a name; use at most {_MOST_LETTERS} letters and digits, a letter first, "
            "such as quiet-nodes or QuietNodes"
        )
    words = [word.lower() for part in re.split("[-_]", text) for word in _WORD.findall(part)]
    names = Names("-".join(words), "_".join(words), "".join(word.capitalize() for word in words))
    taken = _taken(names)
    if taken:
        raise BadInput(f"{text!r} cannot be a name: {taken}; choose another")
    return names


def _taken(names: Names) -> str:
    """What stands in the way of a name."""
    import moorage
    import moorage.testing
    from moorage.cli.deployment.plugin_files import in_stock_image
    from moorage.plugins.catalog import in_tree_registry

    if keyword.iskeyword(names.package) or names.package in ("test", "tests"):
        return f"a package cannot be called {names.package}"
    if keyword.iskeyword(names.plugin):
        return f"a class cannot be called {names.plugin}"
    if names.package in _NEEDED:
        return f"the project needs the module {names.package}"
    if names.package in in_stock_image():
        return f"there is a module {names.package} already"
    if names.plugin in in_tree_registry():
        return f"there is a plugin {names.plugin} already"
    for module in (moorage, moorage.testing):
        if names.plugin in module.__all__:
            return f"{module.__name__}.{names.plugin} is something else"
    return ""


def read_points(text: str) -> list[str]:
    """The extension points in `filter,score`, in the order in which they run; `all` are all of them."""
    if text.strip().lower() == "all":
        return list(BASES)
    known = {key.lower(): key for key in BASES}
    wanted = set()
    for part in text.split(","):
        key = re.sub("[-_ ]", "", part).lower()
        if key not in known:
            raise BadInput(f"--points: {part.strip()!r} is no extension point; known are {', '.join(BASES)}")
        wanted.add(known[key])
    return [key for key in BASES if key in wanted]
