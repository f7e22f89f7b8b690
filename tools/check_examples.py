"""Checks that examples, and the Python in the documents, use nothing of Moorage but what is public.

    python -m tools.check_examples

Examples are there to be copied, so what they import has to stay. They may import the public names of
`moorage` and `moorage.testing`, the standard library, numpy, msgspec, pytest, their own modules, and what
their README names.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import moorage
import moorage.testing

ROOT = Path(__file__).parent.parent

PUBLIC = {"moorage": frozenset(moorage.__all__), "moorage.testing": frozenset(moorage.testing.__all__)}
ALWAYS_THERE = frozenset((*sys.stdlib_module_names, "moorage", "msgspec", "numpy", "pytest"))
INSIDE_OF_HANDLE = frozenset(("services", "state", "profile"))
OF_ONESELF = frozenset(("self", "cls"))
FOR_INSIDERS = frozenset(("docs/inside.md",))

_PYTHON_BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def problems_in(
    source: str, is_allowed: Callable[[str], bool] = lambda package: True
) -> Iterator[tuple[int, str]]:
    """Line and text of everything that is not public; `is_allowed` says which packages may be imported."""
    for node in ast.walk(ast.parse(source)):
        for text in _problems(node, is_allowed):
            yield node.lineno, text  # type: ignore[attr-defined]  # all that is told of has a place


def _problems(node: ast.AST, is_allowed: Callable[[str], bool]) -> Iterator[str]:
    match node:
        case ast.Import(names=names):
            for each in names:
                yield from _module_problems(each.name, is_allowed)
        case ast.ImportFrom(module=str(module), names=names, level=0):
            if module in PUBLIC:
                for each in names:
                    if each.name not in PUBLIC[module] and f"{module}.{each.name}" not in PUBLIC:
                        yield f"{each.name} is not a public name of {module}"
            else:
                yield from _module_problems(module, is_allowed)
        case ast.Attribute(value=ast.Name(id=owner), attr=name) if _is_private(name):
            if owner not in OF_ONESELF:
                yield f"{owner}.{name} is private"
        case ast.Attribute(value=value, attr=name) if _is_private(name) and not _is_super(value):
            yield f"{name} is private"
        case ast.Attribute(value=ast.Name(id="handle") | ast.Attribute(attr="handle"), attr=name):
            if name in INSIDE_OF_HANDLE:
                yield f"handle.{name} is private"


def _module_problems(module: str, is_allowed: Callable[[str], bool]) -> Iterator[str]:
    package = module.partition(".")[0]
    if package == "moorage":
        if module not in PUBLIC:
            yield f"{module} is private; import from {' or '.join(PUBLIC)}"
    elif not is_allowed(package):
        yield f"{package} is none of what every example may use; its README has to name it"


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.endswith("__")


def _is_super(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "super"


def problems_in_example(folder: Path) -> Iterator[str]:
    told = (folder / "README.md").read_text().lower()
    own = {"examples", *(file.stem for file in folder.glob("*.py"))}

    def is_allowed(package: str) -> bool:
        return package in ALWAYS_THERE or package in own or package.lower() in told

    for file in sorted(folder.rglob("*.py")):
        for line, text in problems_in(file.read_text(), is_allowed):
            yield f"{file.relative_to(ROOT)}:{line}: {text}"


def problems_in_document(document: Path) -> Iterator[str]:
    text = document.read_text()
    for block in _PYTHON_BLOCK.finditer(text):
        above = text.count("\n", 0, block.start(1))
        for line, problem in problems_in(block[1]):
            yield f"{document.relative_to(ROOT)}:{above + line}: {problem}"


def problems() -> Iterator[str]:
    for folder in sorted(each for each in (ROOT / "examples").iterdir() if (each / "README.md").exists()):
        yield from problems_in_example(folder)
    for document in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        if str(document.relative_to(ROOT)) not in FOR_INSIDERS:
            yield from problems_in_document(document)


if __name__ == "__main__":
    found = list(problems())
    sys.stdout.writelines(f"{each}\n" for each in found)
    sys.exit(bool(found))
