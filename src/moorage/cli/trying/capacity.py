"""`moorage capacity`: what more fits, which nodes are missing, and which are not needed."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from moorage.cli.completion import files
from moorage.cli.groups import Commands
from moorage.cli.setup import (
    PENDING,
    BadInput,
    errors_in_lines,
    output_option,
    print_json,
    quiet_scheduler,
    warn,
)
from moorage.cli.trying.sources import (
    asked,
    read_given,
    read_objects,
    searching,
    source_options,
    timeout_option,
)

if TYPE_CHECKING:
    from moorage.api.pods import Pod
    from moorage.what_if.capacity.node_types import NodeType
    from moorage.what_if.capacity.world import Given

_MOST = 10_000


def _prices(context: click.Context, parameter: click.Parameter, texts: Sequence[str]) -> dict[str, float]:
    prices: dict[str, float] = {}
    for text in texts:
        name, _, number = text.rpartition("=")
        try:
            price = float(number)
        except ValueError:
            price = 0.0
        if not name or not 0 < price < float("inf"):
            raise click.BadParameter(f"'{text}' is no price; write it like large=2.5, more than 0")
        prices[name] = price
    return prices


@click.group(cls=Commands)
def capacity() -> None:
    """Tell what more fits, which nodes are missing, and which are not needed.

    Everything is tried on a copy in memory with the real queue and the real plugins, so that spreads,
    affinities, taints, ports, volumes and plugins of your own count. Nothing is changed in any cluster.

    Asked is a cluster of manifests, if any are given, and otherwise the cluster of --kubeconfig, which is
    only read. The configuration is that of --config; without it, that of the running scheduler of
    --scheduler or of `moorage up`; without one, the default.

    \b
    Examples:
      kubectl get nodes,pods,pdb,pv,pvc -A -o yaml > cluster.yaml
      moorage capacity room pod.yaml cluster.yaml
      moorage capacity nodes cluster.yaml --type large.yaml --price large=2
      moorage capacity drain --cluster cluster.yaml
    """


@capacity.command()
@click.argument("pod", metavar="POD", shell_complete=files)
@click.argument("cluster", nargs=-1, shell_complete=files)
@click.option(
    "--most",
    type=click.IntRange(min=1),
    default=_MOST,
    show_default=True,
    help="Count no further than this.",
)
@timeout_option
@output_option
@source_options
def room(
    pod: str, cluster: tuple[str, ...], most: int, seconds: float, output: str, verbose: bool, **options: Any
) -> None:
    """Tell how many more of a pod fit, where they would go, and what stops the next.

    POD is the file of a pod; what else stands in it, such as its claims, is added to the cluster. CLUSTER
    are files or folders of manifests. Pods that wait in the cluster are left out, and nobody is preempted.

    The scheduler places one pod after the other where it scores best. Another placement may have more: where
    there are few ways to place the pods all of them are tried, elsewhere a bound is told.

    With -o json: `fits`, `where` (node to how many), `atMost` (no placement has more), `exact` (whether one
    has as many), `limited` (whether --most or --timeout ended the count), `then` (sentences), `message` (the
    scheduler's own), `waiting` (how many pods were left out) and `failedPlugins`.

    The exit code is 3 if none fits, 1 if a plugin failed or the input is wrong, otherwise 0.

    \b
    Examples:
      moorage capacity room pod.yaml cluster.yaml
      moorage capacity room pod.yaml --kubeconfig ~/.kube/config
      moorage capacity room pod.yaml cluster.yaml --config packing.yaml -o json
    """
    source = asked(options)
    with errors_in_lines(verbose, source.config_file), quiet_scheduler(verbose):
        from moorage.cli.trying import capacity_reports as reports
        from moorage.what_if.capacity.room import room_for
        from moorage.what_if.capacity.world import World

        given, _ = read_given(cluster, source)
        given, wanted = _with_pod(given, pod)
        with World(given) as world:
            with searching(seconds, "Placing") as effort:
                found = room_for(
                    world,
                    wanted,
                    most=most,
                    effort=effort,
                    progress=lambda placed: effort.tell(f"{placed} placed"),
                )
            document = reports.room_document(world, found)
        if output == "json":
            print_json(document)
        else:
            reports.show_room(document)
    sys.stdout.flush()
    if document["failedPlugins"]:
        raise click.exceptions.Exit(1)
    if not document["fits"]:
        raise click.exceptions.Exit(PENDING)


@capacity.command()
@click.argument("cluster", nargs=-1, shell_complete=files)
@click.option(
    "--type",
    "type_files",
    multiple=True,
    metavar="FILE",
    shell_complete=files,
    help="A manifest of a node that could be added, in any number; its name is that of the type. Repeatable.",
)
@click.option(
    "--like",
    multiple=True,
    metavar="NODE",
    help="Nodes like this one could be added. Repeatable.  [without --type and --like: each sort there is]",
)
@click.option(
    "--price",
    "prices",
    multiple=True,
    metavar="TYPE=NUMBER",
    callback=_prices,
    help="What a node of a type costs; TYPE may be a node's label node.kubernetes.io/instance-type, too. "
    "Repeatable.  [1]",
)
@click.option(
    "--pods",
    "pod_files",
    multiple=True,
    metavar="FILE",
    shell_complete=files,
    help="Ask about the pods of this manifest instead of those that wait in the cluster. Repeatable.",
)
@click.option("--show-placements", is_flag=True, help="Print the node of every pod.")
@timeout_option
@output_option
@source_options
def nodes(
    cluster: tuple[str, ...],
    type_files: tuple[str, ...],
    like: tuple[str, ...],
    prices: dict[str, float],
    pod_files: tuple[str, ...],
    show_placements: bool,
    seconds: float,
    output: str,
    verbose: bool,
    **options: Any,
) -> None:
    """Tell how many nodes of which type must be added so that the pods that wait fit, at the least cost.

    CLUSTER are files or folders of manifests. A new node has the pods of those DaemonSets that would run on
    it. Whatever is told was tried: the scheduler places all pods on a copy of the cluster with these nodes.

    Everything cheaper is tried, too, the cheapest first; if the time is over before that, what has been found
    is told with the least that it could cost.

    With -o json: `nodes` (type to how many), `cost`, `least` (whether the scheduler places all with nothing
    cheaper), `atLeast` (with less, no placement has all), `placed` (pod to node), `hopeless` (pod to why it
    fits on no number of these nodes).

    The exit code is 3 if pods fit on none of the types, 1 if the input is wrong, otherwise 0.

    \b
    Examples:
      moorage capacity nodes cluster.yaml
      moorage capacity nodes cluster.yaml --type large.yaml --price large=1.8
      moorage capacity nodes --kubeconfig ~/.kube/config --like worker-1
      moorage capacity nodes cluster.yaml --pods batch.yaml --show-placements
    """
    source = asked(options)
    with errors_in_lines(verbose, source.config_file), quiet_scheduler(verbose):
        from moorage.cli.trying import capacity_reports as reports
        from moorage.what_if.capacity.adding import Adding
        from moorage.what_if.capacity.node_types import with_daemons
        from moorage.what_if.capacity.world import World

        given, where = read_given(cluster, source)
        given, waiting = _waiting(given, pod_files)
        types = _types(given, where, type_files, like, prices)
        with World(given) as world, searching(seconds, "Adding nodes") as effort:
            known = [with_daemons(world, each) for each in types]
            found = Adding(world, known, effort).search(waiting)
        if output == "json":
            print_json(reports.addition_document(found))
        else:
            reports.show_addition(found, types, len(waiting), show_placements)
    sys.stdout.flush()
    if found.hopeless:
        raise click.exceptions.Exit(PENDING)


@capacity.command()
@click.argument("names", metavar="[NODE]...", nargs=-1)
@click.option(
    "--cluster",
    multiple=True,
    metavar="DIR_OR_YAML",
    shell_complete=files,
    help="Ask about these manifests instead of a running cluster. Repeatable.",
)
@click.option(
    "--price",
    "prices",
    multiple=True,
    metavar="NODE=NUMBER",
    callback=_prices,
    help="What a node costs; NODE may be a label node.kubernetes.io/instance-type, too. Repeatable.  [1]",
)
@click.option("--force", is_flag=True, help="Pods without a controller go, and do not come back.")
@click.option("--delete-emptydir-data", is_flag=True, help="Pods with emptyDir volumes go, too.")
@click.option(
    "--ignore-daemonsets", is_flag=True, help="As for kubectl drain; pods of DaemonSets are always ignored."
)
@click.option("--script", is_flag=True, help="Print the kubectl commands, in order.")
@timeout_option
@output_option
@source_options
def drain(
    names: tuple[str, ...],
    cluster: tuple[str, ...],
    prices: dict[str, float],
    force: bool,
    delete_emptydir_data: bool,
    ignore_daemonsets: bool,
    script: bool,
    seconds: float,
    output: str,
    verbose: bool,
    **options: Any,
) -> None:
    """Tell which nodes could be emptied and removed, and how, with every budget and constraint kept.

    Without NODE, all nodes are looked at but those of the control plane. The plan has the nodes cordoned,
    then one pod after the other evicted; each waits until the pod that comes in place of the one before is
    ready. It was carried out step by step on a copy: every eviction is one that the disruption budgets allow,
    and the scheduler has a node for each pod. Pods are treated as by kubectl drain.

    The most nodes are looked for or, with --price, those that cost the most. For more than a dozen nodes a
    solver helps with that: pip install 'moorage[solver]'.

    With -o json: `removed` (nodes), `worth`, `atMost` (no nodes that are worth more can be removed), `steps`
    (with `do`, which is cordon, evict, delete or remove, `node`, and for pods `pod`, `to`, `budget` and
    `allowed`), `kept` (node to a list of `pod` and `why`) and `waiting` (how many pods were left out).

    The exit code is 3 if not all of the named nodes can be removed or, without names, none can; 1 if the
    input is wrong, otherwise 0.

    \b
    Examples:
      moorage capacity drain --cluster cluster.yaml
      moorage capacity drain worker-3 worker-4 --delete-emptydir-data
      moorage capacity drain --price m5.large=0.096 --price m5.xlarge=0.192
      moorage capacity drain --kubeconfig ~/.kube/config --script > drain.sh
    """
    if script and output == "json":
        raise click.UsageError("--script and -o json do not go together.")
    source = asked(options)
    with errors_in_lines(verbose, source.config_file), quiet_scheduler(verbose):
        from moorage.cli.trying import capacity_reports as reports
        from moorage.cli.trying.drain_script import script_of
        from moorage.what_if.capacity import solver
        from moorage.what_if.capacity.leaving import Rules
        from moorage.what_if.capacity.removing import Removing
        from moorage.what_if.capacity.world import World

        given, where = read_given(cluster, source)
        if not given.nodes:
            raise BadInput(f"{where}: has no nodes, so none can be removed; give manifests of some")
        chosen = _chosen(given, where, names, prices)
        with World(given) as world, searching(seconds, "Draining") as effort:
            removing = Removing(world, chosen, Rules(force, delete_emptydir_data), effort)
            found = removing.search(
                (lambda: solver.HighsSolver(world, removing, effort)) if solver.is_installed() else None
            )
        if output == "json":
            print_json(reports.removal_document(found, len(given.waiting)))
        elif script:
            click.echo(script_of(found.plan, given), nl=False)
        else:
            reports.show_removal(
                found,
                len(chosen),
                len(given.waiting),
                prices=bool(prices),
                has_solver=solver.is_installed(),
            )
    sys.stdout.flush()
    if found.kept if names else not found.plan.nodes:
        raise click.exceptions.Exit(PENDING)


def _with_pod(given: Given, file: str) -> tuple[Given, Pod]:
    """The pod that is asked about, and the cluster with what else stands in its file."""
    from moorage.api.pods import Pod
    from moorage.what_if.capacity.copies import copy_of

    items = read_objects(file)
    pods = [item for item in items if isinstance(item, Pod)]
    if len(pods) != 1:
        raise BadInput(f"{file}: holds {len(pods)} pods; give a file with exactly one")
    known = {(type(item), item.key) for item in given.objects}
    others = [item for item in items if not isinstance(item, Pod) and (type(item), item.key) not in known]
    (pod,) = pods
    profiles = [profile.scheduler_name for profile in given.config.profiles]
    if pod.spec.scheduler_name not in profiles:
        known_names, wanted = ", ".join(profiles), pod.spec.scheduler_name
        warn(
            [f"pod {pod.key} asks for scheduler {wanted}, profiles are {known_names}; {profiles[0]} is used"]
        )
        pod = copy_of(pod, 0, profiles[0])
    return given._replace(objects=[*given.objects, *others]), pod


def _waiting(given: Given, pod_files: Sequence[str]) -> tuple[Given, list[Pod]]:
    """The pods that have to fit, and the cluster with what else stands in their files."""
    from moorage.api.pods import Pod

    if not pod_files:
        return given, given.waiting
    items = [item for file in pod_files for item in read_objects(file)]
    known = {(type(item), item.key) for item in given.objects}
    others = [item for item in items if not isinstance(item, Pod) and (type(item), item.key) not in known]
    placed = {pod.key for pod in given.pods if pod.spec.node_name}
    asked_about = given._replace(objects=[item for item in items if isinstance(item, Pod)])
    for pod in asked_about.waiting:
        if pod.key in placed:
            raise BadInput(f"--pods: {pod.key} has a node in the cluster already; give it another name")
    if not asked_about.waiting:
        raise BadInput(f"{', '.join(pod_files)}: holds no pod without a node; give some that wait")
    return given._replace(objects=[*given.objects, *others]), asked_about.waiting


def _types(
    given: Given,
    where: str,
    type_files: Sequence[str],
    like: Sequence[str],
    prices: Mapping[str, float],
) -> list[NodeType]:
    """The types of nodes that may be added, each with its price; raises BadInput."""
    from dataclasses import replace

    from moorage.api.nodes import Node
    from moorage.cli.manifest_files import read_manifests
    from moorage.what_if.capacity.node_types import NodeType, like_existing

    found: list[NodeType] = []
    for file in type_files:
        models = [item for item in read_manifests(file) if isinstance(item, Node)]
        if not models:
            raise BadInput(f"--type: {file} holds no Node; give a manifest of one")
        found += [NodeType(item.name, item) for item in models]
    _check_nodes(given, where, like)
    if like or not type_files:
        found += like_existing(given.objects, like or None)
    if not found:
        raise BadInput(
            f"{where}: has no nodes that others could be like; give the manifest of one with --type"
        )
    names = [each.name for each in found]
    existing = {node.name for node in given.nodes}
    for each in found:
        if each.node_name(1) in existing:
            raise BadInput(f"--type: {where} has a node {each.node_name(1)}; give the type another name")
    for name in names:
        if names.count(name) > 1:
            raise BadInput(f"--type: there are two types called {name}; give them other names")
    unused = set(prices)
    priced = []
    for each in found:
        keys = _price_keys(each.name, each.model.labels)
        unused.difference_update(keys)
        priced.append(replace(each, price=next((prices[key] for key in keys if key in prices), 1.0)))
    _check_prices(unused, names)
    return priced


def _chosen(given: Given, where: str, names: Sequence[str], prices: Mapping[str, float]) -> dict[str, float]:
    """The nodes that may be removed, and what each is worth."""
    from moorage.what_if.capacity.leaving import is_of_control_plane

    _check_nodes(given, where, names)
    unused = set(prices)
    found: dict[str, float] = {}
    for node in given.nodes:
        keys = _price_keys(node.name, node.labels)
        unused.difference_update(keys)
        if node.name in names or (not names and not is_of_control_plane(node)):
            found[node.name] = next((prices[key] for key in keys if key in prices), 1.0)
    _check_prices(unused, [node.name for node in given.nodes])
    return found


def _price_keys(name: str, labels: Mapping[str, str]) -> list[str]:
    from moorage.what_if.capacity.node_types import INSTANCE_TYPE

    return [name, *([labels[INSTANCE_TYPE]] if INSTANCE_TYPE in labels else [])]


def _check_prices(unused: set[str], known: Sequence[str]) -> None:
    if unused:
        from moorage.config.remedies import did_you_mean

        name = min(unused)
        remedy = did_you_mean(name, known) or f"; there are {', '.join(known[:3])}"
        raise BadInput(f"--price: nothing is called {name}{remedy}")


def _check_nodes(given: Given, where: str, names: Sequence[str]) -> None:
    from moorage.config.remedies import did_you_mean

    known = [node.name for node in given.nodes]
    for name in names:
        if name not in known:
            remedy = did_you_mean(name, known)
            if not remedy:
                some = ", ".join(known[:3]) + (" and others" if len(known) > 3 else "")
                remedy = f"; there are {some}" if known else "; it has none"
            raise BadInput(f"{where}: has no node {name}{remedy}")
