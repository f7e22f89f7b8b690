"""How many volumes of a driver each node has, and how many it can have.

A driver has columns while some node has a limit for it. A volume counts once on a node, whether one pod uses
it or many, or nobody but an attachment.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from moorage.api.in_tree_volumes import CSIVolume
from moorage.api.storage import CSINode
from moorage.state.columns import Column
from moorage.state.dependents import put_count
from moorage.state.node_table import NodeTable
from moorage.state.objects import Objects

if TYPE_CHECKING:
    from moorage.state.node_info import NodeInfo

NO_LIMIT = 2**62
_NOWHERE: Mapping[str, int] = {}


class UsedVolume(NamedTuple):
    """How often a volume is used on a node, and how many volumes of its driver the node has."""

    volume: CSIVolume
    uses: int
    attached: int


class DriverColumns:
    """The volumes of one driver on every node: `attached` is how many there are, `limit` how many can be."""

    __slots__ = ("attached", "limit", "nodes")

    def __init__(self, attached: Column, limit: Column) -> None:
        self.attached = attached
        self.limit = limit
        self.nodes = 0
        """How many nodes have a limit, those that do not exist included."""


class VolumeLimits:
    """Limits as the CSINodes say; volumes as they are held."""

    def __init__(self, table: NodeTable, objects: Objects) -> None:
        self._table = table
        self._drivers: dict[str, DriverColumns] = {}
        self._limits: dict[str, dict[str, int]] = {}
        self._used_at: dict[CSIVolume, dict[str, int]] = {}
        self._attached_at: dict[str, dict[CSIVolume, int]] = {}
        objects.of(CSINode).follow(self._csi_node_changed)

    def of_driver(self, driver: str) -> DriverColumns | None:
        """The columns of a driver; None if no node has a limit for it."""
        return self._drivers.get(driver)

    def nodes_using(self, volume: CSIVolume) -> Mapping[str, int]:
        """The names of the nodes whose pods use a volume; attachments do not count."""
        return self._used_at.get(volume, _NOWHERE)

    # Volumes that pods use, and those that are attached

    def hold(self, volume: CSIVolume, node: str) -> None:
        nodes = self._used_at.setdefault(volume, {})
        nodes[node] = nodes.get(node, 0) + 1
        if nodes[node] == 1 and volume not in self._attached_at.get(node, ()):
            self._count(volume.driver, node, 1)

    def release(self, volume: CSIVolume, node: str) -> None:
        nodes = self._used_at[volume]
        nodes[node] -= 1
        if nodes[node]:
            return
        del nodes[node]
        if not nodes:
            del self._used_at[volume]
        if volume not in self._attached_at.get(node, ()):
            self._count(volume.driver, node, -1)

    def attach(self, volume: CSIVolume, node: str) -> None:
        volumes = self._attached_at.setdefault(node, {})
        volumes[volume] = volumes.get(volume, 0) + 1
        if volumes[volume] == 1 and node not in self.nodes_using(volume):
            self._count(volume.driver, node, 1)

    def detach(self, volume: CSIVolume, node: str) -> None:
        volumes = self._attached_at[node]
        volumes[volume] -= 1
        if volumes[volume]:
            return
        del volumes[volume]
        if not volumes:
            del self._attached_at[node]
        if node not in self.nodes_using(volume):
            self._count(volume.driver, node, -1)

    def used_at(self, volume: CSIVolume, node: str) -> UsedVolume:
        """For `put_back`."""
        columns, info = self._drivers.get(volume.driver), self._table.by_name.get(node)
        attached = 0 if columns is None or info is None else int(columns.attached[info.row])
        return UsedVolume(volume, self.nodes_using(volume).get(node, 0), attached)

    def put_back(self, used: UsedVolume, node: str) -> None:
        """The volume is used on the node as it was, however far `hold` or `release` came meanwhile."""
        volume, uses, attached = used
        put_count(self._used_at, volume, node, uses)
        columns, info = self._drivers.get(volume.driver), self._table.by_name.get(node)
        if columns is not None and info is not None:
            columns.attached[info.row] = attached

    def _count(self, driver: str, node: str, change: int) -> None:
        columns = self._drivers.get(driver)
        info = self._table.by_name.get(node)
        if columns is not None and info is not None:
            columns.attached.data[info.row] += change

    # Rows and limits

    def fill_row(self, info: NodeInfo) -> None:
        """A node got its row; no pod is counted there yet."""
        for driver, limit in self._limits.get(info.name, {}).items():
            self._drivers[driver].limit[info.row] = limit
        for volume in self._attached_at.get(info.name, ()):
            self._count(volume.driver, info.name, 1)

    def _csi_node_changed(self, old: CSINode | None, new: CSINode | None) -> None:
        name = (new or old or CSINode()).name
        before = self._limits.pop(name, {})
        after = {} if new is None else _limits_of(new)
        if after:
            self._limits[name] = after
        for driver in before.keys() | after.keys():
            if driver not in before:
                self._columns(driver).nodes += 1
            self._set_limit(driver, name, after.get(driver, NO_LIMIT))
            if driver not in after:
                self._let_go(driver)

    def _set_limit(self, driver: str, node: str, limit: int) -> None:
        info = self._table.by_name.get(node)
        if info is not None:
            self._drivers[driver].limit[info.row] = limit

    def _columns(self, driver: str) -> DriverColumns:
        found = self._drivers.get(driver)
        if found is None:
            columns = self._table.columns
            found = self._drivers[driver] = DriverColumns(columns.create(), columns.create(fill=NO_LIMIT))
            self._fill(driver)
        return found

    def _let_go(self, driver: str) -> None:
        columns = self._drivers[driver]
        columns.nodes -= 1
        if not columns.nodes:
            del self._drivers[driver]

    def _fill(self, driver: str) -> None:
        for volume, nodes in self._used_at.items():
            if volume.driver == driver:
                for node in nodes:
                    self._count(driver, node, 1)
        for node, volumes in self._attached_at.items():
            for volume in volumes:
                if volume.driver == driver and node not in self.nodes_using(volume):
                    self._count(driver, node, 1)


def _limits_of(csi_node: CSINode) -> dict[str, int]:
    return {
        driver.name: driver.allocatable.count
        for driver in csi_node.spec.drivers
        if driver.allocatable is not None and driver.allocatable.count is not None
    }
