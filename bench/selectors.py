"""How long device selectors take to compile and to evaluate: `python -m bench.selectors`."""

from __future__ import annotations

import time
from typing import Any

from moorage.cel.devices import compile_selector, device_value
from moorage.cel.values import EvaluationError

_GPU = 'device.attributes["gpu.example.com"]'
_SELECTORS = (
    'device.driver == "gpu.example.com"',
    f'{_GPU}.model == "a100"',
    f'{_GPU}.model == "a100" && device.capacity["gpu.example.com"].memory.compareTo(quantity("40Gi")) >= 0',
    f'{_GPU}.model in ["a100", "h100"]',
    f'{_GPU}.driverVersion.isGreaterThan(semver("2.0.0"))',
    f'"model" in {_GPU} && {_GPU}.model.startsWith("a")',
    f"{_GPU}.index >= 0 && {_GPU}.ecc",
    f'cel.bind(gpu, {_GPU}, gpu.model == "a100" && gpu.numa == 0)',
    f'{_GPU}.model.matches("^a[0-9]+$")',
    f'{_GPU}.?missing.orValue("x") == "x"',
    f'["a100", "h100"].exists(model, model == {_GPU}.model)',
    f"has({_GPU}.model) && !device.allowMultipleAllocations",
    f"{_GPU}.missing == 1 || true",
    f"{_GPU}.missing == 1",
)
_DEVICE: dict[str, Any] = {
    "name": "gpu-0",
    "attributes": {
        "model": {"string": "a100"},
        "index": {"int": 0},
        "numa": {"int": 0},
        "ecc": {"bool": True},
        "driverVersion": {"version": "2.1.0"},
        "resource.kubernetes.io/pcieRoot": {"string": "pci0000:00"},
    },
    "capacity": {"memory": {"value": "40Gi"}},
}
_TIMES, _RUNS = 100, 300


def main() -> None:
    value = device_value("gpu.example.com", _DEVICE)
    print("evaluation  compilation")
    for expression in _SELECTORS:
        started = time.perf_counter()
        selector = compile_selector(expression)
        compiling = time.perf_counter() - started
        evaluating = min(_timed(selector.matches_value, value) for _ in range(_TIMES))
        print(f"{evaluating * 1e6:7.2f} us {compiling * 1e3:9.2f} ms  {expression}")
    making = min(
        _timed(lambda device: device_value("gpu.example.com", device), _DEVICE) for _ in range(_TIMES)
    )
    print(f"{making * 1e6:7.2f} us               making a value of a device")


def _timed(function: Any, argument: Any) -> float:
    started = time.perf_counter()
    for _ in range(_RUNS):
        try:
            function(argument)
        except EvaluationError:
            continue
    return (time.perf_counter() - started) / _RUNS


if __name__ == "__main__":
    main()
