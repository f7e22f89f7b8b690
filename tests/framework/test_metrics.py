from __future__ import annotations

import pytest

from moorage.framework.metrics import Metrics


def value(metrics: Metrics, name: str, **labels: str) -> float | None:
    return metrics.registry.get_sample_value(name, labels)


def test_each_kind_of_metric_counts_in_the_registry() -> None:
    metrics = Metrics()
    metrics.counter("asked_total", "Times asked.", ["plugin"]).labels("A").inc(2)
    metrics.gauge("open", "Open now.").set(3)
    metrics.histogram("seconds", "Time taken.", buckets=(1, 2)).observe(1.5)
    assert value(metrics, "asked_total", plugin="A") == 2
    assert value(metrics, "open") == 3
    assert value(metrics, "seconds_bucket", le="2.0") == 1
    assert value(metrics, "seconds_bucket", le="1.0") == 0


def test_a_metric_is_made_once_and_shared_by_name() -> None:
    metrics = Metrics()
    assert metrics.counter("asked_total", "Times asked.") is metrics.counter("asked_total", "Times asked.")
    assert metrics.histogram("seconds", "Time.") is metrics.histogram("seconds", "Time.")


def test_a_name_stands_for_one_kind_of_metric() -> None:
    metrics = Metrics()
    metrics.counter("asked", "Times asked.")
    with pytest.raises(ValueError, match="metric asked is a Counter already"):
        metrics.gauge("asked", "Times asked.")


def test_schedulers_do_not_share_metrics() -> None:
    assert Metrics().registry is not Metrics().registry
