"""Device selectors, as recorded from kube-scheduler v1.36.4: results, kinds of errors, and costs."""

from __future__ import annotations

from tests.cel.recordings import Document, answer, recorded

ANY_ORDER = "device.attributes.exists("
"""What goes over a map costs something else each time: the original takes the entries as they come."""


def test_selectors_give_and_cost_what_was_recorded() -> None:
    device: Document = {}
    for case in recorded("tests/golden/data/cel.jsonl.gz"):
        device = case.get("device") or device  # those without one are about no device in particular
        driver = case.get("driver", "gpu.example.com")
        expected, found = case["expected"], answer(case["expression"], driver, device)
        assert found.keys() == expected.keys(), (case["expression"], found, expected)
        for name in ("result", "maxCost", "cost")[: 2 if ANY_ORDER in case["expression"] else 3]:
            assert found.get(name) == expected.get(name), (case["expression"], found, expected)
