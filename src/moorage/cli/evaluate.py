"""`moorage evaluate`: what a pod's placement would be, and why."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Iterator
from typing import IO, Any

import click

from moorage.cli.completion import files
from moorage.cli.setup import (
    PENDING,
    BadInput,
    config_option,
    errors_in_lines,
    make_registry,
    output_option,
    plugin_option,
    print_json,
    set_up,
    strict_version_option,
    verbose_option,
    warn,
)


@click.command()
@click.argument("file", required=False, shell_complete=files)
@click.option(
    "--cluster",
    metavar="DIR_OR_YAML",
    shell_complete=files,
    help="Manifests of nodes, pods and whatever else matters.",
)
@click.option(
    "--pod", "pod_file", metavar="FILE", shell_complete=files, help="The manifest of the pod to place."
)
@click.option(
    "--advise", "with_advice", is_flag=True, help="Also tell what would make a pod fit that does not."
)
@output_option
@config_option
@strict_version_option
@plugin_option
@verbose_option
def evaluate(
    file: str | None,
    cluster: str | None,
    pod_file: str | None,
    with_advice: bool,
    output: str,
    config_file: str | None,
    strict_config_version: bool,
    plugins: tuple[str, ...],
    verbose: bool,
) -> None:
    """Tell where a pod would go and why, without a cluster.

    With --cluster and --pod: a table of every node with each plugin's verdict and score. The exit code is 3
    if the pod stays pending, 1 if a plugin failed or the input is wrong, otherwise 0.

    With FILE (`-` reads standard input): a scenario per line, `{"id", "config", "objects", "pod"}`, and a
    result line for each, always in JSON. The exit code is 1 if a line could not be answered, otherwise 0.

    A result in JSON has `id`, `feasible` (nodes) and, as far as the pod came, `filter` (node to plugin to
    answer), `nodeStatus` (why not), `scores` (node to plugin to `raw` and `weighted`), `totals`, `best` (the
    nodes), `message` (why it stays pending), `postFilter` (preemption), `schedulerError` (what broke).

    With --advise, the result of a pod that fits nowhere has `advice`, a list, best first: `text`, `then`
    (`fits`, or `preempts` if others have to go for it), `nodes`, and `change`, a list of steps. A step is a
    `patch` (kind, namespace, name) with JSON Patch `operations`, a `create` (the object) or a `delete`. Each
    was tried. `where` names the template that a change of the pod belongs in.

    \b
    Examples:
      kubectl get nodes,pods -A -o yaml > cluster.yaml
      moorage evaluate --cluster cluster.yaml --pod pod.yaml
      moorage evaluate scenarios.jsonl > results.jsonl
    """
    if (file is None) == (pod_file is None):
        raise click.UsageError("Give either a FILE of scenarios, or --cluster and --pod.")
    if pod_file is not None and cluster is None:
        raise click.UsageError("--pod needs --cluster: the manifests of the nodes to choose from.")
    with errors_in_lines(verbose, config_file):
        if file is not None:
            if config_file is not None:
                raise click.UsageError("A scenario brings its own `config`; --config goes with --pod.")
            _evaluate_lines(file, plugins, verbose, with_advice)
            return
        assert cluster is not None and pod_file is not None
        setup = set_up(config_file, plugins, strict_version=strict_config_version)
        _explain(cluster, pod_file, setup, output, with_advice)


def _evaluate_lines(file: str, plugins: tuple[str, ...], verbose: bool, with_advice: bool) -> None:
    from moorage.config.problems import ConfigError
    from moorage.framework.plugin_errors import IN_TREE, described
    from moorage.insight.advice.scenarios import evaluate_and_advise
    from moorage.scheduler.profiles import default_configuration
    from moorage.what_if.scenario import evaluate as evaluate_only

    evaluate_scenario = evaluate_and_advise if with_advice else evaluate_only

    registry, added = make_registry(plugins)
    default = default_configuration(registry, added)
    name = "<stdin>" if file == "-" else file
    number = failed = 0
    for number, scenario in _scenarios(file):
        try:
            if isinstance(scenario, str):
                raise BadInput(scenario)
            result = evaluate_scenario(scenario, registry, default)
        except Exception as error:
            # Whatever is wrong with one scenario, the others are answered.
            failed += 1
            expected = isinstance(error, BadInput | ConfigError | ValueError)
            message = " ".join(str(error).split()) if expected else described(error, IN_TREE)
            if verbose:
                traceback.print_exc()
            click.echo(f"{name} line {number}: {message}", err=True)
            identity = scenario.get("id", "") if isinstance(scenario, dict) else ""
            result = {"id": identity, "error": message}
        print_json(result)
    if not number:
        raise BadInput(f"{name}: holds no scenario; give one JSON object per line")
    if failed:
        raise click.exceptions.Exit(1)


def _scenarios(file: str) -> Iterator[tuple[int, dict[str, Any] | str]]:
    """Line number and scenario, or the text of what is wrong with that line."""
    import msgspec

    with _opened(file) as stream:
        for number, line in enumerate(_lines(file, stream), 1):
            if not line.strip():
                continue
            try:
                scenario = msgspec.json.decode(line)
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
                yield number, f"not JSON: {error}; give one scenario per line"
                continue
            if isinstance(scenario, dict) and "scenario" in scenario:
                scenario = scenario["scenario"]
            if not isinstance(scenario, dict) or not isinstance(scenario.get("pod"), dict):
                yield number, "not a scenario; it needs `objects` and `pod`"
                continue
            yield number, scenario


def _opened(file: str) -> IO[bytes]:
    import gzip
    from pathlib import Path

    if file == "-":
        return sys.stdin.buffer
    try:
        return gzip.open(file) if file.endswith(".gz") else Path(file).open("rb")  # type: ignore[return-value]
    except OSError as error:
        raise BadInput(f"{file}: cannot read the file: {error.strerror}; check the path") from None


def _lines(file: str, stream: IO[bytes]) -> Iterator[bytes]:
    import zlib

    try:
        yield from stream
    except (OSError, EOFError, zlib.error) as error:
        raise BadInput(f"{file}: cannot read the file: {error}; is it whole?") from None


def _explain(cluster: str, pod_file: str, setup: Any, output: str, with_advice: bool) -> None:
    from moorage.api.pods import Pod
    from moorage.cli.decision_table import show_advice, show_table
    from moorage.cli.insight.output import say
    from moorage.cli.manifest_files import read_manifests
    from moorage.insight.gangs import evaluated
    from moorage.insight.words.gangs import words_for_gang
    from moorage.insight.words.groups import cause
    from moorage.what_if.scenario import Scenario

    pods = [item for item in read_manifests(pod_file) if isinstance(item, Pod)]
    if len(pods) != 1:
        raise BadInput(f"{pod_file}: holds {len(pods)} pods; give a file with exactly one")
    pod = pods[0]
    others = [item for item in read_manifests(cluster) if not (isinstance(item, Pod) and item.key == pod.key)]
    scenario = Scenario(others, setup.registry, setup.config)
    wanted = pod.spec.scheduler_name
    if wanted in scenario.profiles:
        scenario.profile = scenario.profiles[wanted]
    else:
        known, used = ", ".join(scenario.profiles), scenario.profile.name
        warn([f"pod {pod.key} asks for scheduler {wanted}, profiles are {known}; {used} is used"])
    scenario.have(pod)
    with evaluated(scenario.profile, pod) as (evaluation, gang):
        result = evaluation.document()
    waits_for_gang = gang is not None and not gang["fits"]
    if gang is not None:
        result["gang"] = gang
    suggestions = None
    if with_advice and (not result["feasible"] or waits_for_gang):
        from moorage.insight.advice.advising import advise

        suggestions = advise(scenario.services, scenario.profile, pod)
        result["advice"] = [suggestion.document() for suggestion in suggestions]
    if output == "json":
        print_json({"id": pod.key, **result})
    else:
        show_table(evaluation, result)
        if gang is not None:
            say(words_for_gang(gang, cause))
        if suggestions is not None:
            show_advice(suggestions)
    failed = scenario.failed_plugins.counts
    if output != "json":
        for plugin in failed:
            click.echo(f"Plugin {plugin} failed.")
    if failed or "schedulerError" in result:
        raise click.exceptions.Exit(1)
    if "best" not in result or waits_for_gang:
        raise click.exceptions.Exit(PENDING)
