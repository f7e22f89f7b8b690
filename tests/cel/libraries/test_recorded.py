"""Expressions with library functions, as recorded from kube-scheduler v1.36.4: results and costs agree."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

from moorage.cel.devices import compile_selector, device_value
from moorage.cel.syntax.source import CompileError
from moorage.cel.values import Failure

RECORDED = Path(__file__).parents[2] / "golden" / "data" / "cel_libraries.jsonl.gz"
COMPILE_ERROR = "compile error"
RUN_TIME_ERROR = "run-time error"


def found(case: dict[str, Any]) -> tuple[bool | str, int | None, int | None]:
    try:
        selector = compile_selector(case["expression"])
    except CompileError:
        return COMPILE_ERROR, None, None
    verdict, cost = selector.evaluate(device_value(case["driver"], case["device"]))
    return RUN_TIME_ERROR if isinstance(verdict, Failure) else verdict, cost, selector.max_cost


def expected(outcome: dict[str, Any]) -> tuple[bool | str, int | None, int | None]:
    if "compileError" in outcome:
        return COMPILE_ERROR, None, None
    return outcome.get("result", RUN_TIME_ERROR), outcome["cost"], outcome["maxCost"]


def test_results_and_costs_are_the_recorded_ones() -> None:
    with gzip.open(RECORDED, "rt", encoding="utf-8") as lines:
        cases = [json.loads(line) for line in lines]
    assert len(cases) > 3000
    different = [case["expression"] for case in cases if found(case) != expected(case["expected"])]
    assert different == []
