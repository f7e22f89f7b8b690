"""The flags of the decision log: how much of it is kept in memory, and the file it is written to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from moorage.cli.completion import files
from moorage.cli.setup import BadInput, as_bytes

if TYPE_CHECKING:
    from moorage.insight.log.decision_log import DecisionLog
    from moorage.insight.log.writing import LogFile

F = TypeVar("F", bound=Callable[..., Any])

LEAST_MEMORY = 1 << 20
LEAST_FILE = 1 << 20


_OPTIONS = (
    click.option(
        "--decision-log",
        type=click.Path(path_type=Path, dir_okay=False),
        metavar="FILE",
        shell_complete=files,
        help="Append every decision to FILE, for its owner only; `moorage explain --log` reads it.",
    ),
    click.option(
        "--decision-log-size",
        default="100Mi",
        show_default=True,
        metavar="SIZE",
        callback=as_bytes,
        help="Go on in a new file when FILE is as large; the last four are kept as FILE.1 to FILE.4.",
    ),
    click.option(
        "--decision-log-redact",
        is_flag=True,
        help="Leave names, namespaces, UIDs and labels of pods out of FILE.",
    ),
    click.option(
        "--decision-log-memory",
        default="64Mi",
        show_default=True,
        metavar="SIZE",
        callback=as_bytes,
        help="How much the last decisions may take in memory, where they can be asked for; 0 keeps none.",
    ),
)


def decision_log_options(command: F) -> F:
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


@dataclass(frozen=True)
class DecisionLogOptions:
    """What the flags say."""

    file: Path | None = None
    size: int = 100 << 20
    redact: bool = False
    memory: int = 64 << 20

    def check(self) -> None:
        """Refuses what makes no sense."""
        if self.file is None and self.redact:
            raise BadInput("--decision-log-redact: there is no file without --decision-log; name one")
        if self.file is not None and not self.memory:
            raise BadInput("--decision-log-memory: with 0 there is nothing to write; give it 1Mi or more")
        if 0 < self.memory < LEAST_MEMORY:
            raise BadInput(
                "--decision-log-memory: too little for a single decision; give it 1Mi or more, or 0"
            )
        if self.size < LEAST_FILE:
            raise BadInput("--decision-log-size: too little for a file; give it 1Mi or more")

    def open(self) -> tuple[DecisionLog | None, LogFile | None]:
        """The log, unless it is switched off, and its file, which is to be started and stopped."""
        from moorage.insight.log.decision_log import DecisionLog

        if not self.memory:
            return None, None
        decisions = DecisionLog(self.memory)
        if self.file is None:
            return decisions, None
        from moorage.insight.log.blocks import NotALog
        from moorage.insight.log.writing import LogFile

        try:
            return decisions, LogFile(self.file, decisions, most_bytes=self.size, redact=self.redact)
        except NotALog as error:
            raise BadInput(f"--decision-log: {error}, or a new one") from None
        except OSError as error:
            why = error.strerror or str(error)
            raise BadInput(f"--decision-log: cannot write to {self.file}: {why}; give another file") from None
