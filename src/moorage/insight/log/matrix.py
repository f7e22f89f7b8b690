"""The numbers of an attempt, decoded: which nodes fit, what plugins gave them, who rejected the others."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moorage.insight.log.entries import Seen, row_type
from moorage.state.columns import Int64s

Document = dict[str, Any]
FEASIBLE, REJECTED, UNSEEN = "feasible", "rejected", "unseen"


class Numbers:
    """The arrays of an attempt, over the nodes that fit in the order of the search."""

    def __init__(self, seen: Seen, chosen: str = "") -> None:
        self.seen = seen
        self.arrays = seen.arrays
        self._chosen = chosen

    @cached_property
    def names(self) -> list[str]:
        return list(self.seen.order.names())

    @cached_property
    def rows(self) -> Int64s:
        """Of the nodes that fit."""
        fitting, size = self.arrays.fitting, self.seen.order.size
        if fitting is not None:
            return _rows(fitting, size)
        stretch = self._stretch
        return stretch[~np.isin(stretch, self.rejected[0])]

    @cached_property
    def _stretch(self) -> Int64s:
        """The rows that were looked at, in the order of the search."""
        size = self.seen.order.size
        rows: Int64s = (self.seen.begin + np.arange(self.seen.looked_at)) % max(size, 1)
        return rows

    @cached_property
    def chosen(self) -> int | None:
        """Where the chosen node stands among those that fit."""
        if not self._chosen or self._chosen not in self.names:
            return None
        found = np.flatnonzero(self.rows == self.names.index(self._chosen))
        return int(found[0]) if len(found) else None

    @cached_property
    def by_plugin(self) -> dict[str, Int64s]:
        """What each plugin gave, 0 to 100, before its weight."""
        count, found = len(self.rows), dict[str, Int64s]()
        for name, scores in zip(self.seen.layout.summed, self._summed(), strict=False):
            found[name] = scores
        for part in self.arrays.parts:
            if isinstance(part.scores, int):
                found[part.plugin] = np.full(count, part.scores, dtype=np.int64)
            else:
                found[part.plugin] = np.frombuffer(part.scores, dtype=np.int8).astype(np.int64)
        return {name: found[name] for name, _ in self.seen.layout.weights if name in found}

    def _summed(self) -> list[Int64s]:
        if self.seen.history is not None:
            return list(self.seen.history.at(self.seen.moment)[:, self.rows].astype(np.int64))
        summed = np.frombuffer(self.arrays.summed, dtype=np.int8).astype(np.int64)
        return list(summed.reshape(len(self.seen.layout.summed), -1)) if len(summed) else []

    def raw(self, plugin: str) -> Int64s | None:
        """What a plugin gave before that was normalized; None if it is the same."""
        for part in self.arrays.parts:
            if part.plugin == plugin and part.raw:
                wide = len(part.raw) > 4 * len(self.rows)
                return np.frombuffer(part.raw, dtype=np.int64 if wide else np.int32).astype(np.int64)
        return None

    @cached_property
    def by_extender(self) -> dict[str, Int64s]:
        return {name: np.frombuffer(added, dtype=np.int64) for name, added in self.arrays.extenders}

    @cached_property
    def weights(self) -> dict[str, int]:
        return dict(self.seen.layout.weights)

    @cached_property
    def totals(self) -> Int64s:
        """The weighted sums; empty if nodes were not scored."""
        if not self.by_plugin and not self.by_extender:
            return np.zeros(0, dtype=np.int64)
        totals = np.zeros(len(self.rows), dtype=np.int64)
        for name, scores in self.by_plugin.items():
            totals += scores * self.weights[name]
        for added in self.by_extender.values():
            totals += added
        return totals

    def second(self) -> Document | None:
        """The best node beside the chosen one, and by how much it is behind."""
        place = self.chosen
        if place is None or len(self.totals) < 2:
            return None
        others = self.totals.copy()
        others[place] = np.iinfo(np.int64).min
        other = int(others.argmax())
        score = int(self.totals[other])
        return {
            "node": self.names[int(self.rows[other])],
            "score": score,
            "by": int(self.totals[place]) - score,
        }

    @cached_property
    def rejected(self) -> tuple[Int64s, Int64s]:
        """The rows that were rejected, and the place of each one's verdict."""
        size = self.seen.order.size
        if self.arrays.mask:
            bits = np.frombuffer(self.arrays.mask, dtype=np.uint8)
            rows = np.unpackbits(bits, count=size).nonzero()[0].astype(np.int64)
        else:
            rows = _rows(self.arrays.rejected, size)
        if self.arrays.codes:
            small = len(self.seen.verdicts) <= 256
            codes = np.frombuffer(self.arrays.codes, dtype=np.uint8 if small else np.uint32).astype(np.int64)
        else:
            codes = np.zeros(len(rows), dtype=np.int64)
        if self.arrays.fitting is None and self.seen.looked_at:
            # Filters may have been asked about some nodes behind those that were needed.
            wanted = np.isin(rows, self._stretch)
            rows, codes = rows[wanted], codes[wanted]
        return rows, codes

    def rejections_by_verdict(self) -> list[int]:
        counts: list[int] = np.bincount(self.rejected[1], minlength=len(self.seen.verdicts)).tolist()
        return counts


class Matrix:
    """One row per node of the cluster as it was."""

    def __init__(self, seen: Seen, chosen: str) -> None:
        self._numbers = numbers = Numbers(seen, chosen)
        self._seen = seen
        self._chosen = chosen
        size = seen.order.size
        self._place = np.full(size, -1, dtype=np.int64)
        """By row: where it stands among the nodes that fit."""
        self._place[numbers.rows] = np.arange(len(numbers.rows))
        self._verdict = np.full(size, -1, dtype=np.int64)
        self._verdict[numbers.rejected[0]] = numbers.rejected[1]

    def document(
        self, *, sort: str, descending: bool, search: str, only: str, offset: int, limit: int
    ) -> Document:
        """A page of it. `sort` is `total`, `name` or a plugin; raises ValueError for any other."""
        wanted = self._wanted(search, only)
        ordered = wanted[self._order(wanted, sort, descending)]
        ranks = self._ranks()
        columns = [
            {"plugin": name, "weight": weight}
            for name, weight in self._seen.layout.weights
            if name in self._numbers.by_plugin
        ]
        page = ordered[offset : offset + limit].tolist()
        return {
            "columns": [*columns, *({"extender": name} for name in self._numbers.by_extender)],
            "total": self._seen.order.size,
            "matching": len(ordered),
            "rows": [self._row(row, ranks) for row in page],
        }

    def _wanted(self, search: str, only: str) -> NDArray[np.intp]:
        fits = self._place >= 0
        absent = self._seen.absent is not None
        rejected = (self._verdict >= 0) & ~fits if not absent else ~fits
        kinds = {"": None, FEASIBLE: fits, REJECTED: rejected, UNSEEN: ~fits & ~rejected}
        if only not in kinds:
            raise ValueError(f"only: {only!r} is none of feasible, rejected, unseen")
        chosen = kinds[only]
        rows = np.arange(len(fits)) if chosen is None else np.flatnonzero(chosen)
        if search:
            names = self._numbers.names
            rows = np.array(
                [row for row in rows.tolist() if self._matches(row, names[row], search)], dtype=np.intp
            )
        return rows

    def _matches(self, row: int, name: str, search: str) -> bool:
        if search in name:
            return True
        verdict = int(self._verdict[row])
        if verdict < 0:
            return False
        found = self._seen.verdicts[verdict]
        return search in found.plugin or any(search in reason for reason in found.reasons)

    def _order(self, rows: NDArray[np.intp], sort: str, descending: bool) -> NDArray[np.intp]:
        numbers = self._numbers
        if sort == "name":
            names = numbers.names
            order = sorted(range(len(rows)), key=lambda place: names[int(rows[place])], reverse=descending)
            return np.array(order, dtype=np.intp)
        if sort == "total":
            values = numbers.totals
        elif sort in numbers.by_plugin:
            values = numbers.by_plugin[sort]
        elif sort in numbers.by_extender:
            values = numbers.by_extender[sort]
        elif sort in numbers.weights:
            values = np.zeros(0, dtype=np.int64)
        else:
            raise ValueError(f"sort: {sort!r} is neither total nor name nor a plugin that scores")
        places = self._place[rows]
        fits = places >= 0
        keys = np.zeros(len(rows), dtype=np.int64)
        if len(values):
            keys[fits] = values[places[fits]]
        # Nodes that fit come first, then those that were rejected; equal ones as they were looked at.
        kind = np.where(fits, 0, np.where(self._verdict[rows] >= 0, 1, 2))
        position = np.where(fits, places, rows)
        return np.lexsort((position, -keys if descending else keys, kind))

    def _ranks(self) -> Int64s:
        """By place among the nodes that fit: 1 for the best; those that are equal have the same."""
        totals = self._numbers.totals
        if not len(totals):
            return np.zeros(0, dtype=np.int64)
        ordered = np.sort(-totals)
        return np.searchsorted(ordered, -totals) + 1

    def _row(self, row: int, ranks: Int64s) -> Document:
        numbers, place, verdict = self._numbers, int(self._place[row]), int(self._verdict[row])
        name = numbers.names[row]
        if place >= 0:
            return {
                "node": name,
                "fits": True,
                "total": int(numbers.totals[place]) if len(numbers.totals) else None,
                "rank": int(ranks[place]) if len(ranks) else None,
                "chosen": name == self._chosen,
                "scores": self._cells(place),
            }
        found = self._seen.verdicts[verdict] if verdict >= 0 else self._seen.absent
        if found is None:
            return {"node": name, "fits": None, "scores": None}
        return {
            "node": name,
            "fits": False,
            "plugin": found.plugin,
            "code": found.code,
            "reasons": list(found.reasons),
            "scores": None,
        }

    def _cells(self, place: int) -> list[Document]:
        numbers = self._numbers
        cells = []
        for name, scores in numbers.by_plugin.items():
            raw, value = numbers.raw(name), int(scores[place])
            cells.append(
                {
                    "raw": value if raw is None else int(raw[place]),
                    "normalized": value,
                    "weighted": value * numbers.weights[name],
                }
            )
        cells += [{"weighted": int(added[place])} for added in numbers.by_extender.values()]
        return cells


def _rows(rows: bytes, size: int) -> Int64s:
    return np.frombuffer(rows, dtype=row_type(size)).astype(np.int64)
