"""The table that explains a decision, node by node and plugin by plugin."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import click

from moorage.cli.tables import folded, print_table, terminal_width

if TYPE_CHECKING:
    from moorage.insight.advice.suggestions import Suggestion
    from moorage.what_if.scenario import Evaluation

Document = dict[str, Any]


def show_table(evaluation: Evaluation, result: Document) -> None:
    """Prints one row per node: whether it fits, what each plugin says, the total."""
    pod = evaluation.pod
    if "preEnqueue" in result:
        gate = result["preEnqueue"]
        _say(f"Pod {pod.key} may not enter the queue: {', '.join(gate['reasons'])} ({gate['plugin']})")
        return
    scores: dict[str, Document] = result.get("scores", {})
    plugins = list(dict.fromkeys(plugin for by_plugin in scores.values() for plugin in by_plugin))
    added: dict[str, dict[str, int]] = result.get("extenderScores", {})
    between = [*plugins, *(["Extenders"] if added else [])]
    rows = []
    for info in evaluation.table.infos:
        by_plugin = scores.get(info.name)
        if by_plugin is None:
            fits = info.name in result["feasible"]
            reasons = "" if fits else _why_not(result, info.name)
            rows.append((info.name, "yes" if fits else "no", *("" for _ in between), "", reasons))
            continue
        cells = [_score(by_plugin.get(plugin)) for plugin in plugins]
        cells += [str(sum(added[info.name].values()))] if added else []
        is_best = info.name in result.get("best", [])
        total = str(result["totals"][info.name])
        rows.append((info.name, "best" if is_best else "yes", *cells, total, ""))
    headings, narrow = (
        ["NODE", "FITS", *map(heading, between), "TOTAL", "WHY NOT"] for heading in (str.upper, stacked)
    )
    print_table(headings, rows, stacked=narrow)
    click.echo("")
    for line in _verdict(result, pod.key):
        _say(line)


def show_advice(suggestions: list[Suggestion]) -> None:
    """Prints what would make the pod fit."""
    from moorage.insight.words.causes import what_would_help

    advice = what_would_help([suggestion.document() for suggestion in suggestions])
    for line in advice or ["No change that was tried would make it fit."]:
        _say(line)


def stacked(plugin: str) -> str:
    """A plugin's name with a word per line, since scores are short."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "\n", plugin).upper()


def _say(text: str) -> None:
    for line in folded(text, terminal_width()):
        click.echo(line)


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


def _verdict(result: Document, pod: str) -> list[str]:
    if "message" in result:
        lines = [f"Pod {pod} stays pending: {result['message']}"]
        candidates: Document = (result.get("postFilter") or {}).get("candidates") or {}
        nominated: list[str] = (result.get("postFilter") or {}).get("nominatedNodes", [])
        lines += [
            f"Preempting on node {node} would help: {', '.join(candidates[node]['victims'])}"
            for node in nominated
        ]
        return lines
    if "best" not in result:
        # The scheduler itself does not score a node that is the only one.
        (only,) = result["feasible"]
        return [f"Pod {pod} goes to node {only}. Scoring fails: {result['schedulerError']['message']}"]
    best = result["best"]
    if len(best) == 1:
        return [f"Pod {pod} goes to node {best[0]}."]
    return [f"Pod {pod} goes to one of the nodes {', '.join(best)}, which are equally good."]
