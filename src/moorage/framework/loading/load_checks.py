"""What can be seen of a plugin class before it runs: methods that would never be called, or not as they are.

Every mistake is a line that names the method, the remedy and the place. In-tree plugins are not looked at.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from functools import cache
from pathlib import PurePath
from typing import Any, NamedTuple

from moorage.framework.extension_points import BASES, Plugin, forms_of, missing_methods, points_of
from moorage.framework.permissions import Permission
from moorage.framework.plugin_errors import author_of, definition

_CLOSE = 0.85
"""How alike a name must be to be taken for a slip of the pen."""

_ROLES = {"state": "cycle", "cycle_state": "cycle", "node_name": "node", "nodes": "node", "node_info": "node"}
"""Names of parameters that stand for the same."""

_IN_GO = {
    "events_to_register": "events",
    "less": "sort_key",
    "normalize_score": "normalize_scores",
}
"""Methods of Go plugins whose name here does not follow from the other."""


class Method(NamedTuple):
    """A method that plugins may write."""

    name: str
    base: type[Plugin]
    parameters: tuple[str, ...]
    may_wait: bool
    """Whether it may be `async def`."""

    @property
    def line(self) -> str:
        return f"def {self.name}({', '.join(('self', *self.parameters))})"

    def fits(self, function: object) -> bool:
        """Whether a function in a class can be called as this method is."""
        found = signature_of(function)
        return found is None or found.takes(len(self.parameters))

    def is_meant(self, function: object) -> bool:
        """Whether a function of that name is this method, and no helper that happens to be named so."""
        found = signature_of(function)
        if found is None or not found.takes(len(self.parameters)):
            return False
        pairs = zip(found.names, self.parameters, strict=False)
        return any(_role(name) == _role(wanted) for name, wanted in pairs)


def _role(name: str) -> str:
    return _ROLES.get(name, name)


def _bases() -> tuple[type[Plugin], ...]:
    return (Plugin, *BASES.values())


@cache
def methods() -> dict[str, Method]:
    """All methods that the base classes have, by name."""
    return {
        name: Method(
            name,
            base,
            tuple(inspect.signature(function).parameters)[1:],
            "Awaitable" in str(function.__annotations__.get("return")),
        )
        for base in _bases()
        for name, function in vars(base).items()
        if inspect.isfunction(function) and not name.startswith("_")
    }


def mistakes(plugin: type[Plugin]) -> list[str]:
    """All that is wrong with a class, a line each."""
    author = author_of(plugin)
    own = dict(_written(plugin, author))
    found = [*_attribute_mistakes(plugin), *_missing_methods(plugin, own)]
    if "__init__" in own:
        found += _call_mistakes(_CONSTRUCTOR, own["__init__"])
    for name, function in own.items():
        method = methods().get(name)
        if method is not None and issubclass(plugin, method.base):
            found += _call_mistakes(method, function)
        elif method is not None and method.is_meant(function):
            found.append(
                f"has the method {name}, but not the base class that has it called; "
                f"add the base moorage.{method.base.__name__}{definition(function)}"
            )
            found += _call_mistakes(method, function)
        elif method is None:
            found += _misspelled(plugin, name, function, own)
    return found


def lacking_base(looked_at: type[Any]) -> str:
    """Of a class that is no plugin: which base it seems to want; empty if it does not look like a plugin."""
    for name, function in _written(looked_at, author_of(looked_at)):
        method = methods().get(name)
        if method is not None and method.base is not Plugin and method.is_meant(function):
            return f"has the method {name}; add the base moorage.{method.base.__name__}{definition(function)}"
    return ""


def class_place(plugin: type[Any]) -> str:
    """` (plugin.py:6)`: where a class is defined, or nothing if that cannot be found out."""
    try:
        file, line = inspect.getfile(plugin), inspect.findsource(plugin)[1] + 1
    except (OSError, TypeError):
        return ""
    return f" ({PurePath(file).name}:{line})"


class Signature(NamedTuple):
    """How a function is called; in a class, the object itself comes first."""

    of_function: inspect.Signature
    has_self: bool

    @property
    def names(self) -> list[str]:
        """The parameters, without `self`."""
        parameters = self.of_function.parameters
        first = next(iter(parameters.values()), None)
        has_self = self.has_self and first is not None and first.kind is not first.VAR_POSITIONAL
        return list(parameters)[has_self:]

    def takes(self, count: int) -> bool:
        """Whether a call with so many arguments works."""
        try:
            self.of_function.bind(*range(count + self.has_self))
        except TypeError:
            return False
        return True


def signature_of(function: object, *, in_class: bool = True) -> Signature | None:
    """How a function is called, as a method of an object where it stands in a class; None if unknown."""
    has_self = in_class and inspect.isfunction(function)
    if isinstance(function, (classmethod, staticmethod)):
        has_self, function = isinstance(function, classmethod), function.__func__
    if not callable(function):
        return None
    try:
        # Who wraps a method may add to its parameters, so those of the wrapper count.
        return Signature(inspect.signature(function, follow_wrapped=False), has_self)
    except (TypeError, ValueError):
        return None


def why_not_at_once(function: object) -> str:
    """What makes a function unfit to answer at once; empty if it does."""
    function = getattr(function, "__func__", function)
    if inspect.iscoroutinefunction(function):
        return "is async"
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        return "has a yield"
    return ""


_CONSTRUCTOR = Method("__init__", Plugin, ("args", "handle"), False)


def _written(plugin: type[Any], author: frozenset[str]) -> Iterator[tuple[str, object]]:
    """The public methods that the author wrote, and the constructor; as they stand in the class."""
    seen: set[str] = set()
    for each in plugin.__mro__:
        is_own = each.__module__.partition(".")[0] in author and each is not object
        for name, value in vars(each).items():
            if name in seen or (name.startswith("_") and name != "__init__"):
                continue
            seen.add(name)
            if is_own and _is_method(value):
                yield name, value


def _is_method(value: object) -> bool:
    is_call = callable(value) or isinstance(value, (staticmethod, classmethod))
    return is_call and not isinstance(value, type)


def _attribute_mistakes(plugin: type[Plugin]) -> Iterator[str]:
    from msgspec import Struct

    for method in methods().values():
        if issubclass(plugin, method.base):
            value = inspect.getattr_static(plugin, method.name)
            if not callable(value) and not hasattr(value, "__get__"):
                yield f"has {method.name} = {value!r:.80}, which cannot be called{class_place(plugin)}"
    if not points_of(plugin) and not lacking_base(plugin):  # or else that is told
        yield f"has no extension point; add a base such as FilterPlugin{class_place(plugin)}"
    name: object = plugin.name
    if not isinstance(name, str) or not name:
        yield f"has the name {name!r}; use text{class_place(plugin)}"
    args_type: object = plugin.args_type
    if args_type is not None and not (isinstance(args_type, type) and issubclass(args_type, Struct)):
        yield f"has an `args_type` that is no msgspec.Struct{class_place(plugin)}"
    if not _are_permissions(plugin.permissions):
        yield f"has `permissions` that are not all moorage.Permission{class_place(plugin)}"


def _are_permissions(given: object) -> bool:
    return isinstance(given, Iterable) and all(isinstance(each, Permission) for each in given)


def _missing_methods(plugin: type[Plugin], own: dict[str, object]) -> Iterator[str]:
    for forms in missing_methods(plugin):
        meant = _meant(forms, own)
        if meant is not None:
            name, target = meant
            yield f"has the method {name}; did you mean {target}?{definition(own[name])}"
        else:
            yield (
                f"lacks the method {' or '.join(forms)}; "
                f"write it or drop the base class that calls for it{class_place(plugin)}"
            )


def _meant(forms: tuple[str, ...], own: dict[str, object]) -> tuple[str, str] | None:
    """Which of the methods written is one of these, misspelled."""
    for name in own:
        if name not in methods() and name != "__init__":
            found = get_close_matches(_in_python(name), forms, 1, _CLOSE)
            if found:
                return name, found[0]
    return None


def _misspelled(plugin: type[Plugin], name: str, function: object, own: dict[str, object]) -> Iterator[str]:
    """A method whose name is nearly that of one that would be called; helpers are left in peace."""
    if name == "__init__":
        return
    spelled = _in_python(name)
    is_spelled_otherwise = spelled != name and spelled in methods()
    found = [spelled] if spelled in methods() else get_close_matches(spelled, methods(), 1, _CLOSE)
    if not found:
        return
    method = methods()[found[0]]
    required = forms_of(method.name)
    if any(form in own for form in required or (method.name,)):
        return
    belongs = issubclass(plugin, method.base)
    if belongs and required:
        return  # told as the method that is missing
    if not (method.fits(function) or (belongs and is_spelled_otherwise)):
        return
    if not is_spelled_otherwise and (spelled.startswith(method.name) or method.name.startswith(spelled)):
        return  # `closed`, `scores`: a word of its own
    remedy = "" if belongs else f" It is called with the base class moorage.{method.base.__name__}."
    yield f"has the method {name}; did you mean {method.name}?{remedy}{definition(function)}"


def _in_python(name: str) -> str:
    """`PreFilter` and `preFilter` as Python spells it."""
    spelled = re.sub("(?<!^)(?<!_)([A-Z])", r"_\1", name).lower()
    return _IN_GO.get(spelled, spelled) if spelled != name or "_" in name else name


def _call_mistakes(method: Method, function: object) -> Iterator[str]:
    signature = signature_of(function)
    if signature is not None:
        names = signature.names
        called = ", ".join(method.parameters)
        shown = f"has {method.name}({', '.join(names)}), which is called with ({called})"
        if not signature.takes(len(method.parameters)):
            yield f"{shown}; write {method.line}{definition(function)}"
        elif _is_out_of_order(names, method.parameters):
            yield f"{shown}; change the order: {method.line}{definition(function)}"
    how = why_not_at_once(function)
    if how == "has a yield" and method.name != "events":
        yield f"has {method.name} with a yield, so that it answers nothing; use return{definition(function)}"
    elif how == "is async" and not method.may_wait:
        waiting = ", ".join(each.name for each in methods().values() if each.may_wait)
        yield (
            f"has async def {method.name}, which must answer at once; "
            f"only {waiting} may wait{definition(function)}"
        )


def _is_out_of_order(names: list[str], wanted: tuple[str, ...]) -> bool:
    """Whether parameters that are named as the arguments stand in another order; other names are free."""
    order = [_role(name) for name in wanted]
    places = [order.index(role) for role in map(_role, names[: len(wanted)]) if role in order]
    return places != sorted(places)
