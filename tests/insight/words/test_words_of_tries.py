"""Sentences about evaluations; every recorded one has some, and none of them quotes an in-tree plugin."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from moorage.insight.words import words_for_try
from moorage.insight.words.evaluations import detail_of_try, matrix_of_try

RECORDED = Path(__file__).parents[2] / "golden" / "data"
KINDS = (
    *("images", "interpod", "mixed", "nodeaffinity", "ports", "preemption"),
    *("resources", "spread", "taints", "volumes"),
)


def results(kind: str) -> Iterator[dict[str, Any]]:
    with gzip.open(RECORDED / f"{kind}.jsonl.gz") as lines:
        for line in lines:
            yield json.loads(line)["expected"]


@pytest.mark.parametrize("kind", KINDS)
def test_every_recorded_decision_has_words(kind: str) -> None:
    for result in results(kind):
        words = words_for_try(result)
        text = " ".join(words)
        assert all(each and each.endswith(".") for each in words), text
        for quoting in (" says ", "rejected by", "rejects it", "node(s)"):
            assert quoting not in text, (text, result.get("message"))
        assert ("pending" in text or "queue" in text) == ("best" not in result), text


@pytest.mark.parametrize("kind", KINDS)
def test_details_and_matrix_add_up(kind: str) -> None:
    for result in results(kind):
        if "preEnqueue" in result:
            continue
        detail, matrix = detail_of_try(result), matrix_of_try(result)
        rejected = sum(each["rejected"] for each in detail["filters"])
        if detail["preFilter"]["status"] == "" and "message" in result and result.get("nodeStatus"):
            assert rejected == detail["nodes"]
        rows = {row["node"]: row for row in matrix["rows"]}
        assert {node for node, row in rows.items() if row["fits"]} == set(result["feasible"])
        if "best" not in result:
            continue
        assert {node for node, row in rows.items() if row.get("chosen")} == set(result["best"])
        for node, total in result["totals"].items():
            assert rows[node]["total"] == total
        tipped = detail.get("tippedBy")
        if tipped is not None:
            scores = result["scores"]
            change = tipped["newWeight"] - tipped["weight"]
            lead = result["totals"][detail["node"]] - result["totals"][tipped["then"]]
            gap = (
                scores[detail["node"]][tipped["plugin"]]["raw"]
                - scores[tipped["then"]][tipped["plugin"]]["raw"]
            )
            assert abs(lead + change * gap) < 0.01
