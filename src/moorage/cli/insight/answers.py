"""What is known about a pod, whoever was asked, and how it is shown."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import click

from moorage.cli.insight.output import (
    Table,
    attempts_table,
    nodes_for_programs,
    nodes_table,
    plugins_table,
    print_csv,
    print_document,
    say,
    show,
)
from moorage.cli.setup import PENDING, BadInput

Document = dict[str, Any]


@dataclass
class Answer:
    """A document with its words, and the tables that can be had."""

    document: Document
    exit_code: int
    detail: Document | None = None
    matrix: Callable[[], Document] | None = None
    attempts: list[Document] | None = None

    @classmethod
    def of_try(cls, document: Document) -> Answer:
        """The answer to what would become of a pod."""
        from moorage.insight.words.evaluations import detail_of_try, matrix_of_try

        failed = "schedulerError" in document or bool(document.get("failedPlugins"))
        gang: Document | None = document.get("gang")
        fits = bool(document.get("best")) and (gang is None or gang["fits"])
        code = 1 if failed else 0 if fits else PENDING
        detail = None if "preEnqueue" in document else detail_of_try(document)
        return cls(document, code, detail, lambda: matrix_of_try(document))

    @classmethod
    def of_pod(cls, document: Document, matrix: Callable[[], Document] | None) -> Answer:
        """The answer to what is with a pod."""
        last: Document | None = document.get("last")
        state = document.get("state")
        is_placed = state in ("placed", "binding") or (
            state == "unknown" and last is not None and last["outcome"] in ("bound", "assumed")
        )
        return cls(document, 0 if is_placed else PENDING, last, matrix, document.get("attempts") or [])

    def nodes(self, table: Callable[[Document], Table] = nodes_table) -> Table:
        if self.matrix is None:
            raise BadInput("--nodes: no try of this pod is known; it needs one")
        return table(self.matrix())

    def plugins(self) -> Table:
        if self.detail is None:
            raise BadInput("--plugins: no try of this pod is known; it needs one")
        return plugins_table(self.detail)

    def story(self) -> Table:
        if self.attempts is None:
            raise BadInput(
                "--attempts: what is only tried has no past; ask a running scheduler what was, or a --log"
            )
        return attempts_table(self.attempts)


def show_answer(
    answer: Answer, output: str, *, nodes: bool = False, plugins: bool = False, attempts: bool = False
) -> None:
    """Words first, then the tables asked for; or a document, or one table as CSV."""
    if output in ("json", "yaml"):
        further = {"matrix": answer.matrix()} if nodes and answer.matrix is not None else {}
        print_document({**answer.document, **further}, output)
        return
    if output == "csv":
        if nodes + plugins + attempts > 1:
            raise click.UsageError("-o csv is one table: give one of --nodes, --plugins and --attempts.")
        print_csv(_one_table(answer, plugins, attempts))
        return
    say(answer.document["words"])
    say(f"Note: {note}." for note in answer.document.get("notes") or ())
    say(f"Plugin {plugin} failed." for plugin in answer.document.get("failedPlugins") or ())
    is_wide = output == "wide"
    if nodes or (is_wide and answer.matrix is not None):
        show("Nodes", answer.nodes())
    if plugins or (is_wide and answer.detail is not None):
        show("Plugins (- for those with nothing to say)", answer.plugins())
    if attempts or (is_wide and answer.attempts is not None):
        show("Tries", answer.story())


def _one_table(answer: Answer, plugins: bool, attempts: bool) -> Table:
    if not plugins and not attempts:
        return answer.nodes(nodes_for_programs)
    headings, rows = answer.plugins() if plugins else answer.story()
    return [heading.lower().replace(" ", "_") for heading in headings], rows
