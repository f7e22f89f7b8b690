"""Selectors of devices: the environment that kube-scheduler gives them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from moorage.cel.declarations import Argument, CallEstimate, Function, Library, Overload, Range
from moorage.cel.environment import Environment, Evaluation, Program, ResultTypeError
from moorage.cel.evaluation.operators import equals, type_of_value
from moorage.cel.evaluation.planner import ProgramError
from moorage.cel.libraries import authorization
from moorage.cel.libraries.amounts import parse as parse_quantity
from moorage.cel.libraries.catalog import KUBERNETES
from moorage.cel.libraries.semver import parse_semver
from moorage.cel.syntax.macros import BINDINGS, MACROS
from moorage.cel.syntax.source import CompileError
from moorage.cel.types import ANY, BOOL, DYN, STRING, Type, map_of
from moorage.cel.values import EvaluationError, Failure, Optional

MAX_COST = 1_000_000
MAX_LENGTH = 10 * 1024
"""Of a selector, in bytes. The API takes none that is longer."""

_DEVICE = Type("kubernetes.DRADevice")
_QUANTITY = Type("kubernetes.Quantity")
_FIELDS = {
    "driver": STRING,
    "attributes": map_of(STRING, map_of(STRING, ANY)),
    "capacity": map_of(STRING, map_of(STRING, _QUANTITY)),
    "allowMultipleAllocations": BOOL,
}


# How large things can be


@dataclass(frozen=True)
class _Shape:
    """The largest size of something, and the shapes of what is in it."""

    size: int = 0
    key: _Shape | None = None
    element: _Shape | None = None
    fields: Mapping[str, _Shape] = field(default_factory=dict)
    any_name: bool = False
    """All names lead to an element."""


_MAX_ENTRIES, _MAX_DOMAIN, _MAX_ID, _MAX_DRIVER, _MAX_STRING = 32, 63, 32, 63, 64
_MAX_LIST = 48
_ATTRIBUTES = _Shape(_MAX_ENTRIES, _Shape(_MAX_ID), _Shape(_MAX_STRING), any_name=True)
_CAPACITY = _Shape(_MAX_ENTRIES, _Shape(_MAX_ID), _Shape())
_SHAPE = _Shape(
    fields={
        "driver": _Shape(_MAX_DRIVER),
        "attributes": _Shape(_MAX_ENTRIES, _Shape(_MAX_DOMAIN), _ATTRIBUTES),
        "capacity": _Shape(_MAX_ENTRIES, _Shape(_MAX_DOMAIN), _CAPACITY),
        "allowMultipleAllocations": _Shape(1),
    }
)


def _size_of(path: Sequence[str]) -> Range | None:
    if path[0] != "device":
        return None
    shape: _Shape | None = _SHAPE
    for name in path[1:]:
        assert shape is not None
        if name in ("@items", "@values"):
            shape = shape.element
        elif name == "@keys":
            shape = shape.key
        elif name in shape.fields:
            shape = shape.fields[name]
        else:
            shape = shape.element if shape.any_name else None
        if shape is None:
            return None
    assert shape is not None
    return Range(0, shape.size)


# The function that only devices have


def _includes(target: Any, value: Any) -> bool:
    if not isinstance(target, (tuple, list)):
        return _is_equal(target, value)
    for index, element in enumerate(target):
        if index >= _MAX_LIST:
            message = f"'includes' function cannot be applied to lists longer than {_MAX_LIST} values"
            raise EvaluationError(message)
        if _is_equal(element, value):
            return True
    return False


def _is_equal(left: Any, right: Any) -> bool:
    try:
        return equals(left, right)
    except EvaluationError:
        return False


def _estimate_includes(arguments: Sequence[Argument]) -> CallEstimate:
    return CallEstimate(Range(0, _MAX_LIST))


_LISTS_OF_ATTRIBUTES = Library(
    (
        Function(
            "includes",
            (Overload("dra_includes_dyn_dyn", (DYN, DYN), BOOL, _includes, estimate=_estimate_includes),),
        ),
    )
)


@cache
def _environment() -> Environment:
    return Environment(
        (*KUBERNETES, authorization.LIBRARY, _LISTS_OF_ATTRIBUTES),
        {"device": _DEVICE},
        objects={_DEVICE.name: _FIELDS},
        size_of=_size_of,
        cost_limit=MAX_COST,
        result_types=(BOOL, ANY),
        macros={**MACROS, **BINDINGS},
    )


# Devices as values


class _Domains(dict[str, Any]):
    """Attributes or capacities by domain; indexing by one that is not there gives an empty map."""

    __slots__ = ()

    def __missing__(self, domain: str) -> Any:
        return {}


def device_value(driver: str, device: Mapping[str, Any]) -> Any:
    """What selectors see of a device of a ResourceSlice; raises EvaluationError.

    It may be kept as long as the device does not change.
    """
    attributes = _Domains()
    for name, attribute in (device.get("attributes") or {}).items():
        domain, short = _qualified(name, driver)
        attributes.setdefault(domain, {})[short] = _attribute_value(name, attribute)
    capacity = _Domains()
    for name, amount in (device.get("capacity") or {}).items():
        domain, short = _qualified(name, driver)
        capacity.setdefault(domain, {})[short] = parse_quantity(str(amount.get("value", "0")))
    return {
        "driver": driver,
        "allowMultipleAllocations": device.get("allowMultipleAllocations") is True,
        "attributes": attributes,
        "capacity": capacity,
    }


def _qualified(name: str, driver: str) -> tuple[str, str]:
    domain, slash, short = name.partition("/")
    return (domain, short) if slash else (driver, name)


def _attribute_value(name: str, attribute: Mapping[str, Any]) -> Any:
    for kind in ("int", "bool", "string"):
        if (value := attribute.get(kind)) is not None:
            return value
    version = attribute.get("version")
    if version is None:  # lists are not supported yet
        raise EvaluationError(f"attribute {name}: unsupported attribute value")
    try:
        return parse_semver(version)
    except EvaluationError as error:
        raise EvaluationError(f"attribute {name}: parse semantic version: {error}") from None


# Selectors


class Selector:
    """An expression that says of devices whether they are wanted."""

    __slots__ = ("_program", "_value", "expression", "max_cost")

    def __init__(self, expression: str, program: Program) -> None:
        self.expression = expression
        self._program = program
        self._value = program.value
        self.max_cost = program.max_cost

    def matches(self, driver: str, device: Mapping[str, Any]) -> bool:
        """Of a device as the API has it; raises EvaluationError."""
        return self.matches_value(device_value(driver, device))

    def matches_value(self, value: Any) -> bool:
        """Of what `device_value` gave; raises EvaluationError."""
        result = self._value(value)
        if result.__class__ is not bool:
            result = _as_bool(result)
        if isinstance(result, Failure):
            raise EvaluationError(result.message)
        return result is True

    def evaluate(self, value: Any) -> Evaluation:
        """The verdict on what `device_value` gave, or a Failure, with its cost."""
        result, cost = self._program.outcome(value)
        return Evaluation(_as_bool(result), cost)


def _as_bool(result: Any) -> Any:
    inner = result
    while isinstance(inner, Optional) and inner.has_value:
        inner = inner.value
    if isinstance(inner, (bool, Failure)):
        return inner
    reason = _REASONS.get(
        type_of_value(inner).name, f"type conversion error from {type_of_value(inner).name} to 'bool'"
    )
    return Failure(
        f"CEL result of type {type_of_value(result).name} could not be converted to bool: {reason}"
    )


_REASONS = {
    "int": "unsupported type conversion from 'int' to bool",
    "uint": "unsupported type conversion from 'uint' to bool",
    "double": "type conversion error from Double to 'bool'",
    "string": "unsupported native conversion from string to 'bool'",
    "kubernetes.Semver": "type conversion error from 'Semver' to 'bool'",
}


def compile_selector(expression: str) -> Selector:
    """Raises CompileError."""
    try:
        program = _environment().compile(expression)
    except ResultTypeError as error:
        found = str(error).replace("any", "google.protobuf.Any")
        raise CompileError(f"must evaluate to bool or the unknown type, not {found}") from None
    except ProgramError as error:
        raise CompileError(f"program instantiation failed: {error}", error.issues) from None
    except CompileError as error:
        raise CompileError(f"compilation failed: {error}", error.issues) from None
    return Selector(expression, program)
