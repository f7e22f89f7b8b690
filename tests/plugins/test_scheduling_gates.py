from __future__ import annotations

from moorage.framework.events import POD, UNSCHEDULABLE_POD, Action, Hint
from moorage.framework.status import Status
from moorage.plugins.scheduling_gates import SchedulingGates
from moorage.testing import make_pod
from tests.plugins.helpers import cluster, hint, registered

GATES_GONE = Action.UPDATE_POD_SCHEDULING_GATES_ELIMINATED


def test_a_pod_without_gates_passes() -> None:
    assert SchedulingGates(None, cluster()).pre_enqueue(make_pod()) is None


def test_gates_are_listed_in_the_order_of_the_spec() -> None:
    pod = make_pod(schedulingGates=[{"name": "zeta.example"}, {"name": "alpha"}])
    status = SchedulingGates(None, cluster()).pre_enqueue(pod)
    assert status == Status.unresolvable("waiting for scheduling gates: [zeta.example alpha]")


def test_hints() -> None:
    plugin = SchedulingGates(None, cluster())
    assert registered(plugin) == [(POD, GATES_GONE, True)]
    pod, other = make_pod("a"), make_pod("b")
    assert hint(plugin, UNSCHEDULABLE_POD, GATES_GONE, pod, pod, make_pod("a")) is Hint.QUEUE
    assert hint(plugin, UNSCHEDULABLE_POD, GATES_GONE, pod, other, other) is Hint.SKIP
