"""`moorage plugins`: what is installed."""

from __future__ import annotations

import click

from moorage.cli.setup import errors_in_lines, make_registry, plugin_option, verbose_option


@click.command()
@plugin_option
@verbose_option
def plugins(plugins: tuple[str, ...], verbose: bool) -> None:
    """List every plugin with its extension points, where it comes from and what it does.

    In-tree plugins, those of installed packages (entry points in the group `moorage.plugins`) and those
    given with --plugin are listed.

    \b
    Example:
      moorage plugins --plugin quiet_nodes.py
    """
    with errors_in_lines(verbose):
        registry, _ = make_registry(plugins)
        rows = [(entry.name, entry.source, ", ".join(entry.points), entry.summary) for entry in registry]
    header = ("NAME", "SOURCE", "EXTENSION POINTS")
    widths = [max(len(row[i]) for row in (header, *(row[:3] for row in rows))) for i in range(2)]
    click.echo(f"{header[0]:{widths[0]}}  {header[1]:{widths[1]}}  {header[2]}")
    for name, source, points, summary in rows:
        click.echo(f"{name:{widths[0]}}  {source:{widths[1]}}  {points}")
        if summary:
            click.echo(f"    {summary}")
