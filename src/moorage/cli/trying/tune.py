"""`moorage tune`: a search for weights and args with which a trace goes better."""

from __future__ import annotations

import shlex
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from moorage.cli import interrupts
from moorage.cli.completion import files
from moorage.cli.setup import (
    BadInput,
    config_option,
    errors_in_lines,
    make_registry,
    plugin_option,
    span_in_seconds,
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
    from moorage.what_if.replay.jobs import Job
    from moorage.what_if.sweeps.cores import Cores
    from moorage.what_if.tuning.gain import Gain
    from moorage.what_if.tuning.space import Space
    from moorage.what_if.tuning.tuning import Tuning

_USUAL_TRIALS = 100


@click.command()
@trace_argument
@click.option("--objective", type=click.Choice(OBJECTIVES), required=True, help="What is to become smaller.")
@config_option
@click.option(
    "--trials",
    type=click.IntRange(min=1),
    help=f"Try so many configurations; {_USUAL_TRIALS} unless --time is given.",
)
@click.option(
    "--time",
    "seconds",
    metavar="DURATION",
    callback=span_in_seconds("duration", "10m or 1h30m"),
    help="Begin no trial after this, such as 1h.",
)
@click.option(
    "--train",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.6,
    show_default=True,
    help="The first part of the trace, by time, that the search sees.",
)
@click.option(
    "--seeds",
    type=click.IntRange(min=1),
    default=5,
    show_default=True,
    help="Measure the gain on the rest so many times.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Another number, another way to search.")
@nodes_option
@price_option
@jobs_option
@click.option(
    "--out",
    metavar="FILE",
    shell_complete=files,
    help="Write the configuration there instead of to standard output.",
)
@plugin_option
@with_option
@verbose_option
def tune(
    trace: str,
    objective: str,
    config_file: str | None,
    trials: int | None,
    seconds: float | None,
    train: float,
    seeds: int,
    seed: int,
    nodes: str | None,
    prices: tuple[str, ...],
    jobs: int | None,
    out: str | None,
    plugins: tuple[str, ...],
    features: tuple[str, ...],
    verbose: bool,
) -> None:
    """Search for weights and args of score plugins with which TRACE goes better (needs moorage[tune]).

    The search replays the first part of the trace with one configuration after the other and learns from
    each. Values that place fewer pods than before count as worse than all that do not. What was changed to
    no advantage is put back in the end. Then both configurations, the given one and the one found, are
    replayed to the end of the trace, with several seeds, and compared by the pods of the rest, which the
    search has not seen. Only that is a gain, and if there is none, the report says so.

    The result is a KubeSchedulerConfiguration: --config with the changes. With --jobs 1 two searches with
    the same --seed find the same. Ctrl-C ends the search and writes the best so far.

    \b
    Examples:
      moorage tune monday.trace --objective pending_p99 --out tuned.yaml
      moorage tune monday.trace --objective nodes_in_use --config base.yaml \\
          --time 1h > tuned.yaml
      moorage tune monday.trace --objective cost --trials 300 \\
          --price node.kubernetes.io/instance-type=m5.large=0.096
    """
    if objective == "cost" and not prices:
        raise click.UsageError("--objective cost needs a --price, or nothing costs anything.")
    with errors_in_lines(verbose):
        _check_extra()
        from moorage.cli.trying.progress import Bar
        from moorage.what_if.sweeps import places
        from moorage.what_if.sweeps.cores import Cores, cores_here
        from moorage.what_if.sweeps.traces import span_of
        from moorage.what_if.tuning.space import Space

        check_folder("--out", out)
        job = base_job(trace, plugins, features, nodes, prices)
        registry, added = make_registry(plugins)
        configuration = read_configuration(config_file, registry, added, features)
        interrupts.raise_again()
        with problems_of_trace(trace), Bar("Reading the trace", None):
            span = span_of(Path(trace))
        space = Space(configuration.document, configuration.scoring, span.resources)
        cores = Cores(jobs or cores_here(), places.replayed)
        try:
            tuning = _begun(space, job, cores, objective, span.time_at(train), seed)
            end = _searched(tuning, trials, seconds, seeds)
        finally:
            cores.close()
    report = [*_told_search(tuning, trace, train), *end.report]
    with errors_in_lines(verbose):
        _write(tuning, report, out)
    if end.exit_code:
        raise click.exceptions.Exit(end.exit_code)


class _End(NamedTuple):
    report: list[str]
    exit_code: int = 0


def _check_extra() -> None:
    try:
        import optuna  # noqa: F401
    except ImportError:
        raise BadInput("moorage tune needs the extra: pip install 'moorage[tune]'") from None


def _begun(space: Space, job: Job, cores: Cores, objective: str, split: float, seed: int) -> Tuning:
    from moorage.cli.trying.progress import Bar
    from moorage.what_if.tuning.tuning import NotTunable, Tuning

    with Bar("Replaying the first part as it is", None):
        try:
            return Tuning(space, job, cores, objective=objective, split=split, seed=seed)
        except NotTunable as error:
            raise BadInput(str(error)) from None


def _searched(tuning: Tuning, trials: int | None, seconds: float | None, seeds: int) -> _End:
    """Searches and measures, as far as it is let."""
    from moorage.cli.trying.progress import Bar
    from moorage.what_if.sweeps.objectives import value_of
    from moorage.what_if.tuning.tuning import NotTunable

    most = trials or (None if seconds is not None else _USUAL_TRIALS)
    end = time.monotonic() + seconds if seconds is not None else None

    def may_go_on(begun: int) -> bool:
        return (most is None or begun < most) and (end is None or time.monotonic() < end)

    before = value_of(tuning.base, tuning.objective)
    try:
        with Bar("Searching", most) as bar:
            for _ in tuning.trials(may_go_on):
                bar.advance(f"{tuning.objective} {before:.4g} -> {tuning.best.score:.4g}")
        with Bar("Putting back what is of no use", None) as bar:
            for _ in tuning.simplify():
                bar.advance()
        if not tuning.changes():
            return _End(["Nothing better was found: keep the configuration as it is."])
        with Bar("Measuring on the rest", 2 * seeds) as bar:
            return _End(_told_gain(tuning.gain(seeds, bar.advance)))
    except NotTunable as error:
        return _End([f"The gain on the rest is not known: {error}"], 1)
    except KeyboardInterrupt:
        return _End(["Interrupted: this is the best so far; the gain on the rest is not known."], 130)


def _counted(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def _told_search(tuning: Tuning, trace: str, train: float) -> list[str]:
    from moorage.what_if.sweeps.objectives import value_of

    before, after = value_of(tuning.base, tuning.objective), tuning.best.score
    told = [
        f"{_counted(tuning.tried, 'trial')} on the first {100 * train:.4g}% of {trace}: "
        f"{tuning.objective} {before:.4g} -> {after:.4g}"
    ]
    told += [f"  {name}: {was} -> {now}" for name, was, now in tuning.changes()]
    told += [f"Plugin {name} failed {count} times" for name, count in _failed_plugins(tuning).items()]
    if tuning.failed:
        count = _counted(len(tuning.failed), "trial")
        told.append(f"{count} failed, the last one so: {tuning.failed[-1].reason}")
    return told


def _failed_plugins(tuning: Tuning) -> dict[str, int]:
    """What must not be overlooked: figures of plugins that do not do what they should mean nothing."""
    from moorage.what_if.replay.jobs import Outcome

    outcome = tuning.best.outcome
    return outcome.failed_plugins if isinstance(outcome, Outcome) else {}


def _told_gain(gain: Gain) -> list[str]:
    told = [
        f"On the rest, which the search never saw, with {_counted(len(gain.base), 'seed')}:",
        f"  {gain.objective} {gain.before} -> {gain.after}",
        f"  placed {gain.placed_before} -> {gain.placed_after} of {gain.base[0].pods} pods",
    ]
    if gain.why_not:
        told.append(f"No gain: {gain.why_not}. Keep the configuration as it is.")
    else:
        told.append(f"A gain of {100 * gain.share:.1f}%: {gain.differences} less.")
    return told


def _write(tuning: Tuning, report: list[str], out: str | None) -> None:
    """The configuration with the report in comments, and the report for people."""
    from moorage.cli.trying.sweep_report import say
    from moorage.config.show import to_yaml

    comments = "".join(f"# {line}\n" for line in ("Made by `moorage tune`.", *report))
    text = comments + to_yaml(tuning.document(), sort_keys=False)
    if out is not None:
        try:
            write_whole(out, text)
        except BadInput:
            click.echo(text, nl=False)  # rather than to lose it
            raise
    else:
        click.echo(text, nl=False)
    for line in report:
        say(line, err=out is None)
    if out is not None:
        say(f"{out} is written; try it with moorage run --config {shlex.quote(out)}")
