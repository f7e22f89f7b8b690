"""No cycle walks over pods."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from moorage.api.selectors import Selector
from moorage.plugins.inter_pod_affinity import InterPodAffinity
from moorage.testing import make_node
from tests.plugins.affinity_cases import ZONE, Document, pod_with, term
from tests.plugins.helpers import cluster, filtered, scored


def test_a_second_cycle_asks_no_selector_about_placed_pods(monkeypatch: pytest.MonkeyPatch) -> None:
    handle = cluster([make_node(f"n{i}", labels={ZONE: str(i % 3)}) for i in range(10)])
    plugin = InterPodAffinity(None, handle)
    template: Document = {"app": "a", "near": [term(key="rack")], "far": [term("b")], "prefer": [(3, term())]}
    pod = pod_with(**template)
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
    handle.state.add_pod(pod_with(**template, name="first", node="n0"))
    cycle()
    with_one_pod = cycle()
    asked = 0
    for number in range(1000):
        added = pod_with(**template, name=f"p{number}", node=f"n{number % 10}")
        handle.state.add_pod(added)
    assert asked <= 10, "one question per kind of pod and count"
    assert cycle() == with_one_pod
