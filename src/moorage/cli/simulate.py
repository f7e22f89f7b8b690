"""`moorage simulate`: many pods against many nodes, in memory."""

from __future__ import annotations

import random
import sys
from typing import TYPE_CHECKING, Any

import click

from moorage.cli import interrupts
from moorage.cli.completion import files
from moorage.cli.setup import (
    PENDING,
    BadInput,
    Setup,
    config_option,
    devices_option,
    errors_in_lines,
    output_option,
    plugin_option,
    print_json,
    quiet_scheduler,
    set_up,
    strict_version_option,
    verbose_option,
    with_option,
)

if TYPE_CHECKING:
    from moorage.api.meta import Object
    from moorage.api.pods import Pod
    from moorage.what_if.simulation import Result, Simulation

WORKLOADS = (
    *("plain", "distinct", "spread", "affinity", "antiaffinity", "prefaffinity", "nodeaffinity"),
    *("claims", "gangs"),
)

_COSCHEDULING = "Coscheduling"
_LISTED_REASONS = 20


@click.command()
@click.argument("manifests", nargs=-1, shell_complete=files)
@click.option("--nodes", type=click.IntRange(min=0), help="Make up so many nodes.")
@click.option("--pods", type=click.IntRange(min=0), help="Make up so many pods.")
@click.option(
    "--workload",
    type=click.Choice(WORKLOADS),
    default="plain",
    metavar="NAME",
    help=f"What made-up pods ask for: {', '.join(WORKLOADS[:-1])} or {WORKLOADS[-1]}.",
)
@devices_option
@click.option("--show-placements", is_flag=True, help="Print the node of every pod.")
@click.option(
    "--seed",
    type=int,
    default=0,
    show_default=True,
    help="Another number, other choices where chance decides.",
)
@output_option
@config_option
@strict_version_option
@plugin_option
@with_option
@verbose_option
def simulate(
    manifests: tuple[str, ...],
    nodes: int | None,
    pods: int | None,
    workload: str,
    devices: tuple[str, ...],
    show_placements: bool,
    seed: int,
    output: str,
    config_file: str | None,
    strict_config_version: bool,
    plugins: tuple[str, ...],
    features: tuple[str, ...],
    verbose: bool,
) -> None:
    """Schedule pods in memory at full speed: real queue, real plugins, no cluster.

    MANIFESTS are files or folders of YAML or JSON with nodes, pods and whatever else matters; pods that
    have a node are taken as running, the others are scheduled. --nodes and --pods make up more. Each pod of
    the workload `claims` has a claim for one device of the class gpu, of which every node has eight unless
    --devices or the manifests say otherwise. Those of the workload `gangs` belong to groups of 2 to 16 that
    are placed together or not at all, by the plugin Coscheduling; without --config it is enabled for them.

    Two runs give the same. Equally good nodes are not taken in turns: as `moorage run` does, the same one is
    taken as long as it stays as good. Chance decides only among equal victims of preemption, among nodes to
    which extenders gave equal scores, and in plugins that ask Python's `random`; --seed changes that.

    With -o json: `nodes` (how many), `placed` (pod to node), `pending` (a list with `pod`, `reason`,
    `error` and `nominatedNode`), `failedPlugins` (plugin to how often), `requested` (resource to share),
    `seconds` and `podsPerSecond`; and `gangs` (how many are `whole`, `waiting` and `partial`), if a plugin
    knows of gangs.

    The exit code is 3 if pods stay pending, 1 if a plugin failed or the input is wrong, otherwise 0.

    \b
    Examples:
      moorage simulate --nodes 5000 --pods 10000 --workload spread
      moorage simulate --nodes 100 --pods 400 --workload claims --devices gpu=4
      moorage simulate --nodes 20 --pods 400 --workload gangs
      moorage simulate cluster.yaml pods.yaml --show-placements
      moorage simulate cluster.yaml --pods 50 -o json
      moorage simulate cluster.yaml gangs.yaml --with coscheduling
    """
    if not manifests and nodes is None and pods is None:
        raise click.UsageError("Give manifests, or --nodes and --pods to make some up.")
    with errors_in_lines(verbose, config_file):
        import asyncio

        from moorage.api.nodes import Node
        from moorage.api.pods import Pod
        from moorage.cli.devices import objects_for, read_devices
        from moorage.cli.manifest_files import check_unique, read_manifests
        from moorage.what_if.device_workloads import is_claimed_class, make_claims, make_devices
        from moorage.what_if.gang_workloads import make_pod_groups
        from moorage.what_if.simulation import Simulation
        from moorage.what_if.workloads import make_nodes, make_pods

        if workload == "gangs" and config_file is None:
            features = (*features, "coscheduling")
        setup = set_up(config_file, plugins, features=features, strict_version=strict_config_version)
        if workload == "gangs":
            _check_coscheduling(setup, config_file)
        simulation = Simulation(setup.config, setup.registry)
        given: list[tuple[str, Object]] = [
            (path, item) for path in manifests for item in read_manifests(path)
        ]
        given += [("--nodes", node) for node in make_nodes(nodes or 0)]
        names = [item.name for _, item in given if isinstance(item, Node)]
        given += objects_for(read_devices(devices), names)
        if workload == "claims" and not any(is_claimed_class(item) for _, item in given):
            given += [("--workload", item) for item in make_devices(names)]
        made_up = list(make_pods(workload, pods or 0))
        given += [("--pods", item) for item in (*made_up, *make_claims(made_up), *make_pod_groups(made_up))]
        check_unique(given)
        waiting: list[Pod] = []
        for _, item in given:
            if isinstance(item, Pod) and not item.spec.node_name and not item.finished:
                waiting.append(item)
            else:
                simulation.add(item)
        if not waiting:
            raise BadInput("there is no pod to schedule; give some in the manifests or with --pods")
        random.seed(seed)
        interrupts.raise_again()
        with quiet_scheduler(verbose):
            result = asyncio.run(_run(simulation, waiting))
    if output == "json":
        print_json(_document(simulation, result))
    else:
        _report(simulation, result, show_placements)
    sys.stdout.flush()
    if result.failed_plugins or result.errors:
        raise click.exceptions.Exit(1)
    if result.pending:
        raise click.exceptions.Exit(PENDING)


def _check_coscheduling(setup: Setup, config_file: str | None) -> None:
    enabled = {name for profile in setup.config.profiles for name in profile.plugins.enabled_names()}
    if _COSCHEDULING not in enabled:
        raise BadInput(
            f"--workload gangs: no profile of {config_file} enables {_COSCHEDULING}; enable it there"
        )


async def _run(simulation: Simulation, waiting: list[Pod]) -> Result:
    import asyncio

    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns = (TextColumn("Scheduling"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("", total=len(waiting))
        running = asyncio.current_task()

        def advance(done: int) -> None:
            if done % 100 == 0:
                progress.update(task, completed=done)
            if running is not None and running.cancelling():
                # Ctrl-C waits for the next await, and pods that fit nowhere bring none.
                raise asyncio.CancelledError

        return await simulation.run(waiting, advance)


def _document(simulation: Simulation, result: Result) -> dict[str, Any]:
    from moorage.what_if.gang_outcomes import gang_outcomes

    gangs = gang_outcomes(simulation.scheduler)
    return {
        "nodes": len(simulation.scheduler.state.table),
        "placed": result.placed,
        "pending": [
            {
                "pod": pod,
                "reason": reason,
                "error": pod in result.errors,
                "nominatedNode": result.nominated.get(pod, ""),
            }
            for pod, reason in result.pending.items()
        ],
        **({} if gangs is None else {"gangs": gangs.document()}),
        "failedPlugins": result.failed_plugins,
        "requested": {name: used / available for name, used, available in simulation.utilisation()},
        "seconds": result.seconds,
        "podsPerSecond": result.pods_per_second,
    }


def _report(simulation: Simulation, result: Result, show_placements: bool) -> None:
    from moorage.cli.tables import print_table

    if show_placements:
        print_table(("POD", "NODE"), list(result.placed.items()))
        click.echo("")
    total = len(result.placed) + len(result.pending)
    _say(
        f"{len(result.placed)} of {total} pods placed on {len(simulation.scheduler.state.table)} nodes "
        f"in {result.seconds:.2f} s: {result.pods_per_second:.0f} pods per second"
    )
    for resource, used, available in simulation.utilisation():
        _say(f"{resource}: {100 * used / available:.1f}% requested", "  ")
    _report_gangs(simulation)
    if result.pending:
        _report_pending(result.pending)
    for plugin, count in result.failed_plugins.items():
        _say(f"Plugin {plugin} failed {count} times; -v shows how")


def _report_gangs(simulation: Simulation) -> None:
    from moorage.what_if.gang_outcomes import gang_outcomes

    gangs = gang_outcomes(simulation.scheduler)
    if gangs is None or not any(gangs):
        return
    whole, waiting, partial = (len(keys) for keys in gangs)
    if partial:
        in_part = f"{partial} have nodes for too few members, such as {gangs.partial[0]}"
    else:
        in_part = "none is placed in part"
    _say(f"{whole} of {whole + waiting + partial} gangs are whole, {waiting} wait, {in_part}")


def _report_pending(pending: dict[str, str]) -> None:
    """The reasons, the most frequent first, each with an example."""
    by_reason: dict[str, list[str]] = {}
    for pod, reason in pending.items():
        by_reason.setdefault(reason, []).append(pod)
    _say(f"{len(pending)} pods stay pending:")
    ordered = sorted(by_reason.items(), key=lambda entry: -len(entry[1]))
    for reason, pods in ordered[:_LISTED_REASONS]:
        more = f" and {len(pods) - 1} more" if len(pods) > 1 else ""
        _say(f"{pods[0]}{more}: {reason}", "  ")
    if len(ordered) > _LISTED_REASONS:
        _say(f"... and {len(ordered) - _LISTED_REASONS} further reasons", "  ")


def _say(text: str, indent: str = "") -> None:
    from moorage.cli.tables import folded, terminal_width

    for line in folded(text, terminal_width(), first=indent):
        click.echo(line)
