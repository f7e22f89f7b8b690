"""An evaluation told as the log tells an attempt: its detail, and the matrix of nodes and plugins."""

from __future__ import annotations

import re
from typing import Any

Document = dict[str, Any]

_ALL_NODES = re.compile(r"0/(\d+) nodes are available:")
_LEFT_OUT = re.compile(r"(?<=\d )node\(s\) didn't satisfy plugin\(s\) \[[^\]]*\]")


def detail_of_try(document: Document) -> Document:
    """The same as the log tells of an attempt, as far as an evaluation has it."""
    message: str = document.get("message") or ""
    statuses: dict[str, Document] = document.get("nodeStatus") or {}
    feasible: list[str] = document.get("feasible") or []
    best: list[str] = document.get("best") or []
    found = _ALL_NODES.match(message)
    nodes = int(found[1]) if found else int(document.get("nodes") or len({*statuses, *feasible}))
    pre: Document = document.get("preFilter") or {}
    detail: Document = {
        "outcome": _outcome(document),
        "node": best[0] if best else "",
        "message": message,
        "nodes": nodes,
        "lookedAt": nodes,
        "feasible": len(feasible),
        "ties": len(best),
        "score": document["totals"][best[0]] if best else None,
        "plugins": sorted({status["plugin"] for status in statuses.values() if status.get("plugin")}),
        "filters": _filters(document, statuses, message, nodes),
        "preFilter": {
            "status": "" if pre.get("status", "Success") == "Success" else pre["status"],
            "plugin": pre.get("plugin", ""),
            "reasons": pre.get("reasons", []),
            "narrowedTo": pre.get("nodeNames"),
        },
        "scores": [],
        "extenders": [],
        "took": [],
    }
    if best:
        detail |= _scores(document, best[0])
    after: Document = document.get("postFilter") or {}
    candidates: Document = after.get("candidates") or {}
    nominated: list[str] = after.get("nominatedNodes") or []
    detail["preemption"] = {
        "candidates": [
            {"node": node, "victims": each["victims"], "pdbViolations": each.get("numPDBViolations", 0)}
            for node, each in candidates.items()
        ],
        "nominated": nominated[0] if nominated else "",
    }
    return detail


def _outcome(document: Document) -> str:
    if "schedulerError" in document:
        return "error"
    if document.get("best"):
        return "assumed"
    return "nominated" if (document.get("postFilter") or {}).get("nominatedNodes") else "unschedulable"


def _filters(document: Document, statuses: dict[str, Document], message: str, nodes: int) -> list[Document]:
    by_plugin: dict[str, dict[str, int]] = {}
    rejected: dict[str, int] = {}
    for status in statuses.values():
        plugin = status.get("plugin") or ""
        rejected[plugin] = rejected.get(plugin, 0) + 1
        reasons = by_plugin.setdefault(plugin, {})
        for reason in status.get("reasons") or ():
            reasons[reason] = reasons.get(reason, 0) + 1
    unseen = nodes - len(statuses) - len(document.get("feasible") or ())
    if (left_out := _LEFT_OUT.search(message)) and unseen > 0:
        by_plugin.setdefault("", {})[left_out[0]] = unseen
        rejected[""] = rejected.get("", 0) + unseen
    skipped: list[str] = (document.get("preFilter") or {}).get("skippedFilters") or []
    order = dict.fromkeys(plugin for answers in (document.get("filter") or {}).values() for plugin in answers)
    names = [*order, *(plugin for plugin in by_plugin if plugin not in order)]
    told = [
        {
            "plugin": plugin,
            "rejected": rejected.get(plugin, 0),
            "reasons": by_plugin.get(plugin, {}),
            "skipped": False,
        }
        for plugin in names
    ]
    return told + [{"plugin": each, "rejected": 0, "reasons": {}, "skipped": True} for each in skipped]


def _scores(document: Document, chosen: str) -> Document:
    scores: dict[str, Document] = document.get("scores") or {}
    totals: dict[str, int] = document["totals"]
    told = []
    for plugin, score in scores.get(chosen, {}).items():
        values = [by_plugin[plugin]["raw"] for by_plugin in scores.values()]
        told.append(
            {
                "plugin": plugin,
                "weight": _weight(scores, plugin),
                "skipped": False,
                "chosen": score["raw"],
                "best": max(values),
                "worst": min(values),
            }
        )
    told += [
        {"plugin": each, "weight": 0, "skipped": True, "chosen": None, "best": None, "worst": None}
        for each in document.get("skippedScores") or ()
    ]
    result: Document = {"scores": told}
    others = {node: total for node, total in totals.items() if node != chosen}
    if others:
        second = min(others, key=lambda node: (-others[node], node))
        behind = totals[chosen] - others[second]
        result["second"] = {"node": second, "score": others[second], "by": behind}
        if tipped := tipped_by(scores, totals, chosen):
            result["tippedBy"] = tipped
    return result


def _weight(scores: dict[str, Document], plugin: str) -> int:
    return next(
        (
            by_plugin[plugin]["weighted"] // by_plugin[plugin]["raw"]
            for by_plugin in scores.values()
            if by_plugin[plugin]["raw"]
        ),
        0,
    )


def tipped_by(scores: dict[str, Document], totals: dict[str, int], chosen: str) -> Document | None:
    """The smallest change of one plugin's weight that would turn the decision; beyond it `then` wins."""
    found: list[tuple[float, str, int, float, str]] = []
    for plugin in scores.get(chosen, {}):
        weight = _weight(scores, plugin)
        if not weight:
            continue
        for node, by_plugin in scores.items():
            lead = totals[chosen] - totals[node]
            gap = by_plugin[plugin]["raw"] - scores[chosen][plugin]["raw"]
            if node == chosen or not gap or lead <= 0:
                continue
            new = weight + lead / gap
            if new >= 0:
                found.append((abs(new - weight), plugin, weight, new, node))
    if not found:
        return None
    _, plugin, weight, new, node = min(found)
    return {"plugin": plugin, "weight": weight, "newWeight": round(new, 4), "then": node}


def matrix_of_try(document: Document) -> Document:
    """Nodes in rows, the best first, and the plugins that score in columns."""
    scores: dict[str, Document] = document.get("scores") or {}
    totals: dict[str, int] = document.get("totals") or {}
    best: list[str] = document.get("best") or []
    added: dict[str, dict[str, int]] = document.get("extenderScores") or {}
    plugins = list(dict.fromkeys(plugin for by_plugin in scores.values() for plugin in by_plugin))
    columns = [{"plugin": plugin, "weight": _weight(scores, plugin)} for plugin in plugins]
    rows: list[Document] = []
    for rank, node in enumerate(sorted(totals, key=lambda name: (-totals[name], name)), 1):
        cells = [
            {
                "raw": scores[node][plugin]["raw"],
                "normalized": scores[node][plugin]["raw"],
                "weighted": scores[node][plugin]["weighted"],
            }
            for plugin in plugins
        ]
        row: Document = {"node": node, "fits": True, "total": totals[node], "rank": rank}
        row |= {"chosen": node in best, "scores": cells}
        if added:
            row["extenders"] = sum(added.get(node, {}).values())
        rows.append(row)
    unscored = [node for node in document.get("feasible") or () if node not in totals]
    rows += [{"node": node, "fits": True, "scores": None} for node in unscored]
    for node, status in (document.get("nodeStatus") or {}).items():
        rows.append(
            {
                "node": node,
                "fits": False,
                "plugin": status.get("plugin", ""),
                "code": status["code"],
                "reasons": _every_objection(document, node, status),
                "scores": None,
            }
        )
    return {"columns": columns, "total": len(rows), "matching": len(rows), "rows": rows}


def _every_objection(document: Document, node: str, status: Document) -> list[str]:
    """What every filter says against a node, since each was asked; otherwise what the first did."""
    answers: dict[str, Document] = (document.get("filter") or {}).get(node) or {}
    said = [reason for answer in answers.values() for reason in answer.get("reasons") or ()]
    return said or list(status.get("reasons") or ())
