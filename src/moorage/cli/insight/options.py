"""Whom to ask: a running scheduler, and how to get in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import click

from moorage.cli.completion import files

Command = TypeVar("Command", bound=Callable[..., Any])


class Whom(NamedTuple):
    """The options that say which scheduler is asked, and as whom."""

    scheduler: str | None = None
    token: str | None = None
    token_file: str | None = None
    kubeconfig: str | None = None
    insecure_skip_tls_verify: bool = False

    @property
    def given(self) -> list[str]:
        """The names of those that were given."""
        return [f"--{name.replace('_', '-')}" for name, value in self._asdict().items() if value]


def scheduler_options(command: Command) -> Command:
    """Adds the options of `Whom` to a command."""
    options = [
        click.option(
            "--scheduler",
            metavar="URL",
            help="A running scheduler, such as https://10.0.0.7:10259.  [the one of `moorage up`]",
        ),
        click.option("--token", metavar="TOKEN", help="A bearer token for it."),
        click.option("--token-file", metavar="FILE", shell_complete=files, help="A file with such a token."),
        click.option(
            "--kubeconfig",
            metavar="FILE",
            shell_complete=files,
            help="The cluster of `moorage up`; with --scheduler, credentials and authorities."
            "  [$KUBECONFIG, ~/.moorage/kubeconfig]",
        ),
        click.option(
            "--insecure-skip-tls-verify",
            is_flag=True,
            help="Take the scheduler's certificate as it is, for example one that it signed itself.",
        ),
    ]
    for option in reversed(options):
        command = option(command)
    return command


def whom(options: dict[str, Any]) -> Whom:
    """Takes the options of `Whom` out of all that a command was given."""
    return Whom(**{name: options.pop(name) for name in Whom._fields})
