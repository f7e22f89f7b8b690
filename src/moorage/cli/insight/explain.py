"""`moorage explain`: why a pod is pending, or why it is where it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from moorage.cli.completion import files
from moorage.cli.insight.names import near_names, pod_key
from moorage.cli.insight.options import Whom, scheduler_options, whom
from moorage.cli.insight.what_if import Changes, changes, what_if_options
from moorage.cli.setup import BadInput, Setup, errors_in_lines, plugin_option, set_up, verbose_option

if TYPE_CHECKING:
    from moorage.api.meta import Object
    from moorage.cli.insight.answers import Answer
    from moorage.cli.insight.scheduler_api import SchedulerApi

Document = dict[str, Any]


@click.command()
@click.argument("pod")
@click.option("-n", "--namespace", default="", metavar="NAME", help="The pod's namespace.  [default]")
@click.option("--nodes", is_flag=True, help="A table of every node: whether it fits, and its scores.")
@click.option("--plugins", "by_plugin", is_flag=True, help="A table of what each plugin said.")
@click.option("--attempts", is_flag=True, help="A table of all tries: the pod's story.")
@click.option(
    "-o",
    "--output",
    type=click.Choice(["words", "wide", "json", "yaml", "csv"]),
    default="words",
    show_default=True,
    help="wide adds all tables; csv is one table.",
)
@scheduler_options
@click.option(
    "--cluster",
    metavar="DIR_OR_YAML",
    shell_complete=files,
    help="Ask about manifests of nodes, pods and whatever else matters, instead of a scheduler.",
)
@click.option(
    "--log",
    "log_file",
    metavar="FILE",
    shell_complete=files,
    help="Ask the decision log in this file instead of a scheduler.",
)
@what_if_options
@click.option(
    "--config",
    "config_file",
    metavar="FILE",
    shell_complete=files,
    help="What if the scheduler had this KubeSchedulerConfiguration.",
)
@plugin_option
@verbose_option
def explain(
    pod: str,
    namespace: str,
    nodes: bool,
    by_plugin: bool,
    attempts: bool,
    output: str,
    cluster: str | None,
    log_file: str | None,
    config_file: str | None,
    plugins: tuple[str, ...],
    verbose: bool,
    **options: Any,
) -> None:
    """Tell why a pod is pending and what would make it fit, or why it is where it is.

    POD is NAME, pod/NAME or NAMESPACE/NAME. Asked is the scheduler of `moorage up` on this machine, unless
    --scheduler, --cluster or --log says otherwise. The options that begin with "What if" are tried on a copy
    of the state, all together; nothing is changed. With --plugin that copy is here: what decides is read from
    the cluster of the kubeconfig, and the configuration is that of --config.

    In JSON a pod has `state` (pending, gated, binding, placed or unknown), `node`, `since`, `tries`, `queue`,
    `last` (its last try), `attempts`, `closest`, `words` and `advice`. What if and --cluster give what
    `moorage evaluate -o json --advise` gives, with `words` and `closest`. --nodes adds `matrix`.

    A member of a gang has `gang`, too, with `fits`, `minimum`, `members`, `running`, `waiting`, `gated` and
    `message`; what is advised then was tried with the whole gang.

    The exit code is 0 if the pod has a node (or would get one), 3 if it is pending, 1 if something failed.

    \b
    Examples:
      moorage explain web-1
      moorage explain shop/web-1 --nodes
      moorage explain web-1 --set spec.containers[0].resources.requests.cpu=500m
      moorage explain web-1 --tolerate gpu --without-pod default/batch-7
      moorage explain web-1 --plugin my_plugin.py
      moorage explain web-1 --scheduler https://10.0.0.7:10259 --token-file token
      kubectl get nodes,pods -A -o yaml > cluster.yaml
      moorage explain web-1 --cluster cluster.yaml
    """
    asked, changed = whom(options), changes(options)
    sources = [name for name, value in (("--cluster", cluster), ("--log", log_file)) if value]
    if len([*sources, *asked.given[:1]]) > 1:
        raise click.UsageError(f"Ask one: {' and '.join([*sources, *asked.given])} do not go together.")
    with errors_in_lines(verbose, config_file):
        from moorage.cli.insight.answers import show_answer

        key = pod_key(pod, namespace)
        if log_file is not None and plugins:
            raise BadInput("--log: a log tells what was; leave --plugin out, or ask --cluster what would be")
        if cluster is not None or plugins:
            setup = set_up(config_file, plugins)
            answer = _of_objects(*_objects(cluster, asked), key, changed, setup)
        elif log_file is not None:
            if any(changed) or config_file:
                raise BadInput("--log: a log tells what was; ask a scheduler or --cluster what would be")
            answer = _of_log(log_file, key)
        else:
            _ask_scheduler(asked, key, changed, config_file, output, nodes, by_plugin, attempts)
            return
        show_answer(answer, output, nodes=nodes, plugins=by_plugin, attempts=attempts)
        raise click.exceptions.Exit(answer.exit_code)


def _objects(manifests: str | None, asked: Whom) -> tuple[Sequence[Object], str]:
    """Those of manifests or, as a running scheduler takes no code, of the cluster itself; and their place."""
    from moorage.cli.insight.live_objects import read_cluster
    from moorage.cli.manifest_files import read_manifests

    if manifests is not None:
        return read_manifests(manifests), manifests
    if given := [each for each in asked.given if each != "--kubeconfig"]:
        raise BadInput(
            f"{given[0]}: no running scheduler takes a --plugin; the cluster of --kubeconfig is read instead"
        )
    return read_cluster(asked.kubeconfig)


def _of_objects(objects: Sequence[Object], where: str, key: str, changed: Changes, setup: Setup) -> Answer:
    from moorage.cli.insight.answers import Answer
    from moorage.cli.insight.manifests import Cluster

    cluster = Cluster(objects, where, setup)
    cluster.add(changed.nodes())
    for other in changed.without_pod:
        cluster.remove(pod_key(other, ""))
    found = cluster.pod(key)
    if found is None:
        raise BadInput(f"{where}: has no pod {key}{near_names(key, [each.key for each in cluster.pods])}")
    return Answer.of_try(cluster.tried(found, changed.of))


def _of_log(path: str, key: str) -> Answer:
    from moorage.cli.insight.answers import Answer
    from moorage.cli.insight.log_files import document_of

    return Answer.of_pod(*document_of(path, key))


def _ask_scheduler(
    asked: Whom,
    key: str,
    changed: Changes,
    config_file: str | None,
    output: str,
    nodes: bool,
    plugins: bool,
    attempts: bool,
) -> None:
    from moorage.cli.insight.answers import Answer, show_answer
    from moorage.cli.insight.scheduler_api import SchedulerApi, find

    with SchedulerApi(find(asked)) as api:
        if any(changed) or config_file is not None:
            answer = Answer.of_try(_what_if(api, key, changed, config_file))
        else:
            document = _known(api, key)
            number = (document.get("last") or {}).get("number")
            path = f"/attempts/{number}/nodes"
            answer = Answer.of_pod(document, None if number is None else lambda: api.all_rows(path, "rows"))
        show_answer(answer, output, nodes=nodes, plugins=plugins, attempts=attempts)
    raise click.exceptions.Exit(answer.exit_code)


def _what_if(api: SchedulerApi, key: str, changed: Changes, config_file: str | None) -> Document:
    from moorage.cli.setup import read_input

    namespace, _, name = key.partition("/")
    body: Document = {
        "pod": {"namespace": namespace, "name": name},
        "set": list(changed.set),
        "tolerate": list(changed.tolerate),
        "extraNodes": [each.raw for each in changed.nodes()],
        "withoutPods": [pod_key(other, "") for other in changed.without_pod],
        "advise": True,
    }
    if config_file is not None:
        text, name = read_input(config_file)
        if not text.strip():
            raise BadInput(f"--config: {name} is empty; give a KubeSchedulerConfiguration")
        body["config"] = text.decode(errors="replace")
    _known(api, key)
    return api.post("/try", body)


def _known(api: SchedulerApi, key: str) -> Document:
    """The document of a pod; if there is none, the names that are like it."""
    from moorage.cli.insight.scheduler_api import NotKnown

    try:
        return api.get(api.pod_path(key), advise="true")
    except NotKnown:
        known = _names(api)
        raise BadInput(f"{api.server}: knows no pod {key}{near_names(key, known)}") from None


def _names(api: SchedulerApi) -> list[str]:
    """Pods that wait or were tried lately; raises BadInput if this is no Moorage scheduler."""
    from moorage.cli.insight.scheduler_api import NotKnown

    try:
        found = [*api.get("/queue", limit="1000")["pods"], *api.get("/attempts", limit="1000")["attempts"]]
    except NotKnown:
        raise BadInput(f"{api.server}: has no insight to ask; it takes a Moorage scheduler") from None
    return list(dict.fromkeys(f"{each['pod']['namespace']}/{each['pod']['name']}" for each in found))
