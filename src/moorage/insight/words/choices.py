"""Why this node: what came second, and which plugin tipped the scale."""

from __future__ import annotations

from typing import Any

from moorage.insight.words.amounts import counted, duration, number

Document = dict[str, Any]


def why_this_node(detail: Document) -> list[str]:
    """The sentences about an attempt in which a node was chosen."""
    node, fits = detail.get("node", ""), _how_many_fit(detail)
    if int(detail.get("feasible") or 0) == 1:
        return [fits]
    said = []
    ties = int(detail.get("ties") or 0)
    score = detail.get("score")
    second: Document = detail.get("second") or {}
    if ties > 1:
        others = counted(ties - 1, "other")
        said.append(f"{fits}; {node} was taken among equals: {others} had the same best score, {score}.")
    elif second:
        said.append(
            f"{fits}; {node} scored highest with {score}, and {second['node']} came second with "
            f"{second['score']} ({second['by']} less)."
        )
    else:
        said.append(f"{fits}; {node} scored highest{'' if score is None else f' with {score}'}.")
    if (tipped := detail.get("tippedBy")) and (text := _tipped(tipped)):
        said.append(text)
    if strongest := _strongest(detail):
        said.append(strongest)
    return said


def _how_many_fit(detail: Document) -> str:
    feasible, seen = int(detail.get("feasible") or 0), int(detail.get("lookedAt") or 0)
    nodes = int(detail.get("nodes") or 0)
    is_part = 0 < seen < nodes
    if feasible == 1:
        looked = f" of the {seen} that were looked at" if is_part and seen > 1 else ""
        among = "node" if nodes <= 1 or is_part else f"one of {nodes} nodes"
        return f"{detail.get('node', '')} was the only {among}{looked} that fits."
    if is_part:
        part = f"All {seen}" if feasible == seen else f"{feasible} of the {seen}"
        return f"{part} nodes that were looked at fit (there are {nodes})"
    return f"All {nodes} nodes fit" if feasible == nodes else f"{feasible} of {nodes} nodes fit"


def _tipped(tipped: Document) -> str:
    """Empty where nodes were equally good, and any change would do."""
    plugin, then = tipped["plugin"], tipped["then"]
    weight, new = tipped["weight"], tipped["newWeight"]
    if new == weight:
        return ""
    if not new:
        return f"{plugin} tipped the scale: without it, {then} would have been as good."
    how = f"{'less' if new < weight else 'more'} than {number(new)} instead of {number(weight)}"
    return f"{plugin} tipped the scale: if it weighed {how}, {then} would have won."


def _strongest(detail: Document) -> str:
    """The plugins that set the nodes apart, for the chosen one."""
    gains = [
        ((each["chosen"] - each["worst"]) * each.get("weight", 1), each["plugin"])
        for each in detail.get("scores") or ()
        if not each.get("skipped") and each.get("chosen") is not None and each.get("worst") is not None
    ]
    spoke = [(gain, plugin) for gain, plugin in gains if gain > 0]
    if not spoke:
        return ""
    gain, plugin = max(spoke)
    return f"{plugin} spoke most for it: {gain} points more than for the worst node."


def what_came_after(detail: Document) -> str:
    """What became of the chosen node."""
    after: Document = detail.get("after") or {}
    outcome, node = detail.get("outcome", ""), detail.get("node", "")
    if outcome == "bound":
        took = after.get("seconds")
        return f"It was bound {duration(took)} after the decision." if took is not None else "It was bound."
    if outcome == "refused":
        by = after.get("by") or "the scheduler"
        message = after.get("message") or detail.get("message") or ""
        return f"{node} was chosen, and then {by} refused{f': {message}' if message else ''}.".replace(
            "..", "."
        )
    return ""
