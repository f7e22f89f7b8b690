"""Random expressions with random devices, as recorded from kube-scheduler v1.36.4."""

from __future__ import annotations

from random import Random

import pytest

from moorage.cel.devices import compile_selector, device_value
from moorage.cel.syntax.source import CompileError
from moorage.cel.values import EvaluationError, Failure
from tests.cel.generating import DRIVER, cases
from tests.cel.recordings import answer, recorded


def test_random_selectors_give_and_cost_what_was_recorded() -> None:
    for case in recorded("tests/cel/data/recorded.jsonl.gz"):
        expected = case["expected"]
        found = answer(case["expression"], case["driver"], case["device"])
        assert found.keys() == expected.keys(), (case["expression"], found, expected)
        for name in ("result", "cost", "maxCost"):
            assert found.get(name) == expected.get(name), (case["expression"], found, expected)


@pytest.mark.parametrize("seed", range(4))
def test_the_fast_way_of_evaluating_is_the_slow_one(seed: int) -> None:
    compared = 0
    for case in cases(seed, 150):
        try:
            program = compile_selector(case["expression"])._program
            value = device_value(DRIVER, case["device"])
        except (CompileError, EvaluationError):
            continue
        fast, slow = program.outcome(value), program.exact_outcome(value)
        assert fast.cost == slow.cost, case["expression"]
        assert type(fast.value) is type(slow.value), case["expression"]
        if not isinstance(slow.value, Failure):
            assert fast.value == slow.value, case["expression"]
        compared += 1
    assert compared > 50


def test_no_selector_needs_the_slow_way_unless_something_fails() -> None:
    random = Random(1)
    slow = []
    for case in cases(7, 400):
        try:
            program = compile_selector(case["expression"])._program
            value = device_value(DRIVER, case["device"])
        except (CompileError, EvaluationError):
            continue
        frame = [0, value, *program._padding]
        try:
            program._run(frame)
        except Exception:
            slow.append((case["expression"], value))
    absorbed = [
        expression
        for expression, value in slow
        if not isinstance(compile_selector(expression)._program.exact_outcome(value).value, Failure)
    ]
    for expression in random.sample(absorbed, min(len(absorbed), 20)):
        assert any(word in expression for word in ("||", "&&", ".all(", ".exists(", "!=")), expression
