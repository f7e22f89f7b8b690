"""The table that explains a decision, node by node and plugin by plugin."""

from __future__ import annotations

import re
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from moorage.what_if.scenario import Evaluation

Document = dict[str, Any]

_ROOM_FOR_REASONS = 30
_UNLIMITED = 1_000_000


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
    console = Console(highlight=False, markup=False, emoji=False)
    table = Table(box=None, pad_edge=False, header_style="bold")
    headings = [_heading(plugin, stacked=console.is_terminal) for plugin in plugins]
    added: dict[str, dict[str, int]] = result.get("extenderScores", {})
    headings += ["EXTENDERS"] if added else []
    for heading in ("NODE", "FITS", *headings, "TOTAL"):
        table.add_column(heading, no_wrap=True)
    table.add_column("WHY NOT", overflow="fold", min_width=_ROOM_FOR_REASONS)
    best = result.get("best", [])
    for info in nodes:
        by_plugin = scores.get(info.name)
        if by_plugin is None:
            fits = info.name in result["feasible"]
            reasons = "" if fits else _why_not(result, info.name)
            table.add_row(info.name, "yes" if fits else "no", *("" for _ in headings), "", reasons)
            continue
        cells = [_score(by_plugin.get(plugin)) for plugin in plugins]
        cells += [str(sum(added[info.name].values()))] if added else []
        total = str(result["totals"][info.name])
        table.add_row(info.name, "best" if info.name in best else "yes", *cells, total, "")
    needed = console.measure(table, options=console.options.update(max_width=_UNLIMITED))
    # In a file every node is one line; on a terminal only reasons are folded, and nothing is ever cut.
    console.width = max(console.width, needed.minimum) if console.is_terminal else needed.maximum
    console.print(table)
    click.echo("")
    click.echo(_verdict(result, pod.key))


def _heading(plugin: str, *, stacked: bool) -> str:
    """A plugin's name; on a terminal a word per line, since scores are short."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "\n", plugin).upper() if stacked else plugin.upper()


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
        return f"{status['plugin'] or 'an extender'}: {', '.join(status['reasons'])}"
    pre: Document = result.get("preFilter", {})
    if pre.get("status") not in (None, "Success"):
        return f"{pre['plugin'] or 'PreFilter'}: {', '.join(pre['reasons'])}"
    if result.get("nominatedFirst"):
        return "the pod is nominated to another node, which fits"
    return "left out by PreFilter" if pre.get("nodeNames") is not None else "left out by an extender"


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
    if "best" not in result:
        # The scheduler itself does not score a node that is the only one.
        (only,) = result["feasible"]
        return f"Pod {pod} goes to node {only}. Scoring fails: {result['schedulerError']['message']}"
    best = result["best"]
    if len(best) == 1:
        return f"Pod {pod} goes to node {best[0]}."
    return f"Pod {pod} goes to one of the nodes {', '.join(best)}, which are equally good."
