"""`moorage top`: a running scheduler, watched."""

from __future__ import annotations

from typing import Any

import click

from moorage.cli.insight.options import scheduler_options, whom
from moorage.cli.setup import errors_in_lines, verbose_option


@click.command()
@scheduler_options
@verbose_option
def top(verbose: bool, **options: Any) -> None:
    """Watch a running scheduler: its rate, its queue, how full the nodes are, and how long plugins take.

    Asked is the scheduler of `moorage up` on this machine, unless --scheduler says otherwise. `q` or Ctrl-C
    ends it. Without a terminal it prints what there is once.

    \b
    Examples:
      moorage top
      moorage top --scheduler https://10.0.0.7:10259 --token-file token
    """
    asked = whom(options)
    with errors_in_lines(verbose):
        from moorage.cli.insight.top_watch import watch

        watch(asked)
