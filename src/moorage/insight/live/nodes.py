"""The nodes in columns, and what changed of them since somebody looked."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from moorage.api.taints import Taint
from moorage.insight.live.encoding import shortened
from moorage.insight.live.problems import bad_question
from moorage.state.node_table import NodeTable

Document = dict[str, Any]

MOST_LABEL_KEYS = 8
_LABEL_KEYS_TOLD = 1000
_LONGEST_LABEL = 256
_FIRST = ("cpu", "memory", "pods", "ephemeral-storage")
_MOST_RESOURCES = 64
_MOST_ROWS = 1000
"""More rows than this are not told one by one."""


class NodeDocuments:
    """What is told of the node table; it is only read.

    `version` changes when anything does but the usage: names, order, labels, taints, cordons, allocatable.
    """

    def __init__(self, table: NodeTable, first_version: int) -> None:
        self._table = table
        self._version = first_version
        self._seen: tuple[int, ...] = ()
        self._label_keys: tuple[int, list[str]] = (-1, [])

    @property
    def version(self) -> int:
        table, size = self._table, len(self._table)
        digest = 0
        columns = [column for name in table.allocatable.names() if (column := table.allocatable.find(name))]
        for column in (*columns, table.taint_code, table.unschedulable):
            digest = zlib.crc32(column.data[:size].tobytes(), digest)
        seen = (table.order_version, table.labels_version, table.taint_sets.version, len(columns), digest)
        if seen != self._seen:
            self._seen = seen
            self._version += 1
        return self._version

    def document(self, labels: Sequence[str] = (), begin: int = 0, limit: int = 20_000) -> Document:
        """The rows from `begin` on, at most `limit` of them."""
        if len(labels) > MOST_LABEL_KEYS:
            raise bad_question(f"labels: {len(labels)} keys are too many; give at most {MOST_LABEL_KEYS}")
        table = self._table
        end = min(len(table), begin + limit)
        infos = table.infos[begin:end]
        rows = slice(begin, end)
        resources = self.resources()
        return {
            "names": [info.name for info in infos],
            "resources": resources,
            "allocatable": {name: self._amounts(table.allocatable.find, name, rows) for name in resources},
            "requested": self.requested(resources, rows),
            "unschedulable": table.unschedulable.data[rows].tolist(),
            "taints": self._taints(rows),
            "labelKeys": self._all_label_keys(),
            "labels": {key: _coded([info.node.metadata.labels.get(key) for info in infos]) for key in labels},
            "version": self.version,
        }

    def resources(self) -> list[str]:
        """The names of all resources, the usual ones first."""
        table = self._table
        names = {*table.allocatable.names(), *table.requested.names(), "pods"}
        others = sorted(names.difference(_FIRST))
        return [*(name for name in _FIRST if name in names), *others][:_MOST_RESOURCES]

    def requested(self, resources: Iterable[str], rows: Any) -> dict[str, list[int]]:
        """What is in use of these resources on these rows."""
        table = self._table
        requested = {name: self._amounts(table.requested.find, name, rows) for name in resources}
        requested["pods"] = table.pod_count.data[rows].tolist()
        return requested

    def _amounts(self, find: Callable[[str], Any], name: str, rows: Any) -> list[int]:
        column = find(name)
        if column is None:
            return [0] * len(self._table.pod_count.data[rows])
        amounts: list[int] = column.data[rows].tolist()
        return amounts

    def _taints(self, rows: slice) -> list[list[str]]:
        codes = self._table.taint_code.data[rows].tolist()
        sets = self._table.taint_sets.values
        texts = {code: [taint_text(taint) for taint in sets[code] or ()] for code in set(codes)}
        return [texts[code] for code in codes]

    def _all_label_keys(self) -> list[str]:
        version = self._table.labels_version
        if self._label_keys[0] != version:
            keys: set[str] = set()
            for info in self._table.infos:
                keys.update(info.labels)
            self._label_keys = (version, sorted(keys)[:_LABEL_KEYS_TOLD])
        return self._label_keys[1]


class Usage:
    """Tells what changed of the usage since it was asked last."""

    def __init__(self, nodes: NodeDocuments, table: NodeTable) -> None:
        self._nodes, self._table = nodes, table
        self._version = nodes.version
        self._position = table.usage_changes.end

    def changes(self) -> Document | None:
        """The rows that changed, all of them if there are too many; None if nothing did."""
        changed = self._table.usage_changes.since(self._position)
        self._position = self._table.usage_changes.end
        version = self._nodes.version
        is_new, self._version = version != self._version, version
        if changed is not None and not changed and not is_new:
            return None
        rows = None if changed is None or is_new else sorted(set(changed))
        if rows is None or len(rows) > min(_MOST_ROWS, len(self._table) // 2) or rows[-1] >= len(self._table):
            return self.all()
        resources = self._nodes.resources()
        return {"version": version, "rows": rows, "requested": self._nodes.requested(resources, rows)}

    def all(self) -> Document:
        """The whole columns."""
        rows = slice(0, len(self._table))
        requested = self._nodes.requested(self._nodes.resources(), rows)
        return {"version": self._version, "all": True, "requested": requested}


def taint_text(taint: Taint) -> str:
    """As kubectl writes it: `key=value:Effect`."""
    value = f"={taint.value}" if taint.value else ""
    return shortened(f"{taint.key}{value}:{taint.effect}", _LONGEST_LABEL)


def _coded(values: Iterable[str | None]) -> Document:
    """Values as codes into a list of those there are; 0 where there is none."""
    known: dict[str, int] = {}
    codes = [0 if value is None else known.setdefault(value, len(known) + 1) for value in values]
    return {"values": ["", *(shortened(value, _LONGEST_LABEL) for value in known)], "codes": codes}
