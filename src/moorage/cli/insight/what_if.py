"""What would be otherwise: changes that `moorage explain` tries and does not make."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any, NamedTuple, TypeVar

import click

from moorage.cli.completion import files
from moorage.cli.setup import BadInput

Document = dict[str, Any]
Command = TypeVar("Command", bound=Callable[..., Any])


class Changes(NamedTuple):
    """The options that say what would be otherwise."""

    set: tuple[str, ...] = ()
    tolerate: tuple[str, ...] = ()
    extra_node: tuple[str, ...] = ()
    without_pod: tuple[str, ...] = ()

    def nodes(self) -> list[Any]:
        """The nodes of all files of --extra-node."""
        from moorage.api.nodes import Node
        from moorage.cli.manifest_files import read_manifests

        found = []
        for file in self.extra_node:
            nodes = [each for each in read_manifests(file) if isinstance(each, Node)]
            if not nodes:
                raise BadInput(f"--extra-node: {file} holds no Node; give a manifest of one")
            found += nodes
        return found

    def of(self, pod: Document) -> Document:
        """The pod's document with what is set; raises BadInput for a path that leads nowhere."""
        from moorage.insight.live.problems import Problem
        from moorage.insight.live.set_paths import set_path, toleration

        changed = deepcopy(pod)
        try:
            for text in self.set:
                set_path(changed, text)
            if self.tolerate:
                spec = changed.setdefault("spec", {})
                tolerations = [toleration(text) for text in self.tolerate]
                spec["tolerations"] = [*(spec.get("tolerations") or ()), *tolerations]
        except Problem as problem:
            raise BadInput(f"--{problem.message}") from None
        return changed


def what_if_options(command: Command) -> Command:
    """Adds the options of `Changes` to a command."""
    options = [
        click.option(
            "--set",
            multiple=True,
            metavar="PATH=VALUE",
            help="What if the pod had this, as in spec.containers[0].resources.requests.cpu=1. Repeatable.",
        ),
        click.option(
            "--tolerate",
            multiple=True,
            metavar="KEY[=VALUE][:EFFECT]",
            help="What if it tolerated this taint. Repeatable.",
        ),
        click.option(
            "--extra-node",
            multiple=True,
            metavar="FILE",
            shell_complete=files,
            help="What if there were the nodes of this manifest, too. Repeatable.",
        ),
        click.option(
            "--without-pod",
            multiple=True,
            metavar="NAMESPACE/NAME",
            help="What if this pod were gone. Repeatable.",
        ),
    ]
    for option in reversed(options):
        command = option(command)
    return command


def changes(options: dict[str, Any]) -> Changes:
    """Takes the options of `Changes` out of all that a command was given."""
    return Changes(**{name: options.pop(name) for name in Changes._fields})
