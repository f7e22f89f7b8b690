"""Metrics as text."""

from __future__ import annotations

import math

import pytest
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from moorage.server.exposition import number, render


def test_whole_numbers_sorted_labels_and_no_series_of_its_own() -> None:
    registry = CollectorRegistry()
    Counter("requests_total", "All requests.", ["zone", "app"], registry=registry).labels("z", "a").inc(3)
    assert render([registry]) == (
        "# HELP requests_total All requests.\n"
        "# TYPE requests_total counter\n"
        'requests_total{app="a",zone="z"} 3\n'
    )


def test_the_bound_of_a_bucket_comes_last() -> None:
    registry = CollectorRegistry()
    Histogram("wait", "h", ["queue"], buckets=[0.5], registry=registry).labels("q").observe(0.25)
    assert render([registry]) == (
        "# HELP wait h\n"
        "# TYPE wait histogram\n"
        'wait_bucket{queue="q",le="0.5"} 1\n'
        'wait_bucket{queue="q",le="+Inf"} 1\n'
        'wait_count{queue="q"} 1\n'
        'wait_sum{queue="q"} 0.25\n'
    )


def test_texts_are_escaped() -> None:
    registry = CollectorRegistry()
    Gauge("g", "one\ntwo \\", ["l"], registry=registry).labels('a"b\\c\nd').set(1)
    assert render([registry]) == '# HELP g one\\ntwo \\\\\n# TYPE g gauge\ng{l="a\\"b\\\\c\\nd"} 1\n'


def test_metrics_without_a_value_are_named() -> None:
    registry = CollectorRegistry()
    Gauge("g", "h", ["l"], registry=registry)
    assert render([registry]) == "# HELP g h\n# TYPE g gauge\n"


def test_all_registries_in_one_order() -> None:
    first, second = CollectorRegistry(), CollectorRegistry()
    Gauge("b", "h", registry=first)
    Gauge("c", "h", registry=first)
    Gauge("a", "h", registry=second)
    names = [line.split()[0] for line in render([first, second]).splitlines() if not line.startswith("#")]
    assert names == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (3, "3"),
        (3.0, "3"),
        (0.5, "0.5"),
        (1e-05, "1e-05"),
        (math.inf, "+Inf"),
        (-math.inf, "-Inf"),
        (math.nan, "NaN"),
    ],
)
def test_numbers(value: float, text: str) -> None:
    assert number(value) == text
