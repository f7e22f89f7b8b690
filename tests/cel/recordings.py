"""Recorded selectors, and what we say of them."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from moorage.cel.devices import compile_selector, device_value
from moorage.cel.syntax.source import CompileError
from moorage.cel.values import EvaluationError, Failure

Document = dict[str, Any]


def recorded(path: str) -> Iterator[Document]:
    with gzip.open(Path(__file__).parent.parent.parent / path, "rt") as lines:
        for line in lines:
            yield json.loads(line)


def answer(expression: str, driver: str, device: Document) -> Document:
    """As the original's evaluator answers."""
    try:
        selector = compile_selector(expression)
    except CompileError as error:
        return {"compileError": str(error)}
    try:
        value = device_value(driver, device)
    except EvaluationError as error:
        return {"runtimeError": str(error), "maxCost": selector.max_cost}
    result, cost = selector.evaluate(value)
    if isinstance(result, Failure):
        return {"runtimeError": result.message, "cost": cost, "maxCost": selector.max_cost}
    return {"result": result, "cost": cost, "maxCost": selector.max_cost}
