"""`moorage explain`: why a pod is pending, or why it is where it is."""

from __future__ import annotations

from typing import Any

import click

from moorage.cli.completion import files
from moorage.cli.insight.names import pod_key
from moorage.cli.setup import BadInput, errors_in_lines, plugin_option, set_up, verbose_option

Document = dict[str, Any]


@click.command()
@click.argument("pod")
@click.option("-n", "--namespace", default="", metavar="NAME", help="The pod's namespace.  [default]")
@click.option(
    "--cluster",
    metavar="DIR_OR_YAML",
    shell_complete=files,
    help="Ask about manifests of nodes, pods and whatever else matters.",
)
@click.option("--nodes", is_flag=True, help="A table of every node: whether it fits, and its scores.")
@click.option("--plugins", "by_plugin", is_flag=True, help="A table of what each plugin said.")
@click.option(
    "-o",
    "--output",
    type=click.Choice(["words", "wide", "json", "yaml", "csv"]),
    default="words",
    show_default=True,
    help="wide adds all tables; csv is one table.",
)
@click.option(
    "--config", "config_file", metavar="FILE", shell_complete=files, help="What if: another configuration."
)
@plugin_option
@verbose_option
def explain(
    pod: str,
    namespace: str,
    cluster: str | None,
    nodes: bool,
    by_plugin: bool,
    output: str,
    config_file: str | None,
    plugins: tuple[str, ...],
    verbose: bool,
) -> None:
    """Tell why a pod is pending, or why it is where it is, in words."""
    with errors_in_lines(verbose, config_file):
        from moorage.cli.insight.answers import Answer, show_answer

        key = pod_key(pod, namespace)
        assert cluster is not None
        setup = set_up(config_file, plugins)
        document = _of_manifests(cluster, key, setup)
        answer = Answer.of_try(document)
        show_answer(answer, output, nodes=nodes, plugins=by_plugin)
        raise click.exceptions.Exit(answer.exit_code)


def _of_manifests(path: str, key: str, setup: Any) -> Document:
    from moorage.api.decoding import from_document
    from moorage.api.pods import Pod
    from moorage.cli.insight.manifests import Cluster, unplaced
    from moorage.cli.insight.names import near_names

    cluster = Cluster(path, setup)
    found = cluster.pod(key)
    if found is None:
        raise BadInput(f"{path}: has no pod {key}{near_names(key, [each.key for each in cluster.pods])}")
    document, on = unplaced(found.raw)
    return cluster.tried(from_document(Pod, document), on=on)
