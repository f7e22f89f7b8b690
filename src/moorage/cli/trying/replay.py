"""`moorage replay`: what was recorded of a cluster once more, in virtual time and with other settings."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from moorage.cli import interrupts
from moorage.cli.completion import files
from moorage.cli.setup import (
    BadInput,
    Setup,
    config_option,
    errors_in_lines,
    plugin_option,
    print_json,
    quiet_scheduler,
    set_up,
    strict_version_option,
    verbose_option,
    with_option,
)
from moorage.cli.trying.inputs import price_option

if TYPE_CHECKING:
    from moorage.api.nodes import Node
    from moorage.what_if.replay.comparing import Variant
    from moorage.what_if.replay.jobs import Outcome
    from moorage.what_if.replay.lives import Lives
    from moorage.what_if.trace.changes import Trace

DEFAULT = "default"


@click.command()
@click.argument("trace", shell_complete=files)
@config_option
@click.option(
    "--against",
    multiple=True,
    metavar="FILE",
    shell_complete=files,
    help=f"Another configuration to compare with; `{DEFAULT}` is the one of kube-scheduler. Repeatable.",
)
@click.option(
    "--nodes",
    metavar="FILE",
    shell_complete=files,
    help="Nodes to take the place of the trace's: manifests, or a table that ends in .csv.",
)
@price_option
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="Another number, other choices where nodes are equally good.",
)
@click.option(
    "--seeds",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Replay so often, each time with the next seed, and tell the spread.",
)
@click.option("--plot", metavar="FILE.png", help="Draw the figures over time; needs matplotlib.")
@click.option("--html", metavar="FILE.html", help="Write a page with the figures and plots.")
@click.option(
    "-o", "--output", type=click.Choice(["table", "wide", "json"]), default="table", show_default=True
)
@strict_version_option
@plugin_option
@with_option
@verbose_option
def replay(
    trace: str,
    config_file: str | None,
    against: tuple[str, ...],
    nodes: str | None,
    prices: tuple[str, ...],
    seed: int,
    seeds: int,
    plot: str | None,
    html: str | None,
    output: str,
    strict_config_version: bool,
    plugins: tuple[str, ...],
    features: tuple[str, ...],
    verbose: bool,
) -> None:
    """Replay a recorded TRACE with other settings: real queue, real plugins, virtual time.

    Pods come when they came, and run as long as they ran, from when they get a node. Whatever follows from
    scheduling, nodes and preemptions above all, comes of the replay; everything else happens as recorded.
    When nothing happens, no time is spent on it. docs/replay.md says what is taken from the trace.

    --against replays the same trace with other configurations, too, and tells the differences. --plugin and
    --with hold for all of them but `default`. Two runs with a seed give the same. With seed 0 the choice
    among equally good nodes is that of `moorage run`; with others, chance decides.

    With -o json: `trace` (where it comes from), `replays` (a list with `name` and `outcomes`, one for each
    seed), and `differences` (a list with `against`, `figure`, `mean` and `spread`).

    The exit code is 1 if a plugin failed or the input is wrong, 130 after Ctrl-C, otherwise 0.

    \b
    Examples:
      moorage replay monday.moor --config packed.yaml
      moorage replay monday.moor --config packed.yaml --against default --seeds 5
      moorage replay monday.moor --plugin mine.py --against default --html r.html
      moorage replay monday.moor --nodes fewer-nodes.yaml -o wide
      moorage replay monday.moor --price pool=spot=0.03 --price pool=other=0.10
    """
    with errors_in_lines(verbose, config_file):
        from moorage.cli.trying.replay_report import Report

        _check_pictures(plot, html)
        given = _Given(trace, nodes, prices)
        setups = [
            (
                _name(config_file, plugins, features),
                set_up(config_file, plugins, features=features, strict_version=strict_config_version),
            )
        ]
        for file in against:
            with errors_in_lines(verbose, file):
                setups.append(
                    (_unique(_name(file), setups), _base(file, plugins, features, strict_config_version))
                )
        interrupts.raise_again()
        with quiet_scheduler(verbose):
            variants, stopped = _run_all(given, setups, range(seed, seed + seeds))
    report = Report(given.trace.head, variants, has_prices=bool(given.prices))
    if output == "json":
        print_json(report.document())
    else:
        report.print(wide=output == "wide", stopped=stopped)
    if plot is not None and variants:
        report.write_png(plot)
    if html is not None and variants:
        report.write_page(html)
    sys.stdout.flush()
    if stopped is not None:
        raise click.exceptions.Exit(interrupts.EXIT_CODE)
    if report.failed_plugins:
        raise click.exceptions.Exit(1)


class _Given:
    """What all replays have in common."""

    def __init__(self, trace: str, nodes: str | None, prices: tuple[str, ...]) -> None:
        from pathlib import Path

        from moorage.what_if.replay.prices import read_prices
        from moorage.what_if.replay.setting_up import BadJob, read_nodes
        from moorage.what_if.trace.files import BadTrace, read_trace

        try:
            self.trace: Trace = read_trace(Path(trace))
            self.nodes: list[Node] | None = None if nodes is None else read_nodes(Path(nodes))
            self.prices = [price for text in prices for price in read_prices(text)]
        except (BadTrace, BadJob) as error:
            raise BadInput(str(error)) from None
        except OSError as error:
            raise BadInput(f"{trace}: cannot read the trace: {error.strerror}; check the path") from None
        self.lives: Lives | None = None


def _run_all(
    given: _Given, setups: list[tuple[str, Setup]], seeds: range
) -> tuple[list[Variant], str | None]:
    """Each with each seed; and where it was stopped, if it was."""
    from moorage.cli.trying.replay_progress import ReplayProgress
    from moorage.what_if.replay.comparing import Variant
    from moorage.what_if.replay.lives import read_lives
    from moorage.what_if.replay.running import Interrupted
    from moorage.what_if.replay.running import replay as run
    from moorage.what_if.trace.files import BadTrace

    outcomes: dict[str, list[Outcome]] = {}
    with ReplayProgress(given.trace.head.began, len(setups) * len(seeds)) as progress:
        try:
            given.lives = read_lives(given.trace, None, progress.reading)
            if not given.lives.pods:
                raise BadInput("the trace has no pod that could be replayed; record one with pods in it")
            # Seed by seed, so that what there is after Ctrl-C can be compared.
            for seed in seeds:
                for name, setup in setups:
                    progress.begin(name, seed)
                    outcome = run(
                        given.trace,
                        setup.config,
                        setup.registry,
                        nodes=given.nodes,
                        prices=given.prices,
                        seed=seed,
                        lives=given.lives,
                        told=progress.tell,
                    )
                    outcomes.setdefault(name, []).append(outcome)
        except Interrupted as interrupted:
            place = f"{interrupted.share:.0%} of {name} with seed {seed}"
            if interrupted.outcome is not None and not outcomes:
                outcomes[name] = [interrupted.outcome]
            return [Variant(each, found) for each, found in outcomes.items()], place
        except KeyboardInterrupt:
            return [], "reading the trace"
        except BadTrace as error:
            raise BadInput(str(error)) from None
    return [Variant(name, found) for name, found in outcomes.items()], None


def _base(file: str, plugins: tuple[str, ...], features: tuple[str, ...], strict: bool) -> Setup:
    if file == DEFAULT:
        return set_up(None, ())
    return set_up(file, plugins, features=features, strict_version=strict)


def _name(file: str | None, plugins: tuple[str, ...] = (), features: tuple[str, ...] = ()) -> str:
    """What a variant is called: after its configuration or, without one, after what is added."""
    from pathlib import Path

    if file is not None:
        return Path(file).name
    return " + ".join((*(Path(plugin).name for plugin in plugins), *features)) or DEFAULT


def _unique(name: str, taken: list[tuple[str, Any]]) -> str:
    names = {each for each, _ in taken}
    return next(
        each for each in (name, *(f"{name} ({number})" for number in range(2, 1000))) if each not in names
    )


def _check_pictures(plot: str | None, html: str | None) -> None:
    """Before the long work, not after it."""
    from importlib.util import find_spec
    from pathlib import Path

    for option, file in (("--plot", plot), ("--html", html)):
        if file is not None and not Path(file).absolute().parent.is_dir():
            raise BadInput(f"{option} {file}: there is no such folder; make it first")
    if plot is not None and not plot.lower().endswith(".png"):
        raise BadInput(f"--plot {plot}: writes PNG; give a name that ends in .png, or use --html")
    if plot is not None and find_spec("matplotlib") is None:
        raise BadInput("--plot needs matplotlib; install it with `pip install moorage[plots]`, or use --html")
