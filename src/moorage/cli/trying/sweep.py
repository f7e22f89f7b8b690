"""`moorage sweep`: one trace with many configurations, weights and seeds."""

from __future__ import annotations

import shlex
import sys
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING

import click

from moorage.cli import interrupts
from moorage.cli.completion import files
from moorage.cli.setup import (
    BadInput,
    errors_in_lines,
    make_registry,
    output_option,
    plugin_option,
    print_json,
    verbose_option,
    with_option,
)
from moorage.cli.trying.inputs import (
    base_job,
    check_folder,
    jobs_option,
    nodes_option,
    price_option,
    problems_of_trace,
    read_configuration,
    trace_argument,
    write_whole,
)
from moorage.what_if.sweeps.objectives import OBJECTIVES

if TYPE_CHECKING:
    from moorage.cli.trying.progress import Bar
    from moorage.what_if.replay.jobs import Job
    from moorage.what_if.sweeps.places import Places
    from moorage.what_if.sweeps.results_file import ResultsFile
    from moorage.what_if.sweeps.runs import Configuration, Result, Run

_MOST_RUNS = 100_000
_HIGHEST_WEIGHT = 2**31 - 1


@click.command()
@trace_argument
@click.option(
    "--config",
    "config_files",
    multiple=True,
    metavar="FILE",
    shell_complete=files,
    help="A KubeSchedulerConfiguration; without any, the default profile. Repeatable.",
)
@click.option(
    "--weights",
    multiple=True,
    metavar="PLUGIN=WEIGHT,...",
    help="Weights of a plugin's scores, each tried with every other; 0 turns them off. Repeatable.",
)
@click.option(
    "--seeds", type=click.IntRange(min=1), default=1, show_default=True, help="Replay each so many times."
)
@click.option(
    "--objective",
    type=click.Choice(OBJECTIVES),
    default="pending_p99",
    show_default=True,
    help="By what the best is told, among those that place the most pods.",
)
@nodes_option
@price_option
@jobs_option
@click.option(
    "--dask", metavar="ADDRESS", help="Replay on a Dask cluster instead, such as tcp://10.0.0.1:8786."
)
@click.option(
    "--out", metavar="FILE", shell_complete=files, help="Keep results in this JSON file, and go on from it."
)
@click.option("--csv", "csv_file", metavar="FILE", shell_complete=files, help="Write a table for others.")
@output_option
@plugin_option
@with_option
@verbose_option
def sweep(
    trace: str,
    config_files: tuple[str, ...],
    weights: tuple[str, ...],
    seeds: int,
    objective: str,
    nodes: str | None,
    prices: tuple[str, ...],
    jobs: int | None,
    dask: str | None,
    out: str | None,
    csv_file: str | None,
    output: str,
    plugins: tuple[str, ...],
    features: tuple[str, ...],
    verbose: bool,
) -> None:
    """Replay TRACE with many configurations, weights and seeds, on all cores or on a Dask cluster.

    Every configuration is replayed with every combination of weights and every seed. A row is printed as
    each ends; a star marks the best so far: of those that place the most pods, the one with the smallest
    objective. A replay that fails gives a line, and the others go on. If its process dies, it is tried again
    twice.

    With --out each result is in the file as soon as it is known. After Ctrl-C, or whatever else ends it, the
    same command goes on where it was: what is in the file and did not fail is not replayed again.

    On a Dask cluster (pip install 'moorage[dask]', and the same Moorage on its workers) files that workers
    do not have under the same path are sent to them.

    With -o json: `objective`, `best` (`configuration` and `weights`) and `results`, each with
    `configuration`, `weights`, `seed`, `outcome` and `error`.

    The exit code is 1 if a replay or a plugin failed or the input is wrong, 130 after Ctrl-C, otherwise 0.

    \b
    Examples:
      moorage sweep monday.trace --config a.yaml --config b.yaml --seeds 5
      moorage sweep monday.trace --weights NodeResourcesFit=1,5,10 \\
          --weights NodeResourcesBalancedAllocation=0,1 --out results.json
      moorage sweep monday.trace --config a.yaml --objective cost \\
          --price node.kubernetes.io/instance-type=m5.large=0.096
      moorage sweep monday.trace --seeds 50 --dask tcp://10.0.0.1:8786
    """
    if dask is not None and jobs is not None:
        raise click.UsageError("--jobs is for this machine; with --dask the cluster has the workers.")
    if objective == "cost" and not prices:
        raise click.UsageError("--objective cost needs a --price, or nothing costs anything.")
    with errors_in_lines(verbose):
        from moorage.what_if.sweeps.traces import check_trace

        chosen = _read_weights(weights)
        for option, file in (("--out", out), ("--csv", csv_file)):
            check_folder(option, file)
        with problems_of_trace(trace):
            check_trace(Path(trace))
        job = base_job(trace, plugins, features, nodes, prices)
        registry, added = make_registry(plugins)
        configurations = [
            read_configuration(file, registry, added, features) for file in config_files or (None,)
        ]
        _check_weights(chosen, configurations)
        runs = _plan(job, configurations, chosen, seeds)
        kept = _results_file(out)
        places = _places(dask, jobs, job)
        interrupts.raise_again()
        done, interrupted = _sweep(runs, places, kept, objective, output, verbose)
    _conclude(done, objective, output)
    if csv_file is not None:
        from moorage.what_if.sweeps.results_file import as_csv

        with errors_in_lines(verbose):
            write_whole(csv_file, as_csv(done))
    if interrupted:
        _say_how_to_go_on(len(done), len(runs), out)
        raise click.exceptions.Exit(interrupts.EXIT_CODE)
    if any(result.outcome is None or result.outcome.failed_plugins for result in done):
        raise click.exceptions.Exit(1)


def _read_weights(texts: tuple[str, ...]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for text in texts:
        plugin, equals, listed = text.partition("=")
        numbers = listed.split(",")
        wrong = [each for each in numbers if not (each.isdecimal() and int(each) <= _HIGHEST_WEIGHT)]
        if not plugin or not equals or wrong:
            raise BadInput(f"--weights {text}: write it like NodeResourcesFit=1,5,10")
        if plugin in found:
            raise BadInput(f"--weights {text}: {plugin} is given twice; put all its weights into one")
        found[plugin] = list(dict.fromkeys(map(int, numbers)))
    return found


def _check_weights(weights: dict[str, list[int]], configurations: list[Configuration]) -> None:
    from moorage.config.remedies import did_you_mean

    for configuration in configurations:
        scoring = list(dict.fromkeys(name for profile in configuration.scoring for name in profile))
        for plugin in weights:
            if plugin not in scoring:
                remedy = did_you_mean(plugin, scoring) or f"; those that do are {', '.join(scoring)}"
                raise BadInput(f"--weights {plugin}: it does not score in {configuration.name}{remedy}")


def _plan(
    job: Job, configurations: list[Configuration], weights: dict[str, list[int]], seeds: int
) -> list[Run]:
    from moorage.what_if.sweeps.runs import plan

    count = len(configurations) * prod(map(len, weights.values())) * seeds
    if count > _MOST_RUNS:
        raise BadInput(f"these are {count} replays; choose fewer --weights or --seeds, {_MOST_RUNS} at most")
    return list(plan(job, configurations, weights, seeds))


def _results_file(out: str | None) -> ResultsFile | None:
    from moorage.what_if.sweeps.results_file import BadResults, ResultsFile

    try:
        return ResultsFile(Path(out)) if out is not None else None
    except BadResults as error:
        raise BadInput(str(error)) from None


def _places(dask: str | None, jobs: int | None, job: Job) -> Places:
    from moorage.what_if.sweeps import places

    if dask is None:
        from moorage.what_if.sweeps.cores import Cores, cores_here

        return Cores(jobs or cores_here(), places.replayed)
    try:
        import distributed  # noqa: F401
    except ImportError:
        raise BadInput("moorage sweep --dask needs the extra: pip install 'moorage[dask]'") from None
    from moorage.what_if.sweeps.dask_workers import DaskWorkers, NoCluster, files_of

    try:
        return DaskWorkers(dask, places.replayed, files_of(job))
    except NoCluster as error:
        raise BadInput(str(error)) from None


def _sweep(
    runs: list[Run],
    places: Places,
    kept: ResultsFile | None,
    objective: str,
    output: str,
    verbose: bool,
) -> tuple[list[Result], bool]:
    """The results in the order of the runs, and whether somebody did not want to wait for all."""
    from moorage.cli.trying.progress import Bar
    from moorage.what_if.sweeps.results_file import BadResults
    from moorage.what_if.sweeps.runs import results

    known = {result.key: result.outcome for result in kept.found} if kept is not None else {}
    interrupted = False
    with Bar("Replaying", len(runs)) as bar:
        shown = _Shown(runs, objective, output == "table", bar)
        try:
            for run in runs:
                if run.key in known:
                    shown.add(run.result(known[run.key]))
            for result, failure in results([run for run in runs if run.key not in known], places):
                if kept is not None:
                    kept.add(result)
                shown.add(result, failure.details if failure is not None and verbose else "")
        except KeyboardInterrupt:
            interrupted = True
        except BadResults as error:
            raise BadInput(str(error)) from None
        finally:
            places.close()
            if kept is not None:
                kept.close()
    return shown.in_order(), interrupted


class _Shown:
    """The results so far, of which each is shown as it is added."""

    def __init__(self, runs: list[Run], objective: str, as_table: bool, bar: Bar) -> None:
        from moorage.cli.trying.sweep_report import Rows

        self._runs = runs
        self._objective = objective
        has_prices = any(run.job.prices for run in runs)
        self._rows = Rows([run.label for run in runs], has_prices=has_prices) if as_table else None
        self._bar = bar
        self._best: tuple[float, float] | None = None
        self._told_best = ""
        self._results: dict[tuple[str, int], Result] = {}

    def add(self, result: Result, details: str = "") -> None:
        from moorage.cli.trying.sweep_report import say
        from moorage.what_if.sweeps.objectives import rank, value_of

        name = result.label
        self._results[name, result.seed] = result
        with self._bar.making_room():
            if result.outcome is None:
                say(f"Failed: {name}, seed {result.seed}: {result.error}", err=True)
                if details:
                    click.echo(details, err=True)
            else:
                ranked = rank([result.outcome], self._objective)
                is_best = self._best is None or ranked < self._best
                if is_best:
                    self._best = ranked
                    self._told_best = (
                        f"best {self._objective} {value_of(result.outcome, self._objective):.4g}"
                    )
                if self._rows is not None:
                    self._rows.show(result, result.outcome, is_best)
                for plugin, count in result.outcome.failed_plugins.items():
                    say(f"Plugin {plugin} failed {count} times: {name}, seed {result.seed}", err=True)
        self._bar.advance(self._told_best)

    def in_order(self) -> list[Result]:
        names = ((run.label, run.seed) for run in self._runs)
        return [self._results[name] for name in dict.fromkeys(names) if name in self._results]


def _conclude(done: list[Result], objective: str, output: str) -> None:
    from moorage.cli.trying.sweep_report import document, say, summary

    if output == "json":
        print_json(document(done, objective))
    elif text := summary(done, objective):
        click.echo("")
        say(text)
    sys.stdout.flush()


def _say_how_to_go_on(done: int, all_runs: int, out: str | None) -> None:
    if out is None:
        remedy = "with --out FILE it could go on from here"
    else:
        remedy = f"the same command with --out {shlex.quote(out)} goes on from here"
    click.echo(f"Interrupted after {done} of {all_runs} replays; {remedy}", err=True)
