"""A decision log that also copies, at each decision, what it should tell of it later."""

from __future__ import annotations

from typing import Any, NamedTuple

from moorage.framework.queued_pod import QueuedPod
from moorage.framework.runtime.profile import Profile
from moorage.insight.log.attempts import Attempt
from moorage.insight.log.decision_log import DecisionLog
from moorage.insight.log.entries import Entry
from moorage.scheduler.cycle import Decision

Document = dict[str, Any]


class Truth(NamedTuple):
    """What was decided, read from the decision itself."""

    node: str
    message: str
    feasible: list[str]
    totals: dict[str, int]
    scores: dict[str, dict[str, int]]
    """Node to plugin to score."""
    raw: dict[str, dict[str, int]]
    statuses: dict[str, tuple[str, str, tuple[str, ...]]]
    """Of the nodes that had to be looked at."""


class Witness(DecisionLog):
    def __init__(self, limit_bytes: int = 64 << 20) -> None:
        super().__init__(limit_bytes)
        self.truths: dict[int, Truth] = {}

    def decided(self, profile: Profile, queued: QueuedPod, decision: Decision, seconds: float) -> Entry:
        entry = super().decided(profile, queued, decision, seconds)
        self.truths[entry.number] = truth_of(profile, decision)
        return entry


def truth_of(profile: Profile, decision: Decision) -> Truth:
    nodes, scores = decision.feasible, decision.scores
    names = [] if nodes is None else nodes.names
    totals: dict[str, int] = {}
    by_node: dict[str, dict[str, int]] = {name: {} for name in names}
    raw: dict[str, dict[str, int]] = {name: {} for name in names}
    if scores is not None:
        totals = dict(zip(names, scores.totals.tolist(), strict=True))
        before = {} if scores.parts is None else scores.parts.raw
        for plugin, values in scores.by_plugin.items():
            for place, name in enumerate(names):
                by_node[name][plugin] = int(values[place])
                raw[name][plugin] = int(before[plugin][place] if plugin in before else values[place])
    seen = _looked_at(profile, decision)
    statuses = {
        name: (status.plugin, status.code.label, status.reasons)
        for name, status in decision.statuses.explicit()
        if name in seen and name not in by_node
    }
    message = "" if decision.failure is None else decision.failure.message
    return Truth(decision.node_name, message, names, totals, by_node, raw, statuses)


def _looked_at(profile: Profile, decision: Decision) -> set[str]:
    names, pre = [info.name for info in profile.state.table.infos], decision.pre_filtered
    if decision.nominated_first or pre is None or pre.status is not None or pre.names is not None:
        return set(names)
    return {names[(decision.began_at + place) % len(names)] for place in range(decision.looked_at)}


def told(attempt: Attempt) -> Truth:
    """The same, as the log tells it."""
    summary, matrix = attempt.summary(), attempt.matrix(limit=1_000_000)
    columns = [column["plugin"] for column in matrix["columns"]]
    fitting: list[Document] = [row for row in matrix["rows"] if row["fits"]]
    order = attempt.matrix(only="feasible", sort="total", limit=1_000_000)["rows"]
    assert [row["node"] for row in order] == [row["node"] for row in fitting]
    rejected = [row for row in matrix["rows"] if row["fits"] is False]
    scored = [row for row in fitting if row["total"] is not None]
    return Truth(
        summary["node"] if summary["outcome"] in ("assumed", "bound", "refused") else "",
        summary["message"],
        [row["node"] for row in fitting],
        {row["node"]: row["total"] for row in scored},
        {row["node"]: _cells(columns, row, "normalized") for row in fitting},
        {row["node"]: _cells(columns, row, "raw") for row in fitting},
        {row["node"]: (row["plugin"], row["code"], tuple(row["reasons"])) for row in rejected},
    )


def _cells(columns: list[str], row: Document, what: str) -> dict[str, int]:
    return {column: cell[what] for column, cell in zip(columns, row["scores"], strict=True)}


def contrasts(attempt: Attempt, truth: Truth) -> list[str]:
    """What the log tells otherwise. Nodes that nobody looked at have the verdict of PreFilter, if any."""
    found = told(attempt)
    statuses = {name: each for name, each in found.statuses.items() if name in truth.statuses}
    ours = found._replace(statuses=statuses, feasible=sorted(found.feasible))
    theirs = truth._replace(feasible=sorted(truth.feasible))
    wrong = [
        f"attempt {attempt.number}, {field}: {found} instead of {wanted}"
        for field, found, wanted in zip(Truth._fields, ours, theirs, strict=True)
        if found != wanted
    ]
    if attempt.entry.seen.absent is None and found.statuses != truth.statuses:
        wrong.append(f"attempt {attempt.number}: {found.statuses} instead of {truth.statuses}")
    return wrong
