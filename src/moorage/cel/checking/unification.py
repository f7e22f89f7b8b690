"""Whether a value of one type can be used for another, and what type parameters then stand for.

What calls itself here does so in plain loops: calls through generators would need the C stack.
"""

from __future__ import annotations

from collections.abc import Sequence

from moorage.cel import types
from moorage.cel.types import Type, TypeParameter

_CONTAINERS = frozenset({"list", "map", "type", "optional_type"})
_NOT_NULLABLE = frozenset({"bool", "bytes", "double", "int", "string", "uint", "list", "map", "type"})


def is_dynamic(type_: Type) -> bool:
    return type_ == types.DYN or type_ == types.ANY


def parameters_in(type_: Type) -> set[Type]:
    """All type parameters that occur in it."""
    found: set[Type] = set()
    waiting = [type_]
    while waiting:
        inner = waiting.pop()
        if isinstance(inner, TypeParameter):
            found.add(inner)
        waiting.extend(inner.parameters)
    return found


def parameters_not_seen(declared: Type, argument: Type) -> set[Type]:
    """Those within a declared type of which a dynamic argument says nothing."""
    if isinstance(declared, TypeParameter):
        return set()
    if is_dynamic(argument):
        return parameters_in(declared)
    found: set[Type] = set()
    for inner, given in zip(declared.parameters, argument.parameters, strict=False):
        found |= parameters_not_seen(inner, given)
    return found


def is_dynamic_or_error(type_: Type) -> bool:
    return is_dynamic(type_) or type_ == types.ERROR


def type_text(type_: Type) -> str:
    """A type as messages show it."""
    if type_ in _SHORT:
        return _SHORT[type_]
    if type_.parameters:
        return f"{type_.name}({', '.join([type_text(parameter) for parameter in type_.parameters])})"
    return type_.name


_SHORT = {
    types.DURATION: "duration",
    types.TIMESTAMP: "timestamp",
    types.ERROR: "!error!",
    types.NULL: "null",
}


def is_equivalent(left: Type, right: Type) -> bool:
    """Equal, whatever the names of type parameters."""
    if isinstance(left, TypeParameter) or isinstance(right, TypeParameter):
        return isinstance(left, TypeParameter) and isinstance(right, TypeParameter)
    if left.name != right.name or len(left.parameters) != len(right.parameters):
        return False
    for one, other in zip(left.parameters, right.parameters, strict=True):
        if not is_equivalent(one, other):
            return False
    return True


def _is_less_specific(left: Type, right: Type) -> bool:
    """Equal, or matching by being dynamic."""
    if is_dynamic(left) or isinstance(left, TypeParameter):
        return True
    if is_dynamic(right) or isinstance(right, TypeParameter) or left.name != right.name:
        return False
    if left.name == "type":
        return True
    if len(left.parameters) != len(right.parameters):
        return False
    for one, other in zip(left.parameters, right.parameters, strict=True):
        if not _is_less_specific(one, other):
            return False
    return True


def most_general(left: Type, right: Type) -> Type:
    """Of two types that are known to unify."""
    return left if _is_less_specific(left, right) else right


class Substitutions:
    """What type parameters stand for, as far as it is known."""

    def __init__(self) -> None:
        self._bound: dict[str, Type] = {}
        self._undo: list[tuple[str, Type | None]] = []
        self._fresh = 0

    def fresh(self) -> TypeParameter:
        self._fresh += 1
        return TypeParameter(f"_var{self._fresh - 1}")

    def instantiate(self, parameters: Sequence[Type]) -> list[Type]:
        """The same types with type parameters that nobody else has."""
        renamed: dict[str, Type] = {}
        return [self._renamed(parameter, renamed) for parameter in parameters]

    def _renamed(self, type_: Type, renamed: dict[str, Type]) -> Type:
        if isinstance(type_, TypeParameter):
            if type_.name not in renamed:
                renamed[type_.name] = self.fresh()
            return renamed[type_.name]
        if not type_.parameters:
            return type_
        inner = []
        for parameter in type_.parameters:
            inner.append(self._renamed(parameter, renamed))  # noqa: PERF401
        return Type(type_.name, tuple(inner))

    def assign(self, to: Sequence[Type], values: Sequence[Type]) -> bool:
        """Whether all fit; if so, what parameters stand for is kept."""
        mark = len(self._undo)
        if self._all_assignable(to, values):
            return True
        while len(self._undo) > mark:
            name, before = self._undo.pop()
            if before is None:
                del self._bound[name]
            else:
                self._bound[name] = before
        return False

    def resolve(self, type_: Type, *, free_to_dynamic: bool = False) -> Type:
        """With everything known put in; what is still free stays so, or becomes `dyn`."""
        if isinstance(type_, TypeParameter):
            if type_.name in self._bound:
                return self.resolve(self._bound[type_.name], free_to_dynamic=free_to_dynamic)
            return types.DYN if free_to_dynamic else type_
        if not type_.parameters:
            return type_
        inner = []
        for parameter in type_.parameters:
            inner.append(self.resolve(parameter, free_to_dynamic=free_to_dynamic))  # noqa: PERF401
        return Type(type_.name, tuple(inner))

    def _bind(self, parameter: Type, type_: Type) -> None:
        self._undo.append((parameter.name, self._bound.get(parameter.name)))
        self._bound[parameter.name] = type_

    def _all_assignable(self, to: Sequence[Type], values: Sequence[Type]) -> bool:
        if len(to) != len(values):
            return False
        for left, right in zip(to, values, strict=True):  # noqa: SIM110
            if not self._is_assignable(left, right):
                return False
        return True

    def _is_assignable(self, left: Type, right: Type) -> bool:
        if isinstance(right, TypeParameter):
            fits, was_bound = self._can_stand_for(left, right)
            if fits or was_bound:
                return fits
        if isinstance(left, TypeParameter):
            return self._can_stand_for(right, left)[0]
        if is_dynamic_or_error(left) or is_dynamic_or_error(right):
            return True
        if left == types.NULL or right == types.NULL:
            other = right if left == types.NULL else left
            return other.name not in _NOT_NULLABLE
        if left.name != right.name:
            return False
        return left.name == "type" or self._all_assignable(left.parameters, right.parameters)

    def _can_stand_for(self, type_: Type, parameter: Type) -> tuple[bool, bool]:
        """Whether the parameter can stand for the type, and whether it already stood for one."""
        if type_ == parameter:
            return True, True
        if (bound := self._bound.get(parameter.name)) is not None:
            if type_ == bound:
                return True, True
            if self._is_assignable(type_, bound):
                general = most_general(type_, bound)
                if self._is_free_of(parameter, general):
                    self._bind(parameter, general)
                return True, True
            return False, True
        if self._is_free_of(parameter, type_):
            self._bind(parameter, type_)
            return True, False
        return False, False

    def _is_free_of(self, parameter: Type, type_: Type) -> bool:
        """A type that contains itself is none."""
        if type_ == parameter:
            return False
        if isinstance(type_, TypeParameter):
            bound = self._bound.get(type_.name)
            return bound is None or self._is_free_of(parameter, bound)
        for inner in type_.parameters:  # noqa: SIM110
            if not self._is_free_of(parameter, inner):
                return False
        return True
