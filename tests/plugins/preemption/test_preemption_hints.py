"""The events preemption registers for, and its gate."""

from __future__ import annotations

from moorage.framework.events import ASSIGNED_POD, POD, Action, Hint
from moorage.plugins.preemption.default_preemption import DefaultPreemption
from tests.plugins.helpers import cluster, hint, registered
from tests.plugins.preemption.preemption_cases import on_n, preemptor


def test_registered_events_and_gate() -> None:
    plugin = DefaultPreemption(None, cluster())
    assert registered(plugin) == [(POD, Action.DELETE, True)]
    assert hint(plugin, ASSIGNED_POD, Action.DELETE, preemptor(), on_n("p"), None) is Hint.SKIP
    assert plugin.pre_enqueue(preemptor()) is None
