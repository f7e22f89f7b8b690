"""No cycle walks over pods."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from moorage.api.selectors import Selector
from moorage.testing import make_node, make_pod
from tests.plugins.helpers import cluster, filtered, scored
from tests.plugins.spread.spread_cases import HOST, ZONE, constraint, pod_with, spread


def test_a_second_cycle_asks_no_selector_about_placed_pods(monkeypatch: pytest.MonkeyPatch) -> None:
    handle = cluster([make_node(f"n{i}", labels={ZONE: str(i % 3)}) for i in range(10)])
    plugin = spread(handle)
    pod = pod_with(constraint(), constraint(HOST, hard=False))
    asked = 0
    plain = Selector.matches

    def counting(self: Selector, labels: Mapping[str, str]) -> bool:
        nonlocal asked
        asked += 1
        return plain(self, labels)

    def cycle() -> int:
        nonlocal asked
        asked = 0
        filtered(plugin, pod)
        scored(plugin, pod)
        return asked

    monkeypatch.setattr(Selector, "matches", counting)
    cycle()
    without_pods = cycle()
    asked = 0
    for number in range(1000):
        handle.state.add_pod(make_pod(f"p{number}", node=f"n{number % 10}", labels={"app": "a"}))
    assert asked <= 10, "one question per kind of pod and count"
    assert cycle() == without_pods
