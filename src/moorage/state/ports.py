"""Which host ports are taken on which node."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from moorage.state.columns import Column, Columns
from moorage.state.node_info import HostPort, NodeInfo

ANY_ADDRESS = "0.0.0.0"


def conflicts(wanted: Iterable[HostPort], taken: set[HostPort]) -> bool:
    """Whether one of the wanted ports is taken; the address 0.0.0.0 stands for every address."""
    for address, protocol, port in wanted:
        if address == ANY_ADDRESS:
            if any(held[1] == protocol and held[2] == port for held in taken):
                return True
        elif (address, protocol, port) in taken or (ANY_ADDRESS, protocol, port) in taken:
            return True
    return False


class UsedPorts:
    """A column per taken (address, protocol, port). A triple is taken or free: holders are not counted."""

    def __init__(self, columns: Columns) -> None:
        self._columns = columns
        self._by_port: dict[tuple[str, int], dict[str, Column]] = {}
        self._nodes: dict[HostPort, int] = {}

    def take(self, info: NodeInfo, ports: Iterable[HostPort]) -> None:
        for triple in ports:
            if triple in info.used_ports:
                continue
            info.used_ports.add(triple)
            if info.row >= 0:
                self._column(triple)[info.row] = True
                self._nodes[triple] = self._nodes.get(triple, 0) + 1

    def free(self, info: NodeInfo, ports: Iterable[HostPort]) -> None:
        for triple in ports:
            if triple not in info.used_ports:
                continue
            info.used_ports.discard(triple)
            if info.row >= 0:
                self._column(triple)[info.row] = False
                self._nodes[triple] -= 1
                if not self._nodes[triple]:
                    self._drop(triple)

    def held(self, ports: Iterable[HostPort]) -> dict[HostPort, int]:
        """On how many nodes each of these is taken; for `put_back`."""
        return {triple: self._nodes.get(triple, 0) for triple in ports}

    def put_back(self, info: NodeInfo, taken: Iterable[HostPort], held: Mapping[HostPort, int]) -> None:
        """The node has the ports again that it had; of `held`, taking and freeing may have come anywhere."""
        info.used_ports = set(taken)
        for triple, nodes in held.items() if info.row >= 0 else ():
            self._column(triple)[info.row] = triple in info.used_ports
            self._nodes[triple] = nodes
            if not nodes:
                self._drop(triple)

    def conflicting(self, wanted: Iterable[HostPort]) -> list[Column]:
        """The columns in which a node must have no entry for the wanted ports to be free there."""
        found: dict[int, Column] = {}
        for address, protocol, port in wanted:
            for held, column in self._by_port.get((protocol, port), {}).items():
                if address in (held, ANY_ADDRESS) or held == ANY_ADDRESS:
                    found[id(column)] = column
        return list(found.values())

    def _column(self, triple: HostPort) -> Column:
        address, protocol, port = triple
        columns = self._by_port.setdefault((protocol, port), {})
        column = columns.get(address)
        if column is None:
            column = columns[address] = self._columns.create(np.bool_, False)
        return column

    def _drop(self, triple: HostPort) -> None:
        address, protocol, port = triple
        del self._nodes[triple]
        columns = self._by_port[protocol, port]
        del columns[address]
        if not columns:
            del self._by_port[protocol, port]
