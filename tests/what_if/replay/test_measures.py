"""Every figure, against what is computed by hand."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from moorage.testing import make_node
from moorage.what_if.replay.fragmentation import TypicalPods
from moorage.what_if.replay.series import Series
from tests.what_if.replay.traces import BEGAN, OF_DAEMON_SET, Recording, Replayed

GIB = 1 << 30


def test_pods_that_wait() -> None:
    """Three of four cpus are taken for 60 seconds: the second pod waits for 50, the third for ever."""
    recording = Recording(make_node("n", cpu=4))
    recording.pod("a", 0, bound=0, gone=60, cpu=3)
    recording.pod("b", 10, bound=60, cpu=3)
    recording.pod("c", 20, gone=90, cpu=8)
    found = Replayed(recording.trace(until=100)).outcome
    assert (found.pods, found.placed, found.never_placed) == (3, 2, 1)
    assert found.pending_p50 == 50
    assert found.pending_p99 == 70, "one that never had a node counts with the time that it has waited"
    # From 10 on one waits, from 20 on two, from 60 on one, from 90 on none.
    waited = 10 * 1 + 40 * 2 + 30 * 1
    assert np.mean(found.history.pending) == pytest.approx(waited / 100)


def test_what_is_requested() -> None:
    recording = Recording(
        make_node("n", cpu=4, memory="8Gi", pods=10), make_node("m", cpu=4, memory="8Gi", pods=10)
    )
    recording.pod("a", 0, bound=0, gone=50, cpu=2, memory="4Gi")
    recording.pod("b", 25, bound=25, gone=75, cpu=2, memory="2Gi")
    found = Replayed(recording.trace(until=100)).outcome
    # 2 of 8 cpus for 50 seconds, twice; 4 of 16 Gi for 50 seconds, and 2 of 16 Gi; 1 of 20 pods, twice.
    nodes = 100 / (100)
    assert found.utilisation["cpu"] == pytest.approx(2 * (2 / 8) * 0.5 * nodes)
    assert found.utilisation["memory"] == pytest.approx((4 / 16 + 2 / 16) * 0.5)
    assert found.utilisation["pods"] == pytest.approx(2 * (1 / 20) * 0.5)
    first = found.history.utilisation["cpu"][0]
    assert first == pytest.approx(0.25) and max(found.history.utilisation["cpu"]) == pytest.approx(0.5)


def test_nodes_in_use_and_what_they_cost() -> None:
    """Pods that are there because the node is do not make it one that is in use."""
    large = make_node("large", cpu=8, labels={"size": "large"})
    small = make_node("small", cpu=2, labels={"size": "small"})
    recording = Recording(large, small)
    recording.pod(
        "agent-1", 0, bound=0, on="small", cpu=1, metadata=OF_DAEMON_SET, nodeSelector={"size": "small"}
    )
    recording.pod("a", 0, bound=0, gone=1800, on="large", cpu=3)
    recording.pod("b", 900, bound=900, gone=2700, on="large", cpu=3)
    recording.pod("c", 1800, bound=1800, gone=3600, on="small", cpu=1, nodeSelector={"size": "small"})
    prices = [("size=large", 2.0), ("size=small", 0.5), ("kubernetes.io/hostname=small", 100.0)]
    found = Replayed(recording.trace(until=3600), prices=prices).outcome
    assert found.nodes_in_use == pytest.approx((2700 + 1800) / 3600)
    # The first price that fits counts: 45 minutes of the large one, 30 of the small one.
    assert found.cost == pytest.approx(2.0 * 0.75 + 0.5 * 0.5)
    assert max(found.history.cost_per_hour) == pytest.approx(2.5)


def test_what_is_of_no_use_to_typical_pods() -> None:
    """Three of four pods ask for 1 cpu and 1 Gi, one for 4 cpus and 2 Gi and a gpu."""
    small, large = (("cpu", 1000), ("memory", GIB)), (("cpu", 4000), ("gpu", 1), ("memory", 2 * GIB))
    typical = TypicalPods(Counter({small: 3, large: 1}))
    assert list(typical.resources) == ["cpu", "gpu", "memory"]
    free = np.array(
        [
            [8000, 2, 16 * GIB],  # both fit: only the gpus are of no use to the small ones
            [2000, 2, 16 * GIB],  # the large one lacks cpu
            [2000, 0, GIB // 2],  # both lack memory
            [-500, 1, 4 * GIB],  # more is requested than there is
        ],
        dtype=np.float64,
    )
    useless = typical.useless(free, np.array([10.0, 10.0, 10.0, 10.0]))
    assert useless.tolist() == [
        [0, 0.75 * 2, 0],
        [0.25 * 2000, 2, 0.25 * 16 * GIB],
        [2000, 0, GIB // 2],
        [0, 1, 4 * GIB],
    ]
    assert typical.useless(free[:1], np.array([0.0])).tolist() == [[8000, 2, 16 * GIB]], "no more pods fit"


def test_fragmentation_over_time() -> None:
    """All pods ask for 3 of the 4 cpus: while one runs, the last cpu is of no use; it is free otherwise."""
    recording = Recording(make_node("n", cpu=4), make_node("m", cpu=4))
    recording.pod("a", 0, bound=0, gone=50, cpu=3)
    found = Replayed(recording.trace(until=100)).outcome
    assert found.fragmentation_of == {"cpu": pytest.approx(0.5 * 1 / 5)}
    assert found.fragmentation == pytest.approx(0.1)
    assert max(found.history.fragmentation["cpu"]) == pytest.approx(0.2)


def test_preemptions() -> None:
    recording = Recording(make_node("n", cpu=4))
    for number in range(2):
        recording.pod(f"victim-{number}", 0, bound=0, cpu=2)
    recording.pod("urgent", 10, bound=11, cpu=4, priority=5)
    assert Replayed(recording.trace(until=20)).outcome.preemptions == 2


def test_figures_over_time_take_no_more_memory_the_longer_it_lasts() -> None:
    series = Series(BEGAN, BEGAN + 1000, 1, stretches=10)
    for second in range(1000):
        series.add(BEGAN + second, BEGAN + second + 1, np.array([float(second < 250)]))
    times, values = series.points()
    assert len(times) == 10 and times[0] == BEGAN + 50
    assert values[:, 0].tolist() == pytest.approx([1, 1, 0.5, 0, 0, 0, 0, 0, 0, 0])
    assert series.means().tolist() == pytest.approx([0.25]) and series.totals().tolist() == pytest.approx(
        [250]
    )


def test_a_figure_that_lasts_for_several_stretches_counts_in_all_of_them() -> None:
    series = Series(0, 100, 2, stretches=10)
    series.add(-50, 5, np.array([2.0, 0.0]))
    series.add(5, 95, np.array([0.0, 4.0]))
    times, values = series.points()
    assert values[:, 0].tolist() == pytest.approx([1.0, *[0.0] * 9])
    assert values[:, 1].tolist() == pytest.approx([2.0, *[4.0] * 9])
    assert series.seconds == pytest.approx(95) and len(times) == 10
