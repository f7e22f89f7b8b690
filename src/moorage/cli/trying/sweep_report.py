"""What `moorage sweep` shows: a row for each result as it comes, and the best in the end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import click

from moorage.cli.tables import folded, table_lines, terminal_width
from moorage.what_if.replay.jobs import Outcome
from moorage.what_if.sweeps.figures import figure
from moorage.what_if.sweeps.objectives import rank, value_of
from moorage.what_if.sweeps.runs import Result

Cell = TypeVar("Cell")

_BETWEEN = "  "
_HEADINGS = (
    *("BEST", "PLACED", "PENDING P50", "PENDING P99", "PREEMPTED", "NODES", "FRAGMENTED", "COST", "SEED"),
    "CONFIGURATION",
)
_STACKED = (
    # For terminals, in two lines.
    ("", "", "PENDING", "PENDING", "PRE-", "", "FRAG-", "", "", ""),
    ("", "PLACED", "P50", "P99", "EMPTED", "NODES", "MENTED", "COST", "SEED", "CONFIGURATION"),
)
_USUAL_WIDTHS = (1, 6, 8, 8, 6, 6, 6, 8, 4)
_COST = _HEADINGS.index("COST")


class Rows:
    """Rows of a table that come one by one: columns are as wide as any row will need.

    Where the configuration has no room at the end of its row, it stands below; where there is no room for a
    row, each becomes several lines.
    """

    def __init__(self, labels: Sequence[str], *, has_prices: bool) -> None:
        self._widest_label = max(map(len, (_HEADINGS[-1], *labels)))
        self._width = terminal_width()
        self._has_prices = has_prices
        headings = [_HEADINGS] if self._width is None else _STACKED
        self._headings = [self._shown(heading) for heading in headings]
        self._widths: list[int] = []
        """Of all columns but the last, as soon as there is a row."""

    def show(self, result: Result, outcome: Outcome, best: bool) -> None:
        cells = self._shown(_cells(result, outcome, best))
        first = not self._widths
        if first:
            columns = zip(self._shown(_USUAL_WIDTHS), cells, *self._headings, strict=False)
            self._widths = [max(usual, *map(len, texts)) for usual, *texts in columns]
        needed = sum(self._widths) + len(_BETWEEN) * len(self._widths)
        room = self._width or needed + self._widest_label
        if needed - len(_BETWEEN) > room:
            *others, last = self._shown(_HEADINGS)
            for line in table_lines((last, *others), [[result.label, *cells]], room):
                click.echo(line)
            return
        beside = needed + self._widest_label <= room
        for heading in self._headings if first else ():
            self._echo(heading if beside else [*heading[:-1], ""])
        self._echo([*cells, result.label if beside else ""])
        if not beside:
            for line in folded(result.label, self._width, first=" " * 3):
                click.echo(line)

    def _shown(self, columns: Sequence[Cell]) -> list[Cell]:
        """Without prices there are no costs."""
        return [each for place, each in enumerate(columns) if place != _COST or self._has_prices]

    def _echo(self, cells: Sequence[str]) -> None:
        *padded, last = cells
        texts = [text.ljust(width) for text, width in zip(padded, self._widths, strict=True)]
        click.echo(_BETWEEN.join((*texts, last)).rstrip())


def _cells(result: Result, outcome: Outcome, best: bool) -> list[str]:
    return [
        "*" if best else "",
        f"{outcome.placed}/{outcome.pods}",
        f"{outcome.pending_p50:.2f}s",
        f"{outcome.pending_p99:.2f}s",
        str(outcome.preemptions),
        f"{outcome.nodes_in_use:.1f}",
        f"{100 * outcome.fragmentation:.1f}%",
        f"{outcome.cost:.2f}",
        str(result.seed),
    ]


def by_configuration(results: Sequence[Result]) -> dict[str, list[Result]]:
    """The results with an outcome, by configuration and weights."""
    found: dict[str, list[Result]] = {}
    for result in results:
        if result.outcome is not None:
            found.setdefault(result.label, []).append(result)
    return found


def ranked(results: Sequence[Result], objective: str) -> list[tuple[tuple[float, float], list[Result]]]:
    """The configurations, the best on average over its seeds first: its rank and its results."""
    found = [
        (rank([each.outcome for each in group if each.outcome is not None], objective), group)
        for group in by_configuration(results).values()
    ]
    return sorted(found, key=lambda each: each[0])


def summary(results: Sequence[Result], objective: str) -> str:
    """The best configuration in one line; empty if there is none."""
    all_ranked = ranked(results, objective)
    if not all_ranked:
        return ""
    best_rank, best = all_ranked[0]
    outcomes = [each.outcome for each in best if each.outcome is not None]
    values = figure([value_of(outcome, objective) for outcome in outcomes])
    seeds = f" over {len(outcomes)} seeds" if len(outcomes) > 1 else ""
    placed = figure([float(outcome.placed) for outcome in outcomes])
    alike = sum(each == best_rank for each, _ in all_ranked) - 1
    others = f"; {alike} {'others are' if alike > 1 else 'other is'} as good" if alike else ""
    told = f"{objective} {values}{seeds}, {placed} of {outcomes[0].pods} pods placed{others}"
    return f"Best: {best[0].label}: {told}"


def document(results: Sequence[Result], objective: str) -> dict[str, Any]:
    """For -o json."""
    first = next((group[0] for _, group in ranked(results, objective)), None)
    named = first and {"configuration": first.configuration, "weights": first.weights}
    return {"objective": objective, "best": named, "results": list(results)}


def say(text: str, *, err: bool = False) -> None:
    """A sentence, folded on terminals."""
    for line in folded(text, terminal_width()):
        click.echo(line, err=err)
