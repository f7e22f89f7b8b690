"""An attempt of the log as documents: in short, and in all detail."""

from __future__ import annotations

from collections import Counter
from typing import Any

from moorage.insight.log.entries import Entry
from moorage.insight.log.matrix import Matrix, Numbers
from moorage.insight.log.tipping import tipping

Document = dict[str, Any]


class Attempt:
    """A look at an entry of the log. Numbers are decoded when they are asked for."""

    def __init__(self, entry: Entry) -> None:
        self.entry = entry

    @property
    def number(self) -> int:
        return self.entry.number

    def summary(self) -> Document:
        """Which pod, when, and what came of it."""
        entry = self.entry
        return {
            "number": entry.number,
            "time": entry.time,
            "pod": {"namespace": entry.namespace, "name": entry.name, "uid": entry.uid},
            "profile": entry.profile,
            "try": entry.tries,
            "wokenBy": entry.woken_by,
            "outcome": entry.outcome,
            "node": entry.node,
            "message": entry.message,
            "plugins": list(entry.plugins),
            "nodes": entry.seen.order.size,
            "lookedAt": entry.seen.looked_at,
            "feasible": entry.seen.feasible,
            "ties": entry.seen.ties,
            "score": entry.seen.total,
            "seconds": entry.seconds,
            "after": self.after(),
            **({"gang": entry.gang} if entry.gang else {}),
        }

    def after(self) -> Document | None:
        """What happened after a node was chosen; None as long as that is not known."""
        entry = self.entry
        if not entry.ended:
            return None
        return {
            "time": entry.ended,
            "seconds": max(entry.ended - entry.time, 0.0),
            "by": entry.after_by,
            "message": entry.after_message,
        }

    def detail(self) -> Document:
        """The summary, and what each plugin had to say."""
        entry, seen = self.entry, self.entry.seen
        numbers = Numbers(seen, entry.node)
        return {
            **self.summary(),
            "filters": self._filters(numbers),
            "scores": self._scores(numbers),
            "extenders": [
                {"name": name, "chosen": _at(added, numbers.chosen)}
                for name, added in numbers.by_extender.items()
            ],
            "preFilter": {
                "status": "" if seen.pre_filter is None else seen.pre_filter.code,
                "plugin": "" if seen.pre_filter is None else seen.pre_filter.plugin,
                "reasons": [] if seen.pre_filter is None else list(seen.pre_filter.reasons),
                "narrowedTo": seen.narrowed_to,
            },
            "second": numbers.second(),
            "tippedBy": tipping(numbers),
            "preemption": {
                "candidates": [
                    {"node": each.node, "victims": list(each.victims), "pdbViolations": each.pdb_violations}
                    for each in seen.candidates
                ],
                "nominated": entry.node if entry.outcome == "nominated" else "",
            },
            "took": [
                {"point": point, "plugin": plugin, "seconds": seconds}
                for (point, plugin), seconds in ({} if entry.is_alike else seen.took).items()
            ],
        }

    def matrix(
        self,
        *,
        sort: str = "total",
        descending: bool = True,
        search: str = "",
        only: str = "",
        offset: int = 0,
        limit: int = 100,
    ) -> Document:
        """Nodes and plugins: who rejected the node, or what each gave it."""
        matrix = Matrix(self.entry.seen, self.entry.node)
        return matrix.document(
            sort=sort, descending=descending, search=search, only=only, offset=offset, limit=limit
        )

    def _filters(self, numbers: Numbers) -> list[Document]:
        seen = self.entry.seen
        rejected: Counter[str] = Counter()
        reasons: dict[str, Counter[str]] = {}
        for verdict, count in zip(seen.verdicts, numbers.rejections_by_verdict(), strict=True):
            rejected[verdict.plugin] += count
            for reason in verdict.reasons if count else ():
                reasons.setdefault(verdict.plugin, Counter())[reason] += count
        names = [*seen.layout.filters, *(name for name in rejected if name not in seen.layout.filters)]
        return [
            {
                "plugin": name,
                "rejected": rejected[name],
                "reasons": dict(reasons.get(name, {})),
                "skipped": name in seen.layout.skipped,
            }
            for name in names
        ]

    def _scores(self, numbers: Numbers) -> list[Document]:
        found = []
        for name, weight in self.entry.seen.layout.weights:
            scores = numbers.by_plugin.get(name)
            some = scores is not None and len(scores)
            found.append(
                {
                    "plugin": name,
                    "weight": weight,
                    "skipped": f"score/{name}" in self.entry.seen.layout.skipped,
                    "chosen": None if scores is None else _at(scores, numbers.chosen),
                    "best": int(scores.max()) if scores is not None and some else None,
                    "worst": int(scores.min()) if scores is not None and some else None,
                }
            )
        return found


def _at(numbers: Any, place: int | None) -> int | None:
    return None if place is None or not len(numbers) else int(numbers[place])
