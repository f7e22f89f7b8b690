"""Runs all benchmarks, or the one named on the command line; exits 1 when a bound is missed."""

from __future__ import annotations

import sys
from collections.abc import Callable

import click

from bench import (
    before,
    decision_log,
    decisions,
    device_cycles,
    embedded,
    gangs,
    hanging,
    page,
    replay,
    scale,
    startup,
    trace,
    unschedulable,
)
from bench.bounds import Outcomes, Unavailable
from bench.drain import gangs as gang_drain
from bench.drain import measuring, steady
from bench.drain.workloads import WORKLOADS
from tests.controlplane.go_programs import interrupted_by_signals

BENCHMARKS: dict[str, Callable[[], Outcomes]] = {
    "startup": startup.measure,
    "decisions": decisions.measure,
    "devices": device_cycles.measure,
    "gangs": gangs.measure,
    "before": before.measure,
    "unschedulable": unschedulable.measure,
    "drain": measuring.measure,
    "steady": steady.measure,
    "gang-drain": gang_drain.measure,
    "log": decision_log.measure,
    "trace": trace.measure,
    "embedded": embedded.measure,
    "hanging": hanging.measure,
    "scale": scale.measure,
    "page": page.measure,
    "replay": replay.measure,
}
"""All of them, in the order in which they run."""

_EXAMPLES = """
\b
  make bench                                      all, more than an hour
  make bench ARGS=decisions                       one of them
  make bench ARGS="drain plain spread"            two workloads
  make bench ARGS="drain plain --nodes 500 --pods 2000 --rounds 1"
  make bench ARGS="drain --record"                puts the ratios on record
  make bench ARGS="steady --rate 100"
  make bench ARGS="before HEAD~20"
"""
_AT_LEAST_ONE = click.IntRange(min=1)


@click.group(invoke_without_command=True, epilog=_EXAMPLES, subcommand_metavar="[BENCHMARK [FLAGS]]")
@click.pass_context
def main(context: click.Context) -> None:
    """Measure speed and memory; exit 1 when a stated bound is missed. Without a name, all benchmarks run."""
    if context.invoked_subcommand is None:
        context.exit(_told(_all()))


def _all() -> Outcomes:
    for name, measure in BENCHMARKS.items():
        try:
            yield from measure()
        except Unavailable as reason:
            print(f"\n{name} is left out: {reason}", flush=True)


def _told(outcomes: Outcomes) -> int:
    """Prints what comes; returns the exit code."""
    missed = 0
    for outcome in outcomes:
        print(outcome, flush=True)
        missed += not outcome.kept
    print(f"{missed} bounds missed" if missed else "all bounds kept")
    return 1 if missed else 0


@main.command(epilog=f"Workloads: {', '.join(WORKLOADS)}.")
@click.argument("workloads", nargs=-1, metavar="[WORKLOAD]...", type=click.Choice(list(WORKLOADS)))
@click.option("--nodes", type=_AT_LEAST_ONE, help="Instead of 5000; 500 for preemption.")
@click.option("--pods", type=_AT_LEAST_ONE, help="Instead of 5000, or of the fewer that some have.")
@click.option("--rounds", type=_AT_LEAST_ONE, default=measuring.ROUNDS, help="How often each scheduler runs.")
@click.option("--record", is_flag=True, help="Put the ratios on record, and draw the picture of them.")
@click.pass_context
def drain(
    context: click.Context,
    workloads: tuple[str, ...],
    nodes: int | None,
    pods: int | None,
    rounds: int,
    record: bool,
) -> None:
    """Moorage and kube-scheduler, each started beside pods that wait; all workloads if none is named.

    The bounds hold for the sizes used when neither --nodes nor --pods is given.
    """
    for name in workloads or WORKLOADS:
        size = measuring.size_of(WORKLOADS[name], nodes, pods)
        most = size.nodes * WORKLOADS[name].most_per_node
        if size.pods > most:
            raise click.BadParameter(
                f"{size.nodes} nodes have room for at most {most} pods of {name}, not for {size.pods}",
                param_hint="--pods",
            )
    context.exit(_told(measuring.measure(workloads, nodes, pods, rounds, record)))


@main.command("steady")
@click.option("--nodes", type=_AT_LEAST_ONE, default=5000, show_default=True)
@click.option(
    "--rate", type=_AT_LEAST_ONE, default=200, show_default=True, help="Pods that come each second."
)
@click.option("--seconds", type=_AT_LEAST_ONE, default=25, show_default=True, help="For so long.")
@click.option("--rounds", type=_AT_LEAST_ONE, default=3, show_default=True, help="How often each runs.")
@click.pass_context
def steady_command(context: click.Context, nodes: int, rate: int, seconds: int, rounds: int) -> None:
    """Moorage and kube-scheduler, while pods arrive at a steady rate: from create to bind."""
    context.exit(_told(steady.measure(nodes, rate, seconds, rounds)))


@main.command("before")
@click.argument("commit", default=before.COMMIT)
@click.pass_context
def before_command(context: click.Context, commit: str) -> None:
    """Cycles in memory, in turns with those of another commit."""
    context.exit(_told(before.measure(commit)))


def _command(name: str, measure: Callable[[], Outcomes]) -> click.Command:
    def run() -> None:
        click.get_current_context().exit(_told(measure()))

    first_line, *_ = (sys.modules[measure.__module__].__doc__ or "").splitlines()
    return click.Command(name, callback=run, help=first_line)


for _name, _measure in BENCHMARKS.items():
    if _name not in main.commands:
        main.add_command(_command(_name, _measure))


def run(arguments: list[str]) -> int:
    try:
        code = main.main(arguments, prog_name="python -m bench", standalone_mode=False)
    except click.ClickException as error:
        message = error.format_message()
        print(f"error: {message} (`python -m bench --help` shows what there is)", file=sys.stderr)
        return 2
    except Unavailable as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except (KeyboardInterrupt, click.Abort):
        print("interrupted", file=sys.stderr)
        return 130
    return code if isinstance(code, int) else 0


if __name__ == "__main__":
    interrupted_by_signals()
    sys.exit(run(sys.argv[1:]))
