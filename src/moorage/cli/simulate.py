"""`moorage simulate`: many pods against many nodes, in memory."""

from __future__ import annotations

import logging
import random
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from moorage.cli import interrupts
from moorage.cli.completion import files
from moorage.cli.setup import (
    PENDING,
    BadInput,
    config_option,
    devices_option,
    errors_in_lines,
    output_option,
    plugin_option,
    print_json,
    set_up,
    strict_version_option,
    verbose_option,
)

if TYPE_CHECKING:
    from moorage.api.meta import Object
    from moorage.api.pods import Pod
    from moorage.what_if.simulation import Result, Simulation

WORKLOADS = (
    *("plain", "distinct", "spread", "affinity", "antiaffinity", "prefaffinity", "nodeaffinity"),
    "claims",
)

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
    verbose: bool,
) -> None:
    """Schedule pods in memory at full speed: real queue, real plugins, no cluster.

    MANIFESTS are files or folders of YAML or JSON with nodes, pods and whatever else matters; pods that
    have a node are taken as running, the others are scheduled. --nodes and --pods make up more. Each pod of
    the workload `claims` has a claim for one device of the class gpu, of which every node has eight unless
    --devices or the manifests say otherwise.

    Two runs give the same. Equally good nodes are not taken in turns: as `moorage run` does, the same one is
    taken as long as it stays as good. Chance decides only among equal victims of preemption, among nodes to
    which extenders gave equal scores, and in plugins that ask Python's `random`; --seed changes that.

    With -o json: `nodes` (how many), `placed` (pod to node), `pending` (a list with `pod`, `reason`,
    `error` and `nominatedNode`), `failedPlugins` (plugin to how often), `requested` (resource to share),
    `seconds` and `podsPerSecond`.

    The exit code is 3 if pods stay pending, 1 if a plugin failed or the input is wrong, otherwise 0.

    \b
    Examples:
      moorage simulate --nodes 5000 --pods 10000 --workload spread
      moorage simulate --nodes 100 --pods 400 --workload claims --devices gpu=4
      moorage simulate cluster.yaml pods.yaml --show-placements
      moorage simulate cluster.yaml --pods 50 -o json
    """
    if not manifests and nodes is None and pods is None:
        raise click.UsageError("Give manifests, or --nodes and --pods to make some up.")
    with errors_in_lines(verbose, config_file):
        import asyncio

        from moorage.api.nodes import Node
        from moorage.api.pods import Pod
        from moorage.cli.devices import objects_for, read_devices
        from moorage.cli.manifest_files import read_manifests
        from moorage.what_if.device_workloads import is_claimed_class, make_claims, make_devices
        from moorage.what_if.simulation import Simulation
        from moorage.what_if.workloads import make_nodes, make_pods

        setup = set_up(config_file, plugins, strict_version=strict_config_version)
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
        given += [("--pods", item) for item in (*made_up, *make_claims(made_up))]
        _check_unique(given)
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
        with _quiet(verbose):
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


@contextmanager
def _quiet(verbose: bool) -> Iterator[None]:
    """Keeps the scheduler from logging what becomes of each pod: the report tells."""
    logger = logging.getLogger("moorage.scheduler")
    before = logger.level
    logger.setLevel(before if verbose else logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(before)


def _check_unique(given: list[tuple[str, Object]]) -> None:
    """Refuses an object that is given twice: by name, or by a uid that was copied along."""
    seen: dict[tuple[str, str], tuple[str, Object]] = {}
    for place, item in given:
        for what, value in (("name", item.key), ("uid", item.uid)):
            first, known = seen.setdefault((f"{item.kind} {what}", value), (place, item))
            if known is not item:
                also = "" if first == place else f" in {first}"
                what = "is given twice" if what == "name" else f"has the uid of {known.key}"
                raise BadInput(f"{place}: {item.kind} {item.key} {what}{also}; leave one out or change it")


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
    if result.pending:
        _report_pending(result.pending)
    for plugin, count in result.failed_plugins.items():
        _say(f"Plugin {plugin} failed {count} times; -v shows how")


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
