"""`moorage shadow`: beside the scheduler in charge, to see whether it could be replaced."""

from __future__ import annotations

import click

from moorage.cli.completion import files
from moorage.cli.setup import (
    config_option,
    errors_in_lines,
    output_option,
    plugin_option,
    span_in_seconds,
    strict_version_option,
    verbose_option,
    with_option,
)


def _address(context: click.Context, parameter: click.Parameter, text: str | None) -> tuple[str, int] | None:
    if text is None:
        return None
    host, _, port = text.rpartition(":")
    if not port.isdecimal() or int(port) > 65535:
        raise click.BadParameter(f"'{text}' is no port; write it like 9100 or 0.0.0.0:9100")
    return host.removeprefix("[").removesuffix("]") or "127.0.0.1", int(port)


@click.command()
@config_option
@plugin_option
@with_option
@click.option(
    "--kubeconfig",
    metavar="FILE",
    shell_complete=files,
    help="The cluster.  [that of --config, or of the pod it runs in, or $KUBECONFIG, ~/.kube/config]",
)
@click.option(
    "--trace",
    metavar="FILE",
    shell_complete=files,
    help="Judge the choices in a trace of `moorage record` instead.",
)
@click.option(
    "--for",
    "seconds",
    metavar="DURATION",
    callback=span_in_seconds("time to run", "30s, 10m or 24h"),
    help="End after so long, such as 30s or 24h.",
)
@click.option(
    "--report", metavar="FILE", shell_complete=files, help="Write the report to FILE at the end, as JSON."
)
@click.option(
    "--metrics-port",
    "metrics",
    metavar="[ADDRESS:]PORT",
    callback=_address,
    help="Serve /metrics, /livez and /readyz over HTTP.  [address: 127.0.0.1]",
)
@click.option(
    "--other-percentage",
    type=click.IntRange(0, 100),
    metavar="PERCENT",
    help="percentageOfNodesToScore of the scheduler in charge, 0 if it has none.  [that of --config]",
)
@output_option
@strict_version_option
@verbose_option
def shadow(
    config_file: str | None,
    plugins: tuple[str, ...],
    features: tuple[str, ...],
    kubeconfig: str | None,
    trace: str | None,
    seconds: float | None,
    report: str | None,
    metrics: tuple[str, int] | None,
    other_percentage: int | None,
    output: str,
    strict_config_version: bool,
    verbose: bool,
) -> None:
    """Watch the scheduler in charge of a cluster, and tell where this one would have chosen otherwise.

    It follows the cluster as a scheduler does, and never writes: no bind, no event, no lease. For every pod
    that the other one binds, it tells whether the node was among those that it would have chosen itself with
    this configuration and these plugins; if not, which it prefers, and which plugin tips the scale. Pods of
    schedulers that the configuration does not name are left alone.

    A choice is `agreed`; `sampled`, if the other one looks at a share of the nodes only and may not have seen
    the better ones; `timing`, if it was right in the moment in which it was made; `disagreed`; or
    `infeasible`, if the node does not fit here. The last two are told, a line for each unless they are too
    many. Ctrl-C ends it, with a report.

    With -o json: a line for every choice, with `time`, `profile`, `pod`, `node`, `verdict`, `best`,
    `bestTotal`, `feasible`, `difference`, `plugin` and `words`; the last line is the report.

    The exit code is 3 if there were choices that are not shared and not explained, otherwise 0.

    \b
    Examples:
      moorage shadow --kubeconfig ~/.kube/config
      moorage shadow --config new.yaml --for 24h --report shadow.json
      moorage shadow --config new.yaml --plugin my_plugin.py -o json
      moorage shadow --config new.yaml --other-percentage 0 --metrics-port 9100
      moorage shadow --config new.yaml --trace monday.moor
      moorage manifests --shadow --config new.yaml | kubectl apply -f -
    """
    live = {"--kubeconfig": kubeconfig, "--for": seconds, "--metrics-port": metrics}
    if trace is not None and (given := [name for name, value in live.items() if value is not None]):
        raise click.UsageError(f"{given[0]} is for a cluster, and --trace for what was recorded of one.")
    with errors_in_lines(verbose, config_file):
        from moorage.cli.setup import set_up
        from moorage.cli.trying.shadow_process import ShadowOptions, run_shadow

        setup = set_up(config_file, plugins, features=features, strict_version=strict_config_version)
        options = ShadowOptions(
            kubeconfig=kubeconfig or "",
            seconds=seconds,
            report=report,
            metrics=metrics,
            other_percentage=other_percentage,
            as_json=output == "json",
            verbose=verbose,
        )
        if trace is None:
            code = run_shadow(options, setup)
        else:
            from moorage.cli.trying.shadow_trace import judge_trace

            code = judge_trace(trace, options, setup)
    raise click.exceptions.Exit(code)
