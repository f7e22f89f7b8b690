"""`moorage plugins`: what is installed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from moorage.cli.setup import (
    errors_in_lines,
    output_option,
    plugin_option,
    print_json,
    register,
    verbose_option,
)

if TYPE_CHECKING:
    from moorage.framework.loading.registry import Registry


@click.command()
@plugin_option
@output_option
@verbose_option
def plugins(plugins: tuple[str, ...], output: str, verbose: bool) -> None:
    """List every plugin with its extension points, where it comes from and what it does.

    In-tree plugins, those of installed packages (entry points in the group `moorage.plugins`) and those
    given with --plugin are listed. Those of packages that cannot be loaded are listed as broken.

    With -o json: `plugins`, a list with `name`, `source`, `points` and `summary` of each, and `broken`, with
    `entryPoint`, `source` and `error`.

    \b
    Examples:
      moorage plugins --plugin quiet_nodes.py
      moorage plugins -o json
    """
    with errors_in_lines(verbose):
        registry, _ = register(plugins)
        document = _document(registry)
    if output == "json":
        print_json(document)
    else:
        _print_table(document)


def _document(registry: Registry) -> dict[str, list[dict[str, Any]]]:
    return {
        "plugins": [
            {
                "name": entry.name,
                "source": entry.source,
                "points": list(entry.points),
                "summary": entry.summary,
            }
            for entry in registry
        ],
        "broken": [
            {
                "entryPoint": f"{broken.name} = {broken.value}",
                "source": broken.source,
                "error": broken.error,
            }
            for broken in registry.broken
        ],
    }


def _print_table(document: dict[str, list[dict[str, Any]]]) -> None:
    from moorage.cli.tables import print_table

    usable, broken = document["plugins"], document["broken"]
    rows = [(each["name"], each["source"], ", ".join(each["points"])) for each in usable]
    rows += [(each["entryPoint"].partition(" = ")[0], each["source"], "broken") for each in broken]
    notes = [each["summary"] for each in usable] + [each["error"] for each in broken]
    print_table(("NAME", "SOURCE", "EXTENSION POINTS"), rows, notes=notes)
