"""The environment of device selectors."""

from __future__ import annotations

from typing import Any

import pytest

from moorage.cel.devices import MAX_COST, compile_selector, device_value
from moorage.cel.syntax.source import CompileError
from moorage.cel.values import EvaluationError, Failure

DRIVER = "gpu.example.com"
DEVICE: dict[str, Any] = {
    "name": "gpu-0",
    "attributes": {
        "model": {"string": "a100"},
        "index": {"int": 3},
        "ecc": {"bool": True},
        "driverVersion": {"version": "2.1.0-rc.1"},
        "zone.example.org/rack": {"string": "r1"},
        "gpu.example.com/serial": {"string": ""},
    },
    "capacity": {"memory": {"value": "40Gi"}, "other.example.com/slots": {"value": "7"}},
}


def matches(expression: str) -> bool:
    return compile_selector(expression).matches(DRIVER, DEVICE)


@pytest.mark.parametrize(
    "expression",
    [
        'device.driver == "gpu.example.com" && !device.allowMultipleAllocations',
        'device.attributes["gpu.example.com"].model == "a100"',
        'device.attributes["gpu.example.com"].serial == ""',
        'device.attributes["gpu.example.com"].index + 1 == 4 && device.attributes["gpu.example.com"].ecc',
        'device.attributes["gpu.example.com"].ecc',
        'device.attributes["zone.example.org"].rack == "r1"',
        'device.attributes["gpu.example.com"].driverVersion.isLessThan(semver("2.1.0"))',
        'device.capacity["gpu.example.com"].memory.compareTo(quantity("40Gi")) == 0',
        'device.capacity["gpu.example.com"].memory.isGreaterThan(quantity("39Gi"))',
        'device.capacity["other.example.com"].slots == quantity("7")',
        'device.attributes["nowhere"] == {} && !("x" in device.attributes["nowhere"])',
        '!("nowhere" in device.attributes) && device.attributes.size() == 2 && device.capacity.size() == 2',
        "has(device.attributes.nowhere) && device.attributes[?'nowhere'].hasValue()",
        '!device.attributes["nowhere"].?x.hasValue()',
        'device.attributes["gpu.example.com"].?model.hasValue()',
        'device.attributes.all(domain, domain.endsWith("example.com") || domain.endsWith("example.org"))',
        'device.attributes["x"].y == 1 || device.driver == "gpu.example.com"',
        'device.attributes["gpu.example.com"].model.includes("a100")',
        'cel.bind(gpu, device.attributes["gpu.example.com"], gpu.model == "a100" && gpu.index == 3)',
    ],
)
def test_it_is_true_that(expression: str) -> None:
    assert matches(expression)


def test_a_value_may_be_used_again() -> None:
    value = device_value(DRIVER, DEVICE)
    selector = compile_selector('device.attributes["gpu.example.com"].model == "a100"')
    assert selector.matches_value(value)
    assert selector.matches_value(value)
    assert selector.evaluate(value).cost == selector.max_cost == 5


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ('device.attributes["gpu.example.com"].nope == 1', "no such key: nope"),
        ('device.attributes["nowhere"].model == "a100"', "no such key: model"),
        ('device.capacity["gpu.example.com"].nope.isInteger()', "no such key: nope"),
        ('device.attributes["gpu.example.com"].index == 1 / 0', "division by zero"),
        (
            'device.attributes["gpu.example.com"].index',
            "CEL result of type int could not be converted to bool: "
            "unsupported type conversion from 'int' to bool",
        ),
        (
            'device.attributes["gpu.example.com"].model',
            "CEL result of type string could not be converted to bool: "
            "unsupported native conversion from string to 'bool'",
        ),
        (
            "lists.range(2000).all(i, lists.range(2000).all(j, i >= 0 || j >= 0))",
            "operation cancelled: actual cost limit exceeded",
        ),
    ],
)
def test_what_fails(expression: str, message: str) -> None:
    with pytest.raises(EvaluationError) as error:
        matches(expression)
    assert str(error.value) == message


def test_an_attribute_with_a_list_fails_whatever_is_asked() -> None:
    device = {"attributes": {"models": {"strings": ["a"]}}}
    with pytest.raises(EvaluationError) as error:
        compile_selector("true").matches(DRIVER, device)
    assert str(error.value) == "attribute models: unsupported attribute value"


def test_a_version_has_to_be_one() -> None:
    with pytest.raises(EvaluationError, match="attribute v: parse semantic version: "):
        device_value(DRIVER, {"attributes": {"v": {"version": "1.0"}}})


def test_a_device_may_have_nothing() -> None:
    assert compile_selector("device.attributes == {} && device.capacity == {}").matches(DRIVER, {"name": "x"})
    shared = {"allowMultipleAllocations": True, "attributes": None}
    assert compile_selector("device.allowMultipleAllocations").matches(DRIVER, shared)


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("1", "must evaluate to bool or the unknown type, not int"),
        ("dyn(true)", "must evaluate to bool or the unknown type, not dyn"),
        ("device.attributes", "must evaluate to bool or the unknown type, not map(string, map(string, "
         "google.protobuf.Any))"),
        ("device.nope", "compilation failed: ERROR: <input>:1:7: undefined field 'nope'"),
        ("device.driver == 1", "compilation failed: ERROR: <input>:1:15: found no matching overload for "
         "'_==_' applied to '(string, int)'"),
        ("int('x') == 1", "program instantiation failed: type conversion error from 'string' to 'int'"),
        ("device.attributes['a'].b.exists(x, true)", "compilation failed: ERROR: <input>:1:23: expression of "
         "type 'any' cannot be range of a comprehension (must be list, map, or dynamic)"),
        ("math.greatest(1, 2) == 2", "compilation failed: ERROR: <input>:1:1: undeclared reference to 'math' "
         "(in container '')"),
    ],
)  # fmt: skip
def test_what_does_not_compile(expression: str, message: str) -> None:
    with pytest.raises(CompileError) as error:
        compile_selector(expression)
    assert str(error.value).splitlines()[0] == message


def test_an_evaluation_ends_when_it_has_cost_too_much() -> None:
    selector = compile_selector(
        "lists.range(300).all(i, lists.range(3000) != []) && lists.range(200000) != []"
    )
    result, cost = selector.evaluate(device_value(DRIVER, DEVICE))
    assert isinstance(result, Failure)
    assert MAX_COST < cost < MAX_COST + 200_000
    assert selector.max_cost > MAX_COST


def test_estimates_know_how_large_devices_are() -> None:
    for expression, most in (
        ("device.driver == device.driver", 11),
        ('device.attributes["d"].a.contains("abc")', 11),
        ('device.attributes["d"].all(name, name != "")', 132),
        ('cel.bind(d, device.attributes["x"], d.all(k, d.foo == k))', 431),
    ):
        assert compile_selector(expression).max_cost == most, expression
