"""What is public, read from the source: names, signatures, members and their docstrings.

A text below an attribute is its docstring. What says "not for plugins" in it is left out: it is public only
within Moorage.
"""

from __future__ import annotations

import ast
import importlib
import inspect
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from itertools import zip_longest
from pathlib import Path

SOURCE = Path(__file__).parent.parent / "src"
NOT_PUBLIC = "not for plugins"

_SHOWN_OPERATORS = {
    "__add__": "self + more",
    "__contains__": "item in self",
    "__getitem__": "self[name]",
    "__iter__": "for item in self",
    "__len__": "len(self)",
    "__sub__": "self - less",
}
_LONGEST = 100
"""A signature with more letters has a line for each parameter."""
_PROPERTIES = ("property", "cached_property", "computed_once")
_Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass
class Member:
    """A method, property or attribute of a class."""

    name: str
    text: str
    """How it is used: the signature of a method, the type of an attribute."""
    doc: str
    is_method: bool = False


@dataclass
class Entry:
    """A public name."""

    name: str
    module: str
    """Where users import it from; empty for what they are given and never import."""
    home: str
    """The module that defines it."""
    doc: str
    signature: str = ""
    bases: tuple[str, ...] = ()
    members: list[Member] = field(default_factory=list)
    is_class: bool = False

    def undocumented(self) -> list[str]:
        """What of it has no docstring."""
        own = [] if self.doc else [self.name]
        return own + [f"{self.name}.{member.name}" for member in self.members if not member.doc]


def public_entries(module: str) -> list[Entry]:
    """All public names of a module, in the order of the alphabet; `__version__` and the like are not told."""
    package = importlib.import_module(module)
    names = [name for name in package.__all__ if not name.startswith("__")]
    return [entry_of(_home(module, name), name, module) for name in sorted(names, key=str.lower)]


def entry_of(home: str, name: str, module: str = "") -> Entry:
    """The name as it is defined in the module `home`."""
    home, found, doc = _definition(home, name)
    if isinstance(found, ast.ClassDef):
        bases = tuple(ast.unparse(base).split("[")[0] for base in found.bases)
        entry = Entry(name, module, home, _docstring(found), bases=bases, is_class=True)
        entry.members = [member for member in _members(home, found) if NOT_PUBLIC not in member.doc]
        for member in entry.members:
            if member.name in _SHOWN_OPERATORS:
                member.text = member.text.replace("self", name.lower())
        entry.signature = _constructor(found)
        return entry
    if isinstance(found, _Function):
        return Entry(name, module, home, _docstring(found), signature=_signature(found))
    return Entry(name, module, home, doc, signature=f"{name} = {ast.unparse(found)}")


def classes_of(module: str) -> list[str]:
    """The public classes that a module defines, in its order."""
    return [n.name for n in _tree(module).body if isinstance(n, ast.ClassDef) and n.name[0] != "_"]


def _home(module: str, name: str) -> str:
    """The module that a public name is imported from."""
    for node in ast.walk(_tree(module)):
        if isinstance(node, ast.ImportFrom) and node.module and any(a.name == name for a in node.names):
            return node.module
    value = getattr(importlib.import_module(module), name)
    return str(getattr(value, "__module__", module))


@cache
def _tree(module: str) -> ast.Module:
    place = SOURCE / Path(*module.split("."))
    file = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
    return ast.parse(file.read_text())


def _definition(module: str, name: str) -> tuple[str, ast.ClassDef | _Function | ast.expr, str]:
    """The module that really defines a name, its definition, and the text below it."""
    for node, text in _with_texts(_tree(module).body):
        if isinstance(node, ast.ClassDef | _Function) and node.name == name and not _is_overload(node):
            return module, node, ""
        if isinstance(node, ast.Assign | ast.AnnAssign) and name in _targets(node) and node.value:
            return module, node.value, text
        if isinstance(node, ast.ImportFrom) and node.module and any(a.name == name for a in node.names):
            return _definition(node.module, name)
    raise LookupError(f"{module} does not define {name}")


def _is_overload(node: ast.ClassDef | _Function) -> bool:
    return "overload" in {ast.unparse(decorator).rpartition(".")[2] for decorator in node.decorator_list}


def _members(module: str, kind: ast.ClassDef) -> Iterator[Member]:
    """What a class has of its own; what it only repeats from a base of Moorage's is told there."""
    inherited = {member.name for base in _known_bases(module, kind) for member in _all_members(*base)}
    seen: set[str] = set()
    for member in (*_in_body(kind), *_set_by_constructor(kind)):
        if member.name in seen or (member.name in inherited and not member.doc):
            continue
        seen.add(member.name)
        yield member


def _all_members(module: str, kind: ast.ClassDef) -> Iterator[Member]:
    yield from _members(module, kind)
    for base in _known_bases(module, kind):
        yield from _all_members(*base)


def _known_bases(module: str, kind: ast.ClassDef) -> Iterator[tuple[str, ast.ClassDef]]:
    for base in kind.bases:
        try:
            home, found, _ = _definition(module, ast.unparse(base).split("[")[0])
        except (LookupError, FileNotFoundError):
            continue  # of another package
        if isinstance(found, ast.ClassDef):
            yield home, found


def _in_body(kind: ast.ClassDef) -> Iterator[Member]:
    for node, text in _with_texts(kind.body):
        if isinstance(node, _Function):
            yield from _method(node)
        elif isinstance(node, ast.AnnAssign):
            type_text = ast.unparse(node.annotation).removeprefix("ClassVar[")
            type_text = type_text if type_text == ast.unparse(node.annotation) else type_text[:-1]
            yield from (Member(name, type_text, text) for name in _targets(node))
        elif isinstance(node, ast.Assign):
            yield from (Member(name, ast.unparse(node.value), text) for name in _targets(node))


def _method(node: _Function) -> Iterator[Member]:
    decorators = {ast.unparse(decorator) for decorator in node.decorator_list}
    doc = _docstring(node)
    if _is_overload(node) or (node.name.startswith("_") and node.name not in _SHOWN_OPERATORS):
        return
    if decorators & set(_PROPERTIES):
        yield Member(node.name, ast.unparse(node.returns) if node.returns else "", doc)
    elif node.name in _SHOWN_OPERATORS and doc:
        yield Member(node.name, _SHOWN_OPERATORS[node.name], doc, is_method=True)
    elif node.name not in _SHOWN_OPERATORS and not any(
        "." in each or each == "overload" for each in decorators
    ):
        yield Member(node.name, _signature(node, is_method="staticmethod" not in decorators), doc, True)


def _set_by_constructor(kind: ast.ClassDef) -> Iterator[Member]:
    for function in kind.body:
        if not isinstance(function, _Function) or function.name not in ("__init__", "__new__"):
            continue
        types = {each.arg: each.annotation for each in (*function.args.args, *function.args.kwonlyargs)}
        for node, text in _with_texts(function.body):
            if not isinstance(node, ast.Assign | ast.AnnAssign):
                continue
            annotation = node.annotation if isinstance(node, ast.AnnAssign) else None
            if annotation is None and isinstance(node.value, ast.Name):
                annotation = types.get(node.value.id)
            for name in _targets(node, of="self"):
                yield Member(name, ast.unparse(annotation) if annotation else "", text)


def _constructor(kind: ast.ClassDef) -> str:
    """How one is made, if that is for everybody."""
    for node in kind.body:
        if isinstance(node, _Function) and node.name == "__init__":
            return (
                "" if NOT_PUBLIC in _docstring(node) else _signature(node, kind.name).removesuffix(" -> None")
            )
    return ""


def _signature(node: _Function, name: str = "", *, is_method: bool = False) -> str:
    args = node.args
    positional = [*args.posonlyargs, *args.args]
    defaults = [None] * (len(positional) - len(args.defaults)) + [*args.defaults]
    parts = [_parameter(each, default) for each, default in zip(positional, defaults, strict=True)]
    if is_method or node.name == "__init__":
        parts = parts[1:]
    if args.vararg:
        parts.append("*" + _parameter(args.vararg))
    elif args.kwonlyargs:
        parts.append("*")
    parts += [_parameter(*pair) for pair in zip(args.kwonlyargs, args.kw_defaults, strict=True)]
    if args.kwarg:
        parts.append("**" + _parameter(args.kwarg))
    answer = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    awaited = "await " if isinstance(node, ast.AsyncFunctionDef) else ""
    call = awaited + (name or node.name)
    line = f"{call}({', '.join(parts)}){answer}"
    if len(line) <= _LONGEST:
        return line
    return "\n".join([f"{call}(", *(f"    {part}," for part in parts), f"){answer}"])


def _parameter(arg: ast.arg, default: ast.expr | None = None) -> str:
    kind = f": {ast.unparse(arg.annotation)}" if arg.annotation else ""
    if default is None:
        return arg.arg + kind
    return f"{arg.arg}{kind} = {ast.unparse(default)}" if kind else f"{arg.arg}={ast.unparse(default)}"


def _with_texts(body: list[ast.stmt]) -> Iterator[tuple[ast.stmt, str]]:
    """Each statement with the text that stands alone below it."""
    for node, after in zip_longest(body, body[1:]):
        text = ""
        if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
            text = after.value.value if isinstance(after.value.value, str) else ""
        yield node, inspect.cleandoc(text)


def _targets(node: ast.Assign | ast.AnnAssign, of: str = "") -> list[str]:
    """The public names, or public attributes of `of`, that an assignment sets."""
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    each = [inner for one in targets for inner in (one.elts if isinstance(one, ast.Tuple) else [one])]
    if of:
        names = [t.attr for t in each if isinstance(t, ast.Attribute) and ast.unparse(t.value) == of]
    else:
        names = [t.id for t in each if isinstance(t, ast.Name)]
    return [name for name in names if not name.startswith("_")]


def _docstring(node: ast.ClassDef | _Function) -> str:
    return ast.get_docstring(node) or ""
