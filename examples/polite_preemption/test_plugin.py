from typing import Any

import pytest

from examples.polite_preemption.plugin import PREEMPTIBLE, PolitePreemption
from moorage import Pod, Status
from moorage.testing import Cluster, FakeHandle, Run, make_node, make_pod, run

NODES = [make_node("a", cpu="4"), make_node("b", cpu="4")]
URGENT = make_pod("urgent", cpu="2")


def polite(name: str, node: str, cpu: str, minute: int = 0, **more: Any) -> Pod:
    started = {"startTime": f"2026-01-01T00:{minute:02}:00Z"}
    return make_pod(name, node=node, cpu=cpu, labels={PREEMPTIBLE: "true"}, status=started, **more)


def tried(*pods: Pod, pod: Pod = URGENT, **more: Any) -> Run:
    full = make_pod("full", node="b", cpu="4")
    return run(PolitePreemption, pod, NODES, pods=[full, *pods], **more)


def asked_to_go(result: Run) -> list[str]:
    return [evicted.pod.name for evicted in result.evicted]


def test_who_offered_to_go_goes() -> None:
    result = tried(make_pod("web", node="a", cpu="2"), polite("batch", "a", "2"))
    assert (result.node, result.nominated) == ("", "a")
    [evicted] = result.evicted
    assert (evicted.pod.name, evicted.by, evicted.message) == (
        "batch",
        URGENT,
        "default/urgent needs the room",
    )


def test_nobody_else_goes() -> None:
    result = tried(make_pod("web", node="a", cpu="2"), make_pod("idle", node="a", cpu="2"))
    assert (result.nominated, result.evicted) == ("", [])
    assert result.message.endswith("no pods that offer to go would make room")


def test_the_youngest_go_first_and_no_more_than_needed() -> None:
    old, young, younger = (
        polite(name, "a", "1", minute) for minute, name in enumerate(("old", "young", "younger"))
    )
    result = tried(make_pod("web", node="a", cpu="1"), young, old, younger)
    assert asked_to_go(result) == ["younger", "young"]


def test_who_would_go_in_vain_stays() -> None:
    result = tried(
        make_pod("web", node="a", cpu="1"), polite("large", "a", "2", 0), polite("small", "a", "1", 5)
    )
    assert asked_to_go(result) == ["large"]


def test_the_node_with_the_fewest_that_have_to_go_is_chosen() -> None:
    two = [polite("c1", "c", "1", 5), polite("c2", "c", "1", 6)]
    one, other = polite("a1", "a", "2", 1), polite("d1", "d", "2", 3)
    fill = [make_pod(f"fill-{node}", node=node, cpu="2") for node in "acd"]
    nodes = [make_node(name, cpu="4") for name in "acd"]
    result = run(PolitePreemption, URGENT, nodes, pods=[*fill, *two, one, other])
    assert (result.nominated, asked_to_go(result)) == ("d", ["d1"]), "one, and the younger of the two"


@pytest.mark.parametrize(
    "pod",
    [make_pod("p", cpu="2", labels={PREEMPTIBLE: "true"}), make_pod("p", cpu="2", preemptionPolicy="Never")],
)
def test_who_asks_nobody(pod: Pod) -> None:
    result = tried(polite("batch", "a", "4"), pod=pod)
    assert result.evicted == []
    assert result.message.endswith("it asks nobody to go")


def test_the_more_important_are_not_asked() -> None:
    assert tried(polite("batch", "a", "4", priority=10)).evicted == []
    assert asked_to_go(tried(polite("batch", "a", "4"))) == ["batch"]


def test_while_they_end_nobody_else_is_asked() -> None:
    leaving = polite("leaving", "a", "2", metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"})
    waiting = make_pod("urgent", cpu="2", status={"nominatedNodeName": "a"})
    result = tried(leaving, polite("batch", "a", "2"), pod=waiting, objects=[waiting])
    assert result.evicted == []
    assert result.message.endswith("the pods that go for it have not ended yet")


def test_the_pod_is_held_back_until_they_are_on_their_way(monkeypatch: pytest.MonkeyPatch) -> None:
    handle = FakeHandle()
    plugin = PolitePreemption(None, handle)
    assert plugin.pre_enqueue(URGENT) is None
    monkeypatch.setattr(handle, "is_evicting_for", lambda pod: pod is URGENT)
    assert plugin.pre_enqueue(URGENT) == Status.unresolvable("pods are being asked to go for this one")


@pytest.mark.moorage(plugins=[PolitePreemption], nodes=[make_node("a", cpu="2")])
def test_on_a_cluster_who_offered_to_go_makes_room(cluster: Cluster) -> None:
    batch = make_pod("batch", cpu="2", labels={PREEMPTIBLE: "true"}, terminationGracePeriodSeconds=1)
    assert cluster.schedule(batch).node == "a"
    urgent = cluster.create(make_pod("urgent", cpu="2"))
    cluster.wait_deleted(batch)
    assert cluster.wait_bound(urgent).spec.node_name == "a"
