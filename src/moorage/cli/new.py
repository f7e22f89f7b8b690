"""`moorage new`: the beginning of something, ready to run."""

from __future__ import annotations

from pathlib import Path

import click

from moorage.cli.completion import points as complete_points
from moorage.cli.groups import Commands
from moorage.cli.setup import errors_in_lines, verbose_option


@click.group(cls=Commands)
def new() -> None:
    """Begin a plugin project.

    \b
    Example:
      moorage new plugin quiet-nodes --points filter,score
    """


@new.command()
@click.argument("name")
@click.option(
    "--points",
    default="filter,score",
    show_default=True,
    metavar="POINTS",
    shell_complete=complete_points,
    help="The extension points, separated by commas, or `all`.",
)
@click.option("--args", is_flag=True, help="Give the plugin typed arguments.")
@click.option("--crd", is_flag=True, help="Give it a custom resource.")
@verbose_option
def plugin(name: str, points: str, args: bool, crd: bool, verbose: bool) -> None:
    """Write a project for a plugin called NAME into a new folder.

    It holds the plugin with a small body for each extension point, its tests, a scheduler configuration, a
    Dockerfile, and a README with the commands to test, try and deploy it. Its tests pass as they are.

    \b
    Examples:
      moorage new plugin quiet-nodes
      moorage new plugin QuietNodes --points preFilter,filter,score --args
      moorage new plugin spot-budget --points filter,reserve --crd
    """
    with errors_in_lines(verbose):
        from moorage.cli.scaffold.modules import Wanted
        from moorage.cli.scaffold.naming import read_name, read_points
        from moorage.cli.scaffold.project import write_project

        wanted = Wanted(read_name(name), read_points(points), args, crd)
        folder = write_project(wanted, Path.cwd())
    names = wanted.names
    click.echo(f"{folder.name}: the plugin {names.plugin} is in {names.package}/plugin.py. Next:\n")
    click.echo(f"  cd {folder.name}")
    click.echo("  pip install -e '.[dev]'")
    click.echo("  python -m pytest")
    click.echo(f"  moorage up --config scheduler-config.yaml --plugin {names.package}/plugin.py --reload")
