"""TopologyPlacementGenerator: a PodGroup with a topology constraint stays in one domain."""

from __future__ import annotations

from moorage.framework.handle import Handle
from moorage.framework.placements import Placement, PlacementGeneratePlugin
from moorage.framework.pod_groups import PodGroups
from moorage.framework.status import Status


class TopologyPlacementGenerator(PlacementGeneratePlugin):
    """Has a group tried on the nodes of each value of the label that its constraint names."""

    def __init__(self, args: None, handle: Handle) -> None:
        super().__init__(args, handle)
        self._groups = handle.shared(PodGroups)

    def generate_placements(self, key: str, everywhere: Placement) -> list[Placement] | Status:
        group = self._groups.get(key)
        if group is None:
            return Status.error(f'podgroup.scheduling.k8s.io "{key.partition("/")[2]}" not found')
        if not group.topology:
            return [everywhere]
        taken = self._taken(key, group.topology)
        if isinstance(taken, Status):
            return taken
        domains: dict[str, set[str]] = {}
        for node in self.handle.nodes:
            value = node.node.labels.get(group.topology)
            if value is not None and taken in (None, value) and node.name in everywhere.nodes:
                domains.setdefault(value, set()).add(node.name)
        return [Placement(value, frozenset(names)) for value, names in domains.items()]

    def _taken(self, key: str, label: str) -> str | Status | None:
        """The domain in which pods of the group are already."""
        found: str | None = None
        for pod in self._groups.scheduled(key):
            placement = self.handle.state.placement(pod.uid)
            assert placement is not None
            value = placement.node.node.labels.get(label)
            if value is None:
                return _unclear(f"no topology domain found for pod {pod.key}")
            if found is not None and found != value:
                return _unclear(f"more than 1 domain found for pod group: {found}, {value}")
            found = value
        return found


def _unclear(why: str) -> Status:
    return Status.error(f"cannot determine domain for already scheduled pods: {why}")
