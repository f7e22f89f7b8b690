"""`moorage`: the command and its subcommands, each imported when it is called."""

from __future__ import annotations

import importlib
import sys
from typing import Any

import click

from moorage import __version__
from moorage.cli import interrupts
from moorage.cli.groups import Commands

COMMANDS = {
    "capacity": "Tell what more fits, and which nodes are missing or not needed.",
    "completion": "Have a shell complete commands, options and files.",
    "config": "Check, show and convert scheduler configuration files.",
    "crd": "Print the definition of a custom resource.",
    "evaluate": "Tell what a pod's placement would be, and why.",
    "explain": "Tell why a pod is pending, or why it is where it is.",
    "manifests": "Print everything to run a scheduler in a cluster.",
    "new": "Begin a plugin project.",
    "pending": "Tell which pods wait, and what would free the most of them.",
    "plugins": "List the plugins there are.",
    "record": "Write down what happens in a cluster, to try it again.",
    "replay": "Replay what was recorded of a cluster with other settings.",
    "run": "Schedule the pods of a cluster.",
    "shadow": "Judge the scheduler in charge of a cluster, and write nothing.",
    "simulate": "Schedule many pods in memory at full speed.",
    "sweep": "Replay a trace with many configurations, weights and seeds.",
    "top": "Watch a running scheduler: rate, queue, plugin times, nodes.",
    "trace": "Show what a recording holds, or make one of a list of jobs.",
    "tune": "Search for weights with which a trace goes better.",
    "up": "Start a cluster on this machine, for kubectl and for plugins.",
}

FOLDERS = {
    **dict.fromkeys(("explain", "pending", "top"), "insight."),
    **dict.fromkeys(("capacity", "record", "replay", "shadow", "sweep", "trace", "tune"), "trying."),
}
"""Where the module of a command is, if not beside this one."""


def command_of(name: str) -> click.Command:
    """Imports a command."""
    module = importlib.import_module(f"moorage.cli.{FOLDERS.get(name, '')}{name}")
    command: click.Command = getattr(module, name)
    return command


class LazyGroup(Commands):
    """Knows the names and one line of help of its commands; imports one when it is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        return command_of(cmd_name)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise click.exceptions.Exit(interrupts.EXIT_CODE) from None

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[Any]:
        from click.shell_completion import CompletionItem

        named = [
            CompletionItem(name, help=COMMANDS[name]) for name in COMMANDS if name.startswith(incomplete)
        ]
        return [*named, *click.Command.shell_complete(self, ctx, incomplete)]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.command(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="moorage")
def moorage() -> None:
    """The Kubernetes scheduler you extend in Python.

    \b
    Examples:
      moorage up --plugin my_plugin.py --reload
      moorage simulate --nodes 1000 --pods 5000
      moorage evaluate --cluster manifests/ --pod pod.yaml
      moorage explain my-pod
      moorage record --out monday.moor --for 24h
      moorage config view scheduler.yaml --expanded
      moorage plugins --plugin my_plugin.py
      moorage new plugin quiet-nodes --points filter,score
      moorage manifests --plugin my_plugin.py | kubectl apply -f -
    """


def main() -> None:
    interrupts.end_at_once()
    try:
        # What click returns for an Exit is its code, for everything else None. A closed pipe, as behind
        # `| head`, is click's to handle: it ends with code 1 and without a word.
        sys.exit(moorage(standalone_mode=False))
    except click.UsageError as error:
        error.show()
        sys.exit(error.exit_code)
    except click.ClickException as error:
        error.show()
        sys.exit(1)
    except (click.Abort, KeyboardInterrupt):
        sys.exit(interrupts.EXIT_CODE)
