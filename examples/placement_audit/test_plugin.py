import pytest

from examples.placement_audit.plugin import HOME_ZONE, ZONE, PlacementAudit
from moorage import CycleState, Node, Pod
from moorage.testing import Cluster, FakeHandle, make_node, make_pod

NODES = [make_node("a", labels={ZONE: "zone-a"}), make_node("b", labels={ZONE: "zone-b"}), make_node("c")]


@pytest.fixture
def handle() -> FakeHandle:
    return FakeHandle(NODES)


@pytest.fixture
def audit(handle: FakeHandle) -> PlacementAudit:
    return PlacementAudit(None, handle)


def at_home(handle: FakeHandle) -> dict[str, float]:
    """The counter's values by its label."""
    [metric] = handle.metrics.registry.collect()
    return {
        sample.labels["at_home"]: sample.value for sample in metric.samples if sample.name.endswith("_total")
    }


def homed(zone: str) -> Pod:
    return make_pod(annotations={HOME_ZONE: zone})


def test_a_pod_at_home_is_counted(audit: PlacementAudit, handle: FakeHandle) -> None:
    audit.post_bind(CycleState(), homed("zone-a"), "a")
    assert at_home(handle) == {"yes": 1}
    assert handle.events == []


@pytest.mark.parametrize(("node", "zone"), [("b", "zone-b"), ("c", "unknown")])
def test_a_pod_elsewhere_is_counted_and_told(
    audit: PlacementAudit, handle: FakeHandle, node: str, zone: str
) -> None:
    pod = homed("zone-a")
    audit.post_bind(CycleState(), pod, node)
    assert at_home(handle) == {"no": 1}
    [event] = handle.events
    assert (event.regarding, event.type, event.reason) == (pod, "Warning", "OutsideHomeZone")
    assert isinstance(event.related, Node)
    assert event.related.name == node
    assert event.note == f"bound to {node} in zone {zone}, its data is in zone-a"


def test_other_pods_do_not_count(audit: PlacementAudit, handle: FakeHandle) -> None:
    audit.post_bind(CycleState(), make_pod(), "a")
    audit.post_bind(CycleState(), homed("zone-a"), "gone")
    assert at_home(handle) == {}
    assert handle.events == []


@pytest.mark.moorage(plugins=[PlacementAudit], nodes=NODES[:1])
def test_the_event_is_written_to_the_cluster(cluster: Cluster) -> None:
    outcome = cluster.schedule(homed("zone-b"))
    event = cluster.wait_event("OutsideHomeZone", outcome.pod)
    assert (event.type, event.note) == ("Warning", "bound to a in zone zone-a, its data is in zone-b")
