"""The table that explains a decision, node by node and plugin by plugin."""

from __future__ import annotations

from typing import Any

import click
from rich.console import Console
from rich.table import Table

from moorage.scheduler.scenario import Evaluation

Document = dict[str, Any]

_WIDE = 250


def show_table(evaluation: Evaluation) -> None:
    """Prints one row per node: whether it fits, what each plugin says, the total."""
    result = evaluation.document()
    pod = evaluation.pod
    if "preEnqueue" in result:
        gate = result["preEnqueue"]
        click.echo(f"Pod {pod.key} may not enter the queue: {', '.join(gate['reasons'])} ({gate['plugin']})")
        return
    nodes = evaluation.table.infos
    scores: dict[str, Document] = result.get("scores", {})
    plugins = list(dict.fromkeys(plugin for by_plugin in scores.values() for plugin in by_plugin))
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("NODE", "FITS", *(plugin.upper() for plugin in plugins), "TOTAL", "WHY NOT"):
        table.add_column(heading, no_wrap=heading != "WHY NOT", overflow="fold")
    best = result.get("best", [])
    for info in nodes:
        by_plugin = scores.get(info.name)
        if by_plugin is None:
            table.add_row(info.name, "no", *("" for _ in plugins), "", _why_not(result, info.name))
            continue
        cells = [_score(by_plugin.get(plugin)) for plugin in plugins]
        total = str(result["totals"][info.name])
        table.add_row(info.name, "best" if info.name in best else "yes", *cells, total, "")
    console = Console(highlight=False, width=None if _is_terminal() else _WIDE)
    console.print(table)
    click.echo("")
    click.echo(_verdict(result, pod.key))


def _is_terminal() -> bool:
    import sys

    return sys.stdout.isatty()


def _score(score: Document | None) -> str:
    """A score as weight times value, for example `2x50`."""
    if score is None:
        return ""
    raw, weighted = score["raw"], score["weighted"]
    if raw and weighted != raw:
        return f"{weighted // raw}x{raw}"
    return str(raw)


def _why_not(result: Document, node: str) -> str:
    """Every filter that objects, not only the first."""
    filters: dict[str, Document] = result.get("filter", {}).get(node, {})
    objections = [
        f"{plugin}: {', '.join(answer['reasons'])}"
        for plugin, answer in filters.items()
        if answer["code"] != "Success"
    ]
    if objections:
        return "; ".join(objections)
    status = result.get("nodeStatus", {}).get(node)
    if status is not None:
        return f"{status['plugin']}: {', '.join(status['reasons'])}"
    pre: Document = result.get("preFilter", {})
    if pre.get("status") not in (None, "Success"):
        return f"{pre['plugin'] or 'PreFilter'}: {', '.join(pre['reasons'])}"
    if result.get("nominatedFirst"):
        return "the pod is nominated to another node, which fits"
    return "left out by PreFilter"


def _verdict(result: Document, pod: str) -> str:
    if "message" in result:
        lines = [f"Pod {pod} stays pending: {result['message']}"]
        candidates: Document = (result.get("postFilter") or {}).get("candidates") or {}
        nominated: list[str] = (result.get("postFilter") or {}).get("nominatedNodes", [])
        lines += [
            f"Preempting on node {node} would help: {', '.join(candidates[node]['victims'])}"
            for node in nominated
        ]
        return "\n".join(lines)
    best = result["best"]
    if len(best) == 1:
        return f"Pod {pod} goes to node {best[0]}."
    return f"Pod {pod} goes to one of the nodes {', '.join(best)}, which are equally good."
