from typing import Any

from moorage import CycleState, Handle, Pod, PostBindPlugin

HOME_ZONE = "example.com/home-zone"
"""The annotation that says in which zone a pod's data lives."""
ZONE = "topology.kubernetes.io/zone"


class PlacementAudit(PostBindPlugin):
    """Tells, in a metric and in events, which pods run outside of the zone where their data lives."""

    def __init__(self, args: Any, handle: Handle) -> None:
        super().__init__(args, handle)
        self._placed = handle.metrics.counter(
            "placement_audit_pods_total",
            "Bound pods that have a home zone, by whether they are in it.",
            ["namespace", "at_home"],
        )

    def post_bind(self, cycle: CycleState, pod: Pod, node_name: str) -> None:
        home, node = pod.annotations.get(HOME_ZONE), self.handle.node(node_name)
        if home is None or node is None:
            return
        zone = node.labels.get(ZONE, "")
        self._placed.labels(pod.namespace, "yes" if zone == home else "no").inc()
        if zone != home:
            note = f"bound to {node_name} in zone {zone or 'unknown'}, its data is in {home}"
            self.handle.recorder.event(pod, node.node, "Warning", "OutsideHomeZone", "Binding", note)
