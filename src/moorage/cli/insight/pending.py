"""`moorage pending`: the pods that wait, by cause."""

from __future__ import annotations

from typing import Any

import click

from moorage.cli.completion import files
from moorage.cli.insight.options import Whom, scheduler_options, whom
from moorage.cli.setup import PENDING, errors_in_lines, plugin_option, set_up, verbose_option

Document = dict[str, Any]


@click.command()
@click.option("-n", "--namespace", default="", metavar="NAME", help="Only pods of this namespace.")
@click.option("-A", "--all-namespaces", is_flag=True, help="Pods of all namespaces.  [unless -n is given]")
@click.option("--no-advice", is_flag=True, help="Leave out what would help, which takes some seconds.")
@click.option(
    "-o",
    "--output",
    type=click.Choice(["words", "wide", "json", "yaml"]),
    default="words",
    show_default=True,
    help="wide is a table with a row per cause.",
)
@scheduler_options
@click.option(
    "--cluster",
    metavar="DIR_OR_YAML",
    shell_complete=files,
    help="Try the pods of these manifests that have no node, instead of asking a scheduler.",
)
@click.option(
    "--config",
    "config_file",
    metavar="FILE",
    shell_complete=files,
    help="With --cluster: a KubeSchedulerConfiguration.",
)
@plugin_option
@verbose_option
def pending(
    namespace: str,
    all_namespaces: bool,
    no_advice: bool,
    output: str,
    cluster: str | None,
    config_file: str | None,
    plugins: tuple[str, ...],
    verbose: bool,
    **options: Any,
) -> None:
    """Tell which pods wait, grouped by cause, and the one change that would free the most of them.

    Asked is the scheduler of `moorage up` on this machine, unless --scheduler or --cluster says otherwise.
    With --cluster, all pods without a node are tried in the order of the queue, in memory.

    In JSON there are `pods` (how many), `groups`, each with `cause`, `message`, `plugins`, `count`, `oldest`,
    `tries`, `waitsFor`, `pods` and `advice`, and `best`, with `suggestion`, `frees` and `pods`. Members
    of a gang that wait for one another are one cause, which has `gang`.

    The exit code is 0 if no pod waits, 3 if some do, 1 if something failed.

    \b
    Examples:
      moorage pending
      moorage pending -n shop -o wide
      moorage pending --scheduler https://10.0.0.7:10259 --token-file token
      kubectl get nodes,pods -A -o yaml > cluster.yaml
      moorage pending --cluster cluster.yaml
    """
    asked = whom(options)
    if namespace and all_namespaces:
        raise click.UsageError("-n and -A do not go together.")
    if cluster is not None and asked.given:
        raise click.UsageError(f"Ask one: --cluster and {' and '.join(asked.given)} do not go together.")
    if cluster is None and (config_file or plugins):
        raise click.UsageError("--config and --plugin go with --cluster: a running scheduler has its own.")
    with errors_in_lines(verbose, config_file):
        if cluster is None:
            document = _ask_scheduler(asked, namespace, advise=not no_advice)
        else:
            from moorage.cli.insight.manifests import waiting_pods

            setup = set_up(config_file, plugins)
            document = waiting_pods(cluster, setup, namespace, advise=not no_advice)
        _show(document, output)
        raise click.exceptions.Exit(PENDING if document["pods"] else 0)


def _ask_scheduler(asked: Whom, namespace: str, *, advise: bool) -> Document:
    from moorage.cli.insight.scheduler_api import SchedulerApi, find

    with SchedulerApi(find(asked)) as api:
        return api.get("/pending", advise=str(advise).lower(), namespace=namespace)


def _show(document: Document, output: str) -> None:
    import time

    from moorage.cli.insight.output import print_document, say, say_below, show
    from moorage.insight.words.amounts import counted
    from moorage.insight.words.groups import words_for_best, words_for_group

    if output in ("json", "yaml"):
        print_document(document, output)
        return
    now, total, groups = time.time(), document["pods"], document["groups"]
    if not total:
        say(["No pod is waiting."])
        return
    causes = counted(len(groups), "cause")
    say([f"{counted(total, 'pod')} {'waits' if total == 1 else 'wait'}, for {causes}."])
    if output == "wide":
        show("By cause", _table(groups, now))
    else:
        for group in groups:
            click.echo("")
            first, *others = words_for_group(group, now)
            say([first])
            say_below(others)
    if best := words_for_best(document.get("best"), total):
        click.echo("")
        say([best])


def _table(groups: list[Document], now: float) -> tuple[list[str], list[list[str]]]:
    from moorage.insight.words.amounts import age
    from moorage.insight.words.events import waits_for
    from moorage.insight.words.groups import cause, of_gang

    rows = [
        [
            str(group["count"]),
            age(now - group["oldest"]) if group.get("oldest") else "",
            str(group["tries"]),
            group["pods"][0] if group["pods"] else "",
            waits_for(group["waitsFor"]),
            f"{of_gang(group).removeprefix(' of ')}: {cause(group)}" if of_gang(group) else cause(group),
        ]
        for group in groups
    ]
    return ["PODS", "OLDEST", "TRIES", "SUCH AS", "WAITS UNTIL", "CAUSE"], rows
