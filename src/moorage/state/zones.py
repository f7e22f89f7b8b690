"""The order in which nodes are looked at: one of each zone in turn."""

from __future__ import annotations

from collections.abc import Iterator

from moorage.api.nodes import Node

_REGION = ("failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region")
_ZONE = ("failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone")


def zone_of(node: Node) -> tuple[str, str]:
    """Region and zone; the newer labels count where the older ones are missing, not where they are empty."""
    labels = node.metadata.labels
    region, zone = (labels.get(old, labels.get(new, "")) for old, new in (_REGION, _ZONE))
    return region, zone


class ZoneOrder:
    """Zones in order of first appearance, the nodes of a zone in order of arrival."""

    def __init__(self) -> None:
        self._zones: dict[tuple[str, str], dict[str, None]] = {}
        self._zone_of: dict[str, tuple[str, str]] = {}

    def put(self, node: Node) -> None:
        """A new node goes to the end of its zone, and so does one that changed its zone."""
        zone = zone_of(node)
        if self._zone_of.get(node.name) == zone:
            return
        self.remove(node.name)
        self._zone_of[node.name] = zone
        self._zones.setdefault(zone, {})[node.name] = None

    def remove(self, name: str) -> None:
        zone = self._zone_of.pop(name, None)
        if zone is not None:
            names = self._zones[zone]
            del names[name]
            if not names:
                del self._zones[zone]

    def names(self) -> Iterator[str]:
        """Round robin: the first node of every zone, the second of every zone, and so on."""
        remaining = [iter(names) for names in self._zones.values()]
        while remaining:
            still: list[Iterator[str]] = []
            for zone in remaining:
                name = next(zone, None)
                if name is not None:
                    yield name
                    still.append(zone)
            remaining = still
