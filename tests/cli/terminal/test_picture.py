"""The view's lines, at all widths and heights."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from moorage.cli.terminal.counts import Snapshot
from moorage.cli.terminal.picture import Decision, decision_line, middle_cut, picture
from moorage.cli.terminal.screen import Size

LONG = "0/3 nodes are available: " + ", ".join(f"{n} node(s) had reason {n}" for n in range(40)) + "."
PODS = {"waiting": 1, "running": 20, "succeeded": 3, "failed": 4, "starting": 123456}


def decision(name: str, reason: str, message: str) -> Decision:
    return Decision(
        {
            "involvedObject": {"namespace": "default", "name": name},
            "reason": reason,
            "message": message,
            "reportingComponent": "default-scheduler",
        }
    )


def failed(name: str, message: str = LONG) -> Decision:
    return decision(name, "FailedScheduling", message)


def scheduled(name: str, node: str) -> Decision:
    return decision(name, "Scheduled", f"Successfully assigned default/{name} to {node}")


@pytest.mark.parametrize("columns", [60, 80, 120, 200])
def test_only_the_message_is_shortened(columns: int) -> None:
    name, node = "web-7x8zk", "worker-node-12"
    lines = picture(
        Snapshot(3, 3, 0, PODS, [("node-1", 3)]),
        [scheduled(name, node), failed(name)],
        Size(columns, 40),
        colours=False,
    )
    good, bad = lines[-2:]
    assert re.fullmatch(rf"\d\d:\d\d:\d\d  default/{name} +  Scheduled  {node}", good)
    assert re.fullmatch(rf"\d\d:\d\d:\d\d  default/{name} +  Failed     0/3 node.*…", bad)
    assert len(bad) == columns - 1, "all the room is used"
    assert good.index("Scheduled") == bad.index("Failed")
    short = decision_line(failed(name, "no."), columns - 1, colours=False)
    assert short.index("Failed") == bad.index("Failed"), "the place of a column depends on the width alone"


@pytest.mark.parametrize("columns", [60, 80, 120, 200])
def test_long_names_stay_distinguishable(columns: int) -> None:
    stem = "a-very-long-name-of-a-deployment-that-somebody-has-made-" * 2
    names = [f"{stem}-5d78c9869d-7x8zk", f"{stem}-5d78c9869d-kz8x7", f"{stem}-6f7d9c8b5d-7x8zk"]
    nodes = [
        "ip-10-0-12-34.eu-central-1.compute.internal.example.com",
        "ip-10-0-12-35.eu-central-1.example.com",
    ]
    lines = {
        decision_line(scheduled(name, node), columns - 1, False)[10:] for name in names for node in nodes
    }
    assert len(lines) == 6
    for line in lines:
        assert len(line) + 10 <= columns - 1
        assert line.startswith("default")
        assert " Scheduled  ip-1" in line


def test_colours_only_where_they_are_wanted() -> None:
    decisions = [scheduled("a", "n"), failed("b"), decision("c", "Preempted", "by d")]
    plain = picture(Snapshot(), decisions, Size(80, 24), colours=False)
    coloured = picture(Snapshot(), decisions, Size(80, 24), colours=True)
    assert "\x1b" not in "".join(plain)
    assert [re.sub("\x1b\\[[0-9]*m", "", line) for line in coloured] == plain
    assert len(set(re.findall("\x1b\\[[0-9]+m", "".join(coloured)))) == 5, "bold, three verdicts, and back"


texts = st.text(st.characters(blacklist_categories=["Cs"]), max_size=200)


@given(
    columns=st.integers(2, 250),
    rows=st.integers(2, 60),
    decisions=st.lists(st.builds(failed, texts, texts) | st.builds(scheduled, texts, texts), max_size=15),
    nodes=st.lists(st.tuples(st.text("abc-", max_size=60), st.integers(0, 10**6)), max_size=10),
)
def test_it_always_fits(
    columns: int, rows: int, decisions: list[Decision], nodes: list[tuple[str, int]]
) -> None:
    counts = Snapshot(len(nodes), 1, 1, PODS, nodes)
    lines = picture(counts, decisions, Size(columns, rows), colours=False)
    assert lines[0] == ""
    assert len(lines) <= max(3, rows // 2)
    for line in lines:
        assert cell_len(line) <= max(columns - 1, 0)
        assert not {"\n", "\x1b", "\r"} & set(line)


@given(texts, st.integers(0, 100))
def test_names_are_cut_to_their_room(text: str, width: int) -> None:
    assert cell_len(middle_cut(text, width)) <= width or not text
    if cell_len(text) <= width:
        assert middle_cut(text, width) == text
