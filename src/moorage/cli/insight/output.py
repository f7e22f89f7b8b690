"""How documents about decisions are shown: words, tables, and formats for programs."""

from __future__ import annotations

import csv
import io
import time
from collections.abc import Iterable
from typing import Any

import click

from moorage.cli.decision_table import stacked
from moorage.cli.setup import print_json
from moorage.cli.tables import folded, print_table, terminal_width
from moorage.cli.terminal.printable import printable
from moorage.insight.words.amounts import duration

Document = dict[str, Any]
Table = tuple[list[str], list[list[str]]]


def say(words: Iterable[str]) -> None:
    """Sentences, each folded to the width of the terminal."""
    for text in words:
        for line in folded(printable(text), terminal_width()):
            click.echo(line)


def say_below(words: Iterable[str]) -> None:
    """As `say`, set in: what belongs to the line above."""
    for text in words:
        for line in folded(printable(text), terminal_width(), first="  "):
            click.echo(line)


def print_yaml(document: Document) -> None:
    import yaml

    click.echo(yaml.dump(document, Dumper=yaml.CSafeDumper, sort_keys=False, allow_unicode=False), nl=False)


def print_document(document: Document, output: str) -> None:
    if output == "json":
        print_json(document)
    else:
        print_yaml(document)


def show(title: str, table: Table) -> None:
    """A table under a line of its own."""
    headings, rows = table
    click.echo("")
    if not rows:
        click.echo(f"{title}: none.")
        return
    click.echo(f"{title}:")
    cleaned = [[printable(cell) for cell in row] for row in rows]
    named = [printable(heading) for heading in headings]
    print_table([name.upper() for name in named], cleaned, stacked=[stacked(name) for name in named])


def print_csv(table: Table) -> None:
    """For spreadsheets and programs."""
    headings, rows = table
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([printable(heading) for heading in headings])
    writer.writerows([[_plain_cell(printable(cell)) for cell in row] for row in rows])
    click.echo(text.getvalue(), nl=False)


def _plain_cell(text: str) -> str:
    """Spreadsheets take cells that begin so for formulas."""
    return f"'{text}" if text[:1] in ("=", "+", "@") else text


def nodes_table(matrix: Document) -> Table:
    """A row per node: whether it fits, its score by plugin and in all, or why not."""
    columns: list[Document] = matrix["columns"]
    has_extenders = any("extenders" in row for row in matrix["rows"])
    headings = ["NODE", "FITS", *(column["plugin"] for column in columns)]
    headings += [*(["EXTENDERS"] if has_extenders else []), "TOTAL", "WHY NOT"]
    rows = []
    for row in matrix["rows"]:
        scores = row.get("scores")
        cells = ["" for _ in columns]
        if scores:
            pairs = zip(columns, scores, strict=True)
            cells = [_score(column.get("weight", 1), score) for column, score in pairs]
        total = "" if row.get("total") is None else str(row["total"])
        extenders = [str(row.get("extenders", ""))] if has_extenders else []
        rows.append([row["node"], _fits(row), *cells, *extenders, total, _why_not(row)])
    return headings, rows


def nodes_for_programs(matrix: Document) -> Table:
    """As `nodes_table`, with weighted scores as plain numbers, under the plugins' own names."""
    columns: list[Document] = matrix["columns"]
    rows = []
    for row in matrix["rows"]:
        scores = row.get("scores") or [None for _ in columns]
        cells = ["" if score is None else str(score["weighted"]) for score in scores]
        total = "" if row.get("total") is None else str(row["total"])
        reasons = "; ".join(row.get("reasons") or [])
        rows.append([row["node"], _fits(row), total, row.get("plugin") or "", reasons, *cells])
    return ["node", "fits", "total", "plugin", "reasons", *(column["plugin"] for column in columns)], rows


def _fits(row: Document) -> str:
    if row.get("fits") is None:
        return "unseen"
    if row.get("chosen"):
        return "chosen"
    return "yes" if row["fits"] else "no"


def _score(weight: float, score: Document | None) -> str:
    """A score as weight times value, for example `2x50`."""
    if score is None:
        return ""
    value = score["normalized"]
    return f"{weight:g}x{value}" if value and weight not in (0, 1) else str(value)


def _why_not(row: Document) -> str:
    if row.get("fits") is not False:
        return ""
    reasons = ", ".join(row.get("reasons") or [])
    return f"{row.get('plugin') or 'an extender'}: {reasons}" if reasons else str(row.get("plugin", ""))


def plugins_table(detail: Document) -> Table:
    """A row per plugin: how many nodes it rejected, and how it scored the chosen, the best and the worst."""
    scores = {each["plugin"]: each for each in detail.get("scores") or ()}
    took = _times(detail)
    filters = {each["plugin"]: each for each in detail.get("filters") or ()}
    rows = []
    for plugin in dict.fromkeys((*filters, *scores)):
        rejected, scored = filters.get(plugin, {}), scores.get(plugin, {})
        reasons = ", ".join(f"{count} {reason}" for reason, count in (rejected.get("reasons") or {}).items())
        rows.append(
            [
                plugin or "(extender or PreFilter)",
                _number(rejected.get("rejected"), skipped=rejected.get("skipped")),
                f"{scored['weight']:g}" if scored.get("weight") and not scored.get("skipped") else "",
                *(_number(scored.get(what), skipped=scored.get("skipped")) for what in _SCORES),
                took.get(plugin, ""),
                reasons,
            ]
        )
    headings = ["PLUGIN", "REJECTED", "WEIGHT", "SCORE", "BEST", "WORST", "TOOK", "REASONS"]
    return headings, rows


_SCORES = ("chosen", "best", "worst")


def _number(value: Any, *, skipped: Any = False) -> str:
    return "-" if skipped else "" if value is None else str(value)


def _times(detail: Document) -> dict[str, str]:
    sums: dict[str, float] = {}
    for each in detail.get("took") or ():
        if each.get("plugin"):
            sums[each["plugin"]] = sums.get(each["plugin"], 0.0) + each["seconds"]
    return {plugin: duration(seconds) for plugin, seconds in sums.items()}


def attempts_table(attempts: Iterable[Document]) -> Table:
    """A row per attempt, the oldest first: a pod's story."""
    rows = [
        [
            clock(each["time"]),
            str(each.get("try") or ""),
            each.get("wokenBy") or "",
            each["outcome"],
            each.get("node") or "",
            duration(each["seconds"]) if each.get("seconds") is not None else "",
            _what(each),
        ]
        for each in sorted(attempts, key=lambda attempt: attempt["number"])
    ]
    return ["TIME", "TRY", "WOKEN BY", "OUTCOME", "NODE", "TOOK", "WHAT"], rows


def _what(attempt: Document) -> str:
    after: Document = attempt.get("after") or {}
    if after.get("message"):
        return f"{after['by']}: {after['message']}" if after.get("by") else str(after["message"])
    if attempt.get("message"):
        return str(attempt["message"])
    feasible, seen = attempt.get("feasible"), attempt.get("lookedAt")
    return f"{feasible} of {seen} nodes fit" if feasible is not None and seen else ""


def clock(seconds: float) -> str:
    """A time of day; with the date if it was another day."""
    then = time.localtime(seconds)
    today = time.localtime()[:3] == then[:3]
    return time.strftime("%H:%M:%S" if today else "%Y-%m-%d %H:%M:%S", then)
