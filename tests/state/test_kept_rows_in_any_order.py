"""What is kept of rows is right whatever order they are asked for in, as extenders may have it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moorage.state.cluster import ClusterState
from moorage.state.kept_rows import KeptRawScores, KeptScores, KeptVerdicts, RowScores
from moorage.state.nodes import Nodes
from moorage.testing import make_node, make_pod

SIZE = 600


@pytest.fixture(scope="module")
def state() -> ClusterState:
    made = ClusterState()
    for number in range(SIZE):
        made.put_node(make_node(f"n{number}"))
    made.table.refresh()
    return made


questions = st.lists(st.lists(st.integers(0, SIZE - 1), min_size=1, max_size=30, unique=True), max_size=4)


@settings(max_examples=60)
@given(asked=questions, used=st.lists(st.integers(0, SIZE - 1), max_size=40))
def test_rows_in_any_order(state: ClusterState, asked: list[list[int]], used: list[int]) -> None:
    table = state.table

    def of_row(row: int) -> int:
        return row % 7 + 10 * int(table.pod_count[row])

    def of_rows(nodes: Nodes) -> np.ndarray:
        return np.array([of_row(row) for row in nodes.row_numbers().tolist()], dtype=np.int64)

    scores = RowScores(of_rows, of_row)
    raw = KeptRawScores(table, table.usage_changes, scores)
    weighted = KeptScores(table, table.usage_changes, [(scores, 3)])
    verdicts = KeptVerdicts(
        table, table.usage_changes, lambda nodes: of_rows(nodes) % 3 == 0, lambda row: of_row(row) % 3 == 0
    )
    for rows in asked:
        nodes = Nodes(table, np.array(rows, dtype=np.intp))
        wanted = [of_row(row) for row in rows]
        found, rejected = raw.of(nodes), verdicts.rejected(nodes)
        assert (wanted if any(wanted) else None) == (None if found is None else found.tolist())
        assert weighted.totals(nodes).tolist() == [3 * score for score in wanted]
        expected = [score % 3 == 0 for score in wanted]
        assert (expected if any(expected) else None) == (None if rejected is None else rejected.tolist())
        for place, row in enumerate(used):
            name = table.infos[row].name
            state.add_pod(make_pod(f"p{place}", node=name))
    for place in range(len(used)):
        state.remove_pod(f"pod-default-p{place}")
