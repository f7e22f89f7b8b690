"""What `moorage replay` prints and writes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from moorage.cli.setup import BadInput
from moorage.cli.tables import folded, print_table, terminal_width
from moorage.what_if.replay.comparing import Figure, Variant, duration, figures

if TYPE_CHECKING:
    from moorage.what_if.replay.pictures.panels import Panel
    from moorage.what_if.trace.changes import Head


class Report:
    """The outcomes of one or several variants; the first is the one that the others are compared with."""

    def __init__(self, head: Head, variants: Sequence[Variant], *, has_prices: bool) -> None:
        self._head = head
        self._variants = variants
        self._has_prices = has_prices

    @property
    def failed_plugins(self) -> dict[str, int]:
        """How often each plugin failed, over all replays."""
        counts: dict[str, int] = {}
        for variant in self._variants:
            for outcome in variant.outcomes:
                for plugin, count in outcome.failed_plugins.items():
                    counts[plugin] = counts.get(plugin, 0) + count
        return counts

    @cached_property
    def _figures(self) -> list[Figure]:
        return figures(self._variants[0].outcomes[0], has_prices=self._has_prices) if self._variants else []

    def print(self, *, wide: bool, stopped: str | None) -> None:
        if stopped is not None:
            _say(
                f"Stopped at {stopped}"
                + ("; what there is so far:" if self._variants else "; there is nothing yet.")
            )
        if not self._variants:
            return
        first, *others = self._variants
        outcome = first.outcomes[0]
        seeds = (
            f", {len(first.outcomes)} seeds (mean ± standard deviation)" if len(first.outcomes) > 1 else ""
        )
        _say(f"{duration(outcome.virtual_seconds)} of {self._head.source or 'the trace'}{seeds}")
        headings, rows = ["FIGURE", first.name], list[list[str]]()
        for other in others:
            headings += [other.name, "DIFFERENCE"]
        for figure in self._figures:
            if figure.is_detail and not wide:
                continue
            row = [figure.name, figure.show(first)]
            for other in others:
                row += [figure.show(other), str(figure.difference(first, other))]
            rows.append(row)
        print_table(headings, rows)
        for plugin, count in self.failed_plugins.items():
            _say(f"Plugin {plugin} failed {count} times; -v shows how")

    def document(self) -> dict[str, Any]:
        from msgspec import to_builtins

        differences = [
            {
                "against": other.name,
                "figure": figure.name,
                "mean": (found := figure.difference(self._variants[0], other)).mean,
                "spread": found.spread,
            }
            for other in self._variants[1:]
            for figure in self._figures
        ]
        return {
            "trace": to_builtins(self._head),
            "replays": [
                {"name": each.name, "outcomes": [to_builtins(outcome) for outcome in each.outcomes]}
                for each in self._variants
            ],
            "differences": differences,
        }

    def write_png(self, path: str) -> None:
        from moorage.what_if.replay.pictures.png import write_png

        names = " against ".join(variant.name for variant in self._variants)
        try:
            write_png(path, self._panels(), f"Replay: {names}")
        except OSError as error:
            raise BadInput(f"--plot {path}: cannot write the file: {error.strerror}") from None
        click.echo(f"Wrote {path}", err=True)

    def write_page(self, path: str) -> None:
        try:
            Path(path).write_text(self._page(), "utf-8")
        except OSError as error:
            raise BadInput(f"--html {path}: cannot write the file: {error.strerror}") from None
        click.echo(f"Wrote {path}", err=True)

    def _page(self) -> str:
        from moorage.what_if.replay.pictures.page import page

        return page(self._head, self._variants, self._figures, self._panels())

    def _panels(self) -> list[Panel]:
        from moorage.what_if.replay.pictures.panels import panels

        return panels(self._variants, self._head.began, has_prices=self._has_prices)


def _say(text: str) -> None:
    for line in folded(text, terminal_width()):
        click.echo(line)
