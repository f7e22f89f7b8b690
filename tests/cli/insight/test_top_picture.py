"""What `moorage top` shows fits every terminal."""

from __future__ import annotations

from collections import deque
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from moorage.cli.insight.top_picture import PluginTimes, Seen, Usage, picture, plugin_times, usage_of
from moorage.cli.terminal.screen import Size

NOW = 1_700_000_000.0
SUMMARY: dict[str, Any] = {
    "version": "0.1.0",
    "started": NOW - 3700,
    "leads": True,
    "nodes": 5000,
    "placedPods": 12000,
    "queue": {"active": 3, "backoff": 0, "unschedulable": 12, "gated": 1, "inFlight": 2},
    "rates": {"attemptsPerSecond": 510.0, "boundPerSecond": 498.5, "failedPerSecond": 1.0},
}


def seen(**more: Any) -> Seen:
    usage = [Usage("cpu", 1500, 4000, [("node-7", 1.0), ("node-1", 0.2)])]
    times = [PluginTimes("NodeResourcesFit", "Filter", 510.0, 12e-6, 20e-6, 0.006, 0)]
    return Seen(**{"summary": SUMMARY, "usage": usage, "plugins": times, "per_second": True, **more})


def test_all_that_there_is() -> None:
    lines = picture(seen(rates=deque([0.0, 250.0, 500.0])), Size(101, 24), colours=False, now=NOW)
    assert lines == [
        "",
        "Moorage 0.1.0 · up 1 h 1 min · 5000 nodes, 12000 pods placed",
        "Rate     498.5 bound/s   1.0 failed/s   510.0 tries/s   [ =@]",
        "Queue    3 in line   0 backing off   12 waiting   1 held back   2 under way",
        "Nodes    cpu  [########............]  38%  1500m of 4   fullest: node-7 100%, node-1 20%",
        "",
        "PLUGIN                           POINT             TIMED/S     MEAN      P99",
        "NodeResourcesFit                 Filter                510    12 µs    20 µs",
    ]


def test_a_scheduler_that_is_gone_or_does_not_lead() -> None:
    gone = seen(gone_since=NOW - 5, problem="connection \x1b[2J refused", summary={**SUMMARY, "leads": False})
    lines = picture(gone, Size(120, 24), colours=False, now=NOW)
    assert "waits to lead" in lines[1]
    assert lines[2] == "No answer for 5 s: connection \\x1b[2J refused; trying again."


@given(
    st.integers(1, 200),
    st.integers(2, 60),
    st.text(max_size=60),
    st.booleans(),
    st.lists(st.floats(0, 1e6), max_size=60),
)
def test_it_always_fits(columns: int, rows: int, name: str, gone: bool, rates: list[float]) -> None:
    shown = seen(
        usage=[Usage(name or "cpu", 5, 7, [(name, 0.5)])] * 7,
        plugins=[PluginTimes(name, name, 1.0, 0.1, None, 0.1, 3)] * 70,
        rates=deque(rates),
        gone_since=NOW - 1 if gone else None,
        problem=name,
    )
    lines = picture(shown, Size(columns, rows), colours=False, now=NOW)
    assert len(lines) < max(rows, 2)
    assert all(cell_len(line) < max(columns, 2) for line in lines)
    assert all(line.isprintable() for line in lines)


def test_sums_of_the_columns_of_nodes() -> None:
    nodes = {
        "names": ["a", "b", "c"],
        "resources": ["memory", "example.com/gpu", "cpu", "nothing"],
        "allocatable": {
            "cpu": [4, 4, 0],
            "memory": [8, 8, 8],
            "example.com/gpu": [0, 1, 0],
            "nothing": [0, 0, 0],
        },
        "requested": {
            "cpu": [1, 4, 0],
            "memory": [0, 0, 0],
            "example.com/gpu": [0, 1, 0],
            "nothing": [0, 0, 0],
        },
    }
    cpu, memory, gpu = usage_of(nodes)
    assert cpu == Usage("cpu", 5, 8, [("b", 1.0), ("a", 0.25)])
    assert (memory.resource, memory.requested, gpu.resource) == ("memory", 0, "example.com/gpu")


def test_plugin_times_are_those_since_the_last_look() -> None:
    def told(calls: int, seconds: float) -> dict[str, Any]:
        point = {"point": "Filter", "calls": calls, "seconds": seconds, "mean": seconds / calls, "p99": 0.5}
        return {"plugins": [{"name": "P", "points": [point], "failures": 0}]}

    (all_of_them,) = plugin_times(told(10, 1.0), None, 0.0)
    assert (all_of_them.calls, all_of_them.mean) == (10, 0.1)
    (latest,) = plugin_times(told(30, 2.0), told(10, 1.0), 2.0)
    assert (latest.calls, latest.mean, latest.spent) == (10.0, 0.05, 1.0)
