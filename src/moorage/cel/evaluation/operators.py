"""What the operators do with values whose types are only known now."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import copysign, isnan
from typing import Any

from moorage.cel import types
from moorage.cel.types import Type
from moorage.cel.values import (
    MAX_INT,
    MAX_UINT,
    MIN_INT,
    MISSING,
    AccumulatedList,
    DeclaredList,
    DeclaredMap,
    Duration,
    EvaluationError,
    Failure,
    Map,
    Optional,
    StringMap,
    Timestamp,
    Uint,
    identity,
)

MIN_SECONDS, MAX_SECONDS = -62135596800, 253402300799
"""Of timestamps: the years 1 to 9999."""
SECOND = 1_000_000_000

_TYPES: dict[type, Type] = {
    bool: types.BOOL,
    int: types.INT,
    Uint: types.UINT,
    float: types.DOUBLE,
    str: types.STRING,
    bytes: types.BYTES,
    type(None): types.NULL,
    tuple: types.list_of(types.DYN),
    list: types.list_of(types.DYN),
    AccumulatedList: types.list_of(types.DYN),
    dict: types.map_of(types.DYN, types.DYN),
    StringMap: types.map_of(types.DYN, types.DYN),
    Map: types.map_of(types.DYN, types.DYN),
    Timestamp: types.TIMESTAMP,
    Duration: types.DURATION,
    Optional: types.optional_of(types.DYN),
    Type: types.type_of(types.DYN),
}


def type_of_value(value: Any) -> Type:
    """What a value is now; of lists and maps without what is in them."""
    if (found := _TYPES.get(value.__class__)) is not None:
        return found
    if isinstance(value, DeclaredList):
        return types.list_of(types.DYN)
    if isinstance(value, Mapping):
        return types.map_of(types.DYN, types.DYN)
    if isinstance(value, Type):
        return types.type_of(types.DYN)
    declared = value.CEL_TYPE
    assert isinstance(declared, Type)
    return declared


def no_such_overload() -> EvaluationError:
    return EvaluationError("no such overload")


_COMPARED_AS_THEY_ARE = frozenset({str, int, Uint, float, bool, bytes, Timestamp, Duration})


def equals(left: Any, right: Any) -> bool:
    """Any two values can be compared; only the opaque ones do not take others."""
    kind = left.__class__
    if kind is right.__class__ and kind in _COMPARED_AS_THEY_ARE:
        return bool(left == right)
    if left is None or right is None:
        return left is right
    if kind in _NUMBERS:
        return (
            right.__class__ in _NUMBERS
            and not _is_nan(left)
            and not _is_nan(right)
            and _order(left, right) == 0
        )
    if kind in _COMPARED_AS_THEY_ARE:
        return False
    if isinstance(left, (DeclaredList, DeclaredMap)):
        return left.equals(right)
    if isinstance(left, (tuple, list)):
        return (
            isinstance(right, (tuple, list))
            and len(left) == len(right)
            and not any(map(_differ, left, right))
        )
    if isinstance(left, Mapping):
        return isinstance(right, Mapping) and len(left) == len(right) and _same_entries(left, right)
    if kind is Optional:
        if right.__class__ is not Optional or left.has_value != right.has_value:
            return False
        return not left.has_value or equals(left.value, right.value)
    if isinstance(left, Type):
        return isinstance(right, Type) and left.name == right.name
    if kind is Failure:
        raise EvaluationError(left.message)
    if hasattr(left, "equals"):
        return bool(left.equals(right))
    if kind is not right.__class__:
        raise no_such_overload()
    return bool(left == right)


def _differ(left: Any, right: Any) -> bool:
    """Values that cannot be compared do not make their containers differ."""
    try:
        return not equals(left, right)
    except EvaluationError:
        return False


def _same_entries(left: Mapping[Any, Any], right: Mapping[Any, Any]) -> bool:
    for key, value in left.items():
        other = find(right, key)
        if other is MISSING or _differ(value, other):
            return False
    return True


_NUMBERS = frozenset({int, Uint, float})


def _is_nan(value: Any) -> bool:
    return value.__class__ is float and isnan(value)


def compare(left: Any, right: Any) -> int:
    """-1, 0 or 1."""
    kind, other = left.__class__, right.__class__
    if kind in _NUMBERS and other in _NUMBERS:
        if _is_nan(left) or _is_nan(right):
            raise EvaluationError("NaN values cannot be ordered")
        return _order(left, right)
    if kind is other and kind in _COMPARED_AS_THEY_ARE:
        return int(left > right) - int(left < right)
    raise no_such_overload()


def _order(left: Any, right: Any) -> int:
    """Of two numbers; whole ones that meet a double are rounded as doubles are."""
    if left.__class__ is float:
        if right.__class__ is not float:
            right = _rounded(left, right)
    elif right.__class__ is float:
        left = _rounded(right, left)
    return int(left > right) - int(left < right)


def _rounded(double: float, whole: int) -> float:
    lowest, highest = (0.0, 2.0**64) if whole.__class__ is Uint else (-(2.0**63), 2.0**63)
    if double < lowest or double > highest:
        return whole  # whatever it is, it is on the other side
    return float(whole)


def find(mapping: Any, key: Any) -> Any:
    """What indexing finds in a map, or MISSING."""
    if mapping.__class__ is Map or isinstance(mapping, DeclaredMap):
        return mapping.find(key)
    if key.__class__ is not str:
        if mapping.__class__ is StringMap and mapping:
            identity(key)  # the original wants to compute one, which not all values have
        default = getattr(mapping, "__missing__", None)
        return MISSING if default is None else default(key)
    try:
        return mapping[key]
    except KeyError:
        return MISSING


def is_in(element: Any, container: Any) -> bool:
    if isinstance(container, DeclaredList):
        return container.contains(element)
    if isinstance(container, DeclaredMap):
        found = container.find(element)
        if isinstance(found, Failure):
            raise EvaluationError(found.message)
        return found is not MISSING
    if isinstance(container, (tuple, list)):
        for candidate in container:
            try:
                if equals(element, candidate):
                    return True
            except EvaluationError:
                continue
        return False
    if container.__class__ is Map:
        return element in container
    if isinstance(container, Mapping):
        if element.__class__ is str:
            return element in container
        if container.__class__ is StringMap and container:
            identity(element)
        return False
    raise no_such_overload()


def list_index(index: Any) -> int:
    """A number as the index of a list."""
    kind = index.__class__
    if kind is int:
        return int(index)
    if (kind is float and index.is_integer() and MIN_INT < index < MAX_INT) or (
        kind is Uint and index <= MAX_INT
    ):
        return int(index)
    if kind is float or kind is Uint:
        raise EvaluationError(f"unsupported index value {index} in list")
    raise EvaluationError(f"unsupported index type '{type_of_value(index).name}' in list")


def size(value: Any) -> int:
    if isinstance(value, (str, bytes, tuple, list, Mapping)):
        return len(value)
    raise no_such_overload()


def checked_int(number: int) -> int:
    if MIN_INT <= number <= MAX_INT:
        return number
    raise EvaluationError("integer overflow")


def checked_uint(number: int) -> Uint:
    if 0 <= number <= MAX_UINT:
        return Uint(number)
    raise EvaluationError("unsigned integer overflow")


def shifted(time: Timestamp, nanos: int) -> Timestamp:
    moved = time.nanos + nanos
    if MIN_SECONDS <= moved // SECOND <= MAX_SECONDS:
        return Timestamp(moved, time.offset)
    raise EvaluationError("timestamp overflow")


def add(left: Any, right: Any) -> Any:
    kind, other = left.__class__, right.__class__
    if kind is other:
        if kind is int:
            return checked_int(left + right)
        if kind is str or kind is float or kind is bytes:
            return left + right
        if kind is Uint:
            return checked_uint(left + right)
        if kind is Duration:
            return Duration(checked_int(left.nanos + right.nanos))
    if isinstance(left, (tuple, list)) and isinstance(right, (tuple, list)):
        return add_lists(left, right)
    if kind is Timestamp and other is Duration:
        return shifted(left, right.nanos)
    if kind is Duration and other is Timestamp:
        return shifted(right, left.nanos)
    raise no_such_overload()


def add_lists(left: Any, right: Any) -> Any:
    if left.__class__ is AccumulatedList:
        left.extend(right)
        return left
    if isinstance(left, DeclaredList):
        return left.plus(right)
    return (*left, *right)


def subtract(left: Any, right: Any) -> Any:
    kind, other = left.__class__, right.__class__
    if kind is other:
        if kind is int:
            return checked_int(left - right)
        if kind is float:
            return left - right
        if kind is Uint:
            return checked_uint(int(left) - right)
        if kind is Duration or kind is Timestamp:
            return Duration(checked_int(left.nanos - right.nanos))
    if kind is Timestamp and other is Duration:
        return shifted(left, checked_int(-right.nanos))
    raise no_such_overload()


def multiply(left: Any, right: Any) -> Any:
    kind = left.__class__
    if kind is right.__class__:
        if kind is int:
            return checked_int(left * right)
        if kind is float:
            return left * right
        if kind is Uint:
            return checked_uint(int(left) * right)
    raise no_such_overload()


def divide(left: Any, right: Any) -> Any:
    kind = left.__class__
    if kind is right.__class__:
        if kind is float:
            return _quotient(left, right)
        if kind is int or kind is Uint:
            if not right:
                raise EvaluationError("division by zero")
            quotient = abs(left) // abs(right)
            if kind is Uint:
                return Uint(quotient)
            return checked_int(quotient if (left < 0) == (right < 0) else -quotient)
    raise no_such_overload()


def _quotient(left: float, right: float) -> float:
    if right:
        return left / right
    if isnan(left) or isnan(right) or not left:
        return float("nan")
    return float("inf") if (left > 0) == (copysign(1.0, right) > 0) else float("-inf")


def modulo(left: Any, right: Any) -> Any:
    kind = left.__class__
    if kind is right.__class__ and (kind is int or kind is Uint):
        if not right:
            raise EvaluationError("modulus by zero")
        if kind is Uint:
            return Uint(left % right)
        if left == MIN_INT and right == -1:
            raise EvaluationError("integer overflow")
        rest = abs(left) % abs(right)
        return -rest if left < 0 else rest
    raise no_such_overload()


def negate(value: Any) -> Any:
    kind = value.__class__
    if kind is int:
        return checked_int(-value)
    if kind is float:
        return -value
    if kind is Duration:
        return Duration(checked_int(-value.nanos))
    raise no_such_overload()


def negation(value: Any) -> bool:
    if value is True or value is False:
        return not value
    raise no_such_overload()


def is_less(left: Any, right: Any) -> bool:
    return compare(left, right) < 0


def is_less_or_equal(left: Any, right: Any) -> bool:
    return compare(left, right) <= 0


def is_greater(left: Any, right: Any) -> bool:
    return compare(left, right) > 0


def is_greater_or_equal(left: Any, right: Any) -> bool:
    return compare(left, right) >= 0


BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "_+_": add,
    "_-_": subtract,
    "_*_": multiply,
    "_/_": divide,
    "_%_": modulo,
    "_<_": is_less,
    "_<=_": is_less_or_equal,
    "_>_": is_greater,
    "_>=_": is_greater_or_equal,
    "@in": is_in,
}
"""By the name of the operator, for arguments of any type."""
