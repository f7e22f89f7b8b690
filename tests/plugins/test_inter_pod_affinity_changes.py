"""AddPod and RemovePod: what the terms say after a pod came or went."""

from __future__ import annotations

from moorage.api.pods import Pod
from moorage.framework.cycle_state import CycleState
from tests.plugins.affinity_cases import HOST, pod_with, term, zones
from tests.plugins.helpers import filtered, verdicts


def test_added_and_removed_pods_count() -> None:
    plugin = zones(pod_with(app="a", name="p", node="a"))
    (placed,) = plugin.handle.pods
    where = {name: plugin.handle.node(name) for name in "acx"}
    pod = pod_with(app="new", near=[term()], far=[term("b")])
    cycle = CycleState()
    assert plugin.pre_filter(cycle, pod) is None

    def after(*changes: tuple[str, Pod, str]) -> str:
        clone = cycle.clone()
        for what, other, name in changes:
            node = where[name]
            assert node is not None
            (plugin.add_pod if what == "add" else plugin.remove_pod)(clone, pod, other, node)
        found = verdicts(plugin, clone, pod)
        assert verdicts(plugin, cycle, pod) == filtered(plugin, pod), "the clone's changes are its own"
        return "".join(sorted(name for name, status in found.items() if status is None))

    assert after() == "ab"
    assert after(("add", pod_with(app="a", name="q"), "c")) == "abc"
    assert after(("add", pod_with(app="b", name="q"), "a")) == ""
    assert after(("add", pod_with(far=[term("new")], name="q"), "a")) == ""
    assert after(("add", pod_with(app="a", name="q"), "x")) == "ab", (
        "a node without the topology counts nowhere"
    )
    assert after(("remove", placed, "a")) == ""
    assert after(("remove", placed, "a"), ("add", placed, "a")) == "ab"


def test_an_entry_that_reaches_0_is_gone() -> None:
    """Without the last matching pod, the first-pod rule applies."""
    plugin = zones(pod_with(app="a", name="p", node="a"))
    (placed,) = plugin.handle.pods
    pod, cycle = pod_with(app="a", near=[term(), term(key=HOST)]), CycleState()
    plugin.pre_filter(cycle, pod)
    node = plugin.handle.node("a")
    assert node is not None
    plugin.remove_pod(cycle, pod, placed, node)
    assert {name for name, status in verdicts(plugin, cycle, pod).items() if status is None} == set("abc")
