"""`moorage completion`: what a shell has to read to complete commands, options and files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

SHELLS = ("bash", "zsh", "fish")


@click.command()
@click.argument("shell", type=click.Choice(SHELLS))
def completion(shell: str) -> None:
    """Print what makes SHELL (bash, zsh or fish) complete commands, options and files with Tab.

    \b
    Examples:
      source <(moorage completion bash)                    # this shell
      echo 'source <(moorage completion bash)' >> ~/.bashrc
      moorage completion zsh > "${fpath[1]}/_moorage"      # then a new zsh
      moorage completion fish > ~/.config/fish/completions/moorage.fish
    """
    from click.shell_completion import get_completion_class

    from moorage.cli.main import moorage

    found = get_completion_class(shell)
    assert found is not None
    click.echo(found(moorage, {}, "moorage", "_MOORAGE_COMPLETE").source())


def files(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Has the shell complete a file or folder."""
    from click.shell_completion import CompletionItem

    return [CompletionItem(incomplete, type="file")]


def points(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Completes the last of several extension points with commas between them."""
    from moorage.api.points import POINTS

    before, comma, begun = incomplete.rpartition(",")
    return [f"{before}{comma}{point}" for point in POINTS if point.startswith(begun)]


def features(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Completes the last of several features with commas between them."""
    from moorage.contrib.features import FEATURES

    before, comma, begun = incomplete.rpartition(",")
    return [f"{before}{comma}{each.name}" for each in FEATURES if each.name.startswith(begun)]
