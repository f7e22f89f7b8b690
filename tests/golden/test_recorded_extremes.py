"""Amounts at the edge of 64 bits, as recorded from kube-scheduler v1.36.4: it overflows, and so do we."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from functools import reduce
from pathlib import Path
from typing import Any

from moorage.api import int64_quantities
from moorage.api.int64_quantities import MILLI, WHOLE, HeldQuantity
from moorage.plugins.catalog import in_tree_registry
from moorage.what_if.scenario import evaluate

Document = dict[str, Any]

DATA = Path(__file__).parent / "data"


def recorded(name: str) -> Iterator[Document]:
    with gzip.open(DATA / f"{name}.jsonl.gz", "rt") as lines:
        for line in lines:
            yield json.loads(line)


def test_quantities_their_sums_and_their_greatest_have_the_recorded_64_bits() -> None:
    for case in recorded("amounts"):
        held = [int64_quantities.parse(text) for text in case["texts"]]
        total, most = reduce(lambda a, b: a + b, held), reduce(greater, held)
        found = [amount.in_units(unit) for amount in (total, most) for unit in (WHOLE, MILLI)]
        assert found == [case[name] for name in ("value", "milli", "most", "mostMilli")], case["texts"]
        if len(held) == 1:
            assert int64_quantities.whole(case["texts"][0]) == case["value"]


def greater(a: HeldQuantity, b: HeldQuantity) -> HeldQuantity:
    return b.compared_with(a) if b > a else a


def test_every_recorded_decision_is_reproduced() -> None:
    """Rejections, scores with their weights, totals, and the error where a score is out of range."""
    registry = in_tree_registry()
    for case in recorded("extremes"):
        decision = evaluate(case["scenario"], registry)
        assert summary(decision) == case["expected"], case["scenario"]["id"]


def summary(decision: Document) -> Document:
    found: Document = {"feasible": decision["feasible"], "nodeStatus": decision["nodeStatus"]}
    if "schedulerError" in decision:
        found["schedulerError"] = decision["schedulerError"]["message"]
    elif decision["feasible"]:
        found["totals"] = decision["totals"]
        found["scores"] = {
            node: {plugin: score["weighted"] for plugin, score in scores.items()}
            for node, scores in decision["scores"].items()
        }
    return found
