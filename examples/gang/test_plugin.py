import pytest

from examples.gang.plugin import GANG, SIZE, Gang
from moorage import Pod
from moorage.testing import Cluster, NotInTime, make_node, make_pod

pytestmark = pytest.mark.moorage(plugins=[Gang], nodes=[make_node("a", cpu="2"), make_node("b", cpu="2")])

SHORT = {"timeoutSeconds": 0.2}


def member(name: str, *, gang: str = "train", size: str = "3", cpu: str = "1") -> Pod:
    return make_pod(name, labels={GANG: gang, SIZE: size}, cpu=cpu)


def test_three_of_three_start_together(cluster: Cluster) -> None:
    first, second = cluster.create(member("first")), cluster.create(member("second"))
    assert cluster.wait_event("WaitingForGang", first).note == "1 of 3 pods of the gang train have a node"
    assert cluster.wait_event("WaitingForGang", second).note == "2 of 3 pods of the gang train have a node"
    assert [pod.spec.node_name for pod in cluster.list(Pod)] == ["", ""]
    assert cluster.schedule(member("third")).node
    assert {cluster.wait_bound(pod).spec.node_name for pod in (first, second)} <= {"a", "b"}


@pytest.mark.moorage(args=SHORT, objects=[member("first", cpu="2"), member("second", cpu="2")])
def test_two_of_three_give_their_nodes_back(cluster: Cluster) -> None:
    assert cluster.wait_unschedulable("first") == (
        "0/1 nodes are available: 1 rejected due to timeout after waiting 200ms at plugin Gang."
    )
    cluster.wait_unschedulable("second")
    assert cluster.schedule(make_pod("other", cpu="2")).node


def test_nobody_waits_for_those_who_are_gone(cluster: Cluster) -> None:
    first, second = cluster.create(member("first")), cluster.create(member("second"))
    cluster.wait_event("WaitingForGang", first)
    cluster.wait_event("WaitingForGang", second)
    cluster.delete(first, grace_period_seconds=0)
    assert cluster.wait_unschedulable(second) == (
        "0/1 nodes are available: 1 first of the gang train cannot start."
    )


@pytest.mark.moorage(args=SHORT)
def test_those_who_gave_up_are_tried_again_with_the_next(cluster: Cluster) -> None:
    pods = [cluster.create(member(name)) for name in ("first", "second")]
    for pod in pods:
        cluster.wait_unschedulable(pod)
    third = cluster.create(member("third"))
    for pod in (*pods, third):
        cluster.wait_bound(pod)


@pytest.mark.moorage(args=SHORT)
def test_a_gang_that_does_not_fit_makes_room_for_others(cluster: Cluster) -> None:
    """Two of its pods get a node each, and there is none for the third."""
    pods = [cluster.create(member(name, cpu="2")) for name in ("first", "second", "third")]
    for pod in pods:
        cluster.wait_unschedulable(pod)
    others = [cluster.create(make_pod(name, cpu="2")) for name in ("other", "another")]
    assert {cluster.wait_bound(pod).spec.node_name for pod in others} == {"a", "b"}
    cluster.apply(make_node("c", cpu="6"))
    for pod in pods:
        assert cluster.wait_bound(pod).spec.node_name == "c"


def test_a_pod_that_takes_the_place_of_another_does_not_wait(cluster: Cluster) -> None:
    pods = [cluster.create(member(name)) for name in ("first", "second", "third")]
    for pod in pods:
        cluster.wait_bound(pod)
    cluster.delete(pods[0], grace_period_seconds=0)
    cluster.wait_deleted(pods[0])
    assert cluster.schedule(member("fourth")).node


def test_gangs_do_not_mix(cluster: Cluster) -> None:
    waiting = cluster.create(member("waits", gang="one", size="2"))
    other = cluster.create(member("other", gang="two", size="2"))
    cluster.wait_event("WaitingForGang", waiting)
    cluster.wait_event("WaitingForGang", other)
    with pytest.raises(NotInTime, match="event WaitingForGang: 1 of 2"):
        cluster.wait_bound(waiting, timeout=0.05)


def test_other_pods_do_not_wait(cluster: Cluster) -> None:
    assert cluster.schedule(make_pod()).node


def test_a_size_that_is_no_number_is_told(cluster: Cluster) -> None:
    outcome = cluster.schedule(member("odd", size="many"))
    assert "label gang-size: 'many' is not a number" in outcome.message
