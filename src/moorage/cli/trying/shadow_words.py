"""What `moorage shadow` says: a line that lives, a line for each choice that is not shared, a summary."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from typing import Any

import click

from moorage.cli.setup import print_json
from moorage.cli.tables import folded, terminal_width
from moorage.cli.terminal.printable import printable
from moorage.process.shadow_tally import Judged, Tally, document_of

LINES_AT_ONCE = 20
LINES_SECONDS = 10.0
"""So many choices are told in so many seconds at most; of the others, how many they were."""
TIMING_SHOWN = 3
MUCH_TIMING = 0.05
"""From this share on, some of it may be chance."""

Document = dict[str, Any]


class Teller:
    """Tells of choices as they are judged. `as_json` tells all of them, in a line each."""

    def __init__(
        self, tally: Tally, *, as_json: bool = False, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._tally = tally
        self._as_json = as_json
        self._clock = clock
        self._lives = sys.stderr.isatty()
        self._shown = ""
        self._window = clock()
        self._lines = self._kept_back = 0

    @property
    def period(self) -> float:
        """Seconds from one line that lives to the next."""
        return 0.5

    def begins(self, server: str, profiles: list[str], nodes: int, pods: int) -> None:
        self._note(f"Following {server}: {nodes} nodes, {pods} pods; judging pods of {', '.join(profiles)}")

    def waits(self, text: str) -> None:
        self._note(text)

    def tell(self, judged: Judged) -> None:
        if self._as_json:
            print_json(document_of(judged))
            sys.stdout.flush()
            return
        if not judged.verdict.is_exception:
            return
        self._open_window()
        if self._lines >= LINES_AT_ONCE:
            self._kept_back += 1
            return
        self._lines += 1
        self._say(line_of(judged))

    def show_line(self) -> None:
        """Shows how far it is, on a terminal."""
        self._open_window()
        if not self._lives:
            return
        text = standing(self._tally)
        width = terminal_width_of_errors()
        text = text if len(text) < width else f"{text[: width - 2]}…"
        if text != self._shown:
            self.clear_line()
            click.echo(text, nl=False, err=True)
            self._shown = text

    def clear_line(self) -> None:
        if self._shown:
            click.echo(f"\r{' ' * len(self._shown)}\r", nl=False, err=True)
            self._shown = ""

    def summary(self, document: Document) -> None:
        """The report in words."""
        self.clear_line()
        self._open_window(at_once=True)
        for line in summary_of(document):
            self._print(line)
        sys.stdout.flush()

    def _open_window(self, *, at_once: bool = False) -> None:
        """Tells how many choices were not told, when the time for that has come."""
        now = self._clock()
        if now - self._window < LINES_SECONDS and not at_once:
            return
        if self._kept_back:
            self._say(f"... and {self._kept_back} more; the report has the last of them")
        self._window, self._lines, self._kept_back = now, 0, 0

    def _say(self, text: str) -> None:
        self.clear_line()
        self._print(text)
        sys.stdout.flush()

    def _print(self, text: str) -> None:
        for line in folded(printable(text), terminal_width()):
            click.echo(line)

    def _note(self, text: str) -> None:
        self.clear_line()
        click.echo(printable(text), err=True)


def terminal_width_of_errors() -> int:
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns
    except OSError:
        return 80


def line_of(judged: Judged) -> str:
    """A choice that is not shared."""
    verdict = judged.verdict
    when = time.strftime("%H:%M:%S", time.localtime(judged.time))
    preferred = (
        f"; it would be {verdict.best[0]} here" if verdict.kind == "infeasible" and verdict.best else ""
    )
    return f"{when}  {verdict.kind}  {verdict.pod} on {verdict.node}: {verdict.words}{preferred}"


def standing(tally: Tally) -> str:
    """How it stands, in one line."""
    if not tally.total:
        return "No pod has been bound yet"
    counts = tally.counts
    others = [
        f"{counts[kind]} {kind}" for kind in ("sampled", "timing", "disagreed", "infeasible") if counts[kind]
    ]
    return ", ".join([f"{share(tally.agreement)} agreement: {counts['agreed']} of {tally.total}", *others])


def share(part: float | None) -> str:
    """In percent, and never rounded up to all."""
    if part is None:
        return "unknown"
    return "100%" if part == 1 else f"{min(99.99, round(100 * part, 2)):g}%"


def summary_of(document: Document) -> list[str]:
    """The lines of the report in words."""
    total, verdicts = document["decisions"], document["verdicts"]
    if not total:
        return [f"No pod was bound in {document['seconds']:.0f} s: there was nothing to judge."]
    choices = "1 choice" if total == 1 else f"{total} choices"
    lines = [
        f"{choices} in {document['seconds']:.0f} s, {share(document['agreement'])} agreement:",
        f"  {verdicts['agreed']} agreed: no other node is better",
    ]
    if verdicts["sampled"]:
        lines.append(f"  {verdicts['sampled']} sampled: the better nodes may not have been looked at")
    if verdicts["timing"]:
        lines.append(
            f"  {verdicts['timing']} timing: can have been right in the moment in which they were made"
        )
    if verdicts["disagreed"]:
        lines.append(f"  {verdicts['disagreed']} disagreed: another node is better here")
    if verdicts["infeasible"]:
        lines.append(f"  {verdicts['infeasible']} infeasible: the node does not fit here")
    for each in document["plugins"][:10]:
        plugin = each["plugin"] or "no single plugin"
        lines.append(f"    {each['decisions']} {each['verdict']} by {plugin}")
    if document["notLookedInto"]:
        lines.append(f"  {document['notLookedInto']} of them were too many at once to look at their moment")
    if document["notJudged"]:
        lines.append(f"  {document['notJudged']} could not be judged; the log says why")
    for plugin, count in document["failedPlugins"].items():
        lines.append(f"  Plugin {plugin} failed {count} times")
    if verdicts["timing"] > MUCH_TIMING * (total - verdicts["sampled"]):
        lines.append(
            "  So much timing may hide differences: between schedulers of the same configuration it is rare. "
            "Compare in quieter hours, too."
        )
    timing = document["last"]["timing"][-TIMING_SHOWN:]
    return [*lines, *(f"  timing, for example: {each['pod']}: {each['words']}" for each in timing)]
