"""The order in which nodes are looked at: one of each zone in turn."""

from __future__ import annotations

from itertools import count

import numpy as np
from numpy.typing import NDArray

from moorage.api.nodes import Node
from moorage.state.columns import Columns

_REGION = ("failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region")
_ZONE = ("failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone")
_NEW = -1


def zone_of(node: Node) -> tuple[str, str]:
    """Region and zone; the newer labels count where the older ones are missing, not where they are empty."""
    labels = node.metadata.labels
    region, zone = (labels.get(old, labels.get(new, "")) for old, new in (_REGION, _ZONE))
    return region, zone


class ZoneOrder:
    """Zones in order of first appearance, the nodes of a zone in order of arrival.

    Both are columns, so that the order of all rows is a matter of sorting numbers.
    """

    def __init__(self, columns: Columns) -> None:
        self._zone = columns.create()
        self._arrival = columns.create()
        self._place = columns.create(fill=_NEW)
        self._zones: dict[tuple[str, str], _Zone] = {}
        self._zone_of: dict[str, tuple[str, str]] = {}
        self._counter = count(1)
        self._left: dict[str, int] = {}
        """Where nodes stood that went since the order was last restored."""

    def put(self, row: int, node: Node) -> None:
        """A new node goes to the end of its zone, and so does one that changed its zone."""
        name, zone = node.name, zone_of(node)
        known = self._zone_of.get(name)
        if known == zone:
            return
        if known is None:
            self._place[row] = self._left.pop(name, _NEW)
        else:
            self._leave(name)
        joined = self._zones.get(zone)
        if joined is None:
            joined = self._zones[zone] = _Zone(next(self._counter))
        joined.nodes += 1
        self._zone_of[name] = zone
        self._zone[row] = joined.number
        self._arrival[row] = next(self._counter)

    def remove(self, row: int, name: str) -> None:
        """To be called while the node still has its row."""
        self._leave(name)
        if self._place[row] != _NEW:
            self._left[name] = self._place[row]

    def _leave(self, name: str) -> None:
        zone = self._zone_of.pop(name)
        left = self._zones[zone]
        left.nodes -= 1
        if not left.nodes:
            del self._zones[zone]

    def restored(self, size: int) -> NDArray[np.intp]:
        """Which row stands where from now on; the columns are then to be put in this order.

        Round robin: the first node of every zone, the second of every zone, and so on. As in kube-scheduler,
        the nodes stay as they stood if they are the same as then: one that went and came back between two
        cycles keeps its place.
        """
        place = self._place.data[:size]
        are_the_same = not self._left and bool((place != _NEW).all())
        order = np.argsort(place, kind="stable") if are_the_same else self._in_turns(size)
        self._left.clear()
        place[order] = np.arange(size)
        return order

    def _in_turns(self, size: int) -> NDArray[np.intp]:
        zone = self._zone.data[:size]
        by_zone = np.lexsort((self._arrival.data[:size], zone))
        zones = zone[by_zone]
        begins = np.flatnonzero(np.diff(zones, prepend=0))
        turn = np.arange(size) - np.repeat(begins, np.diff(begins, append=size))
        order: NDArray[np.intp] = by_zone[np.lexsort((zones, turn))]
        return order


class _Zone:
    """Its number says when it appeared."""

    __slots__ = ("nodes", "number")

    def __init__(self, number: int) -> None:
        self.number = number
        self.nodes = 0
