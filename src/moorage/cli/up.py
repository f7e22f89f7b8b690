"""`moorage up`: a cluster on this machine, with one command."""

from __future__ import annotations

import re
from pathlib import Path

import click

from moorage.cli.completion import files
from moorage.cli.decision_log import DecisionLogOptions, decision_log_options
from moorage.cli.go_flags import GoFlags
from moorage.cli.setup import (
    config_option,
    devices_option,
    errors_in_lines,
    plugin_option,
    plugin_timeout_option,
    read_gates,
    strict_version_option,
    warn,
    with_option,
)
from moorage.cli.terminal.output import Output

_NAMESPACE = re.compile("[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")


@click.command(cls=GoFlags)
@config_option
@plugin_option
@with_option
@plugin_timeout_option
@strict_version_option
@click.option(
    "--nodes",
    metavar="N|FILE",
    shell_complete=files,
    help="How many nodes, or a YAML file of Node objects.  [3, or those in --data]",
)
@devices_option
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="The API server's port; 0 picks one.")
@click.option(
    "--address",
    default="127.0.0.1",
    show_default=True,
    metavar="IP",
    help="Where the API server listens. Anything but loopback lets other machines in, with the token.",
)
@click.option(
    "--kubeconfig",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Written when the cluster is ready, removed when it ends.  [~/.moorage/kubeconfig]",
)
@click.option("--no-scheduler", is_flag=True, help="Bring your own scheduler.")
@click.option(
    "--data",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Keep the cluster's state in FILE and go on with it; without it, in memory.",
)
@click.option(
    "--reload",
    is_flag=True,
    help="Load changed plugin files and configurations again, and try waiting pods again.",
)
@click.option(
    "--dashboard-port",
    type=click.IntRange(0, 65535),
    default=0,
    help="The port of the dashboard, on this machine only; 0 picks one.",
)
@click.option("--no-dashboard", is_flag=True, help="Serve neither the dashboard nor its API.")
@click.option(
    "--run-image",
    "run_images",
    multiple=True,
    metavar="IMAGE",
    help="Really run containers of this image, as local processes. Repeatable.",
)
@click.option(
    "--run-namespace",
    "run_namespaces",
    multiple=True,
    metavar="NAME",
    help="A namespace, beside kube-system, whose pods may be such processes. Repeatable.",
)
@click.option(
    "--feature-gates",
    "feature_gates",
    default="",
    metavar="PAIRS",
    help="Name=true|false pairs, as for kube-apiserver and kube-scheduler.",
)
@click.option("--no-processes", is_flag=True, help="Run no pod as a process, Moorage's own image included.")
@decision_log_options
@click.option("-v", "--v", "verbosity", type=int, default=0, help="How much the scheduler logs.")
@click.option(
    "--log-file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Append the log to FILE, too: log lines, what plugins print, and decisions.",
)
def up(
    config_file: str | None,
    plugins: tuple[str, ...],
    features: tuple[str, ...],
    plugin_timeout: float,
    strict_config_version: bool,
    nodes: str | None,
    devices: tuple[str, ...],
    port: int,
    address: str,
    kubeconfig: Path | None,
    no_scheduler: bool,
    data: Path | None,
    reload: bool,
    dashboard_port: int,
    no_dashboard: bool,
    run_images: tuple[str, ...],
    run_namespaces: tuple[str, ...],
    feature_gates: str,
    no_processes: bool,
    decision_log: Path | None,
    decision_log_size: int,
    decision_log_redact: bool,
    decision_log_memory: int,
    verbosity: int,
    log_file: Path | None,
) -> None:
    """Start a cluster on this machine: API server, nodes and scheduler, in this process.

    kubectl and everything else that speaks to Kubernetes can use it. Pods get nodes and become Running, but
    nothing runs in them, except containers of Moorage's own image in kube-system, which are local processes.

    \b
    Examples:
      moorage up
      moorage up --plugin my_plugin.py --reload
      moorage up --nodes 100 --config scheduler.yaml
      moorage up --devices gpu=8
      moorage up --with coscheduling,capacity
      moorage up --nodes nodes.yaml --data cluster.db --port 6443
      moorage up --no-scheduler --kubeconfig ./kubeconfig
    """
    if reload and not plugins and not config_file:
        raise click.UsageError("--reload needs a --plugin or a --config to watch")
    if reload and config_file == "-":
        raise click.UsageError("--reload cannot read standard input again; give --config a file")
    if no_scheduler and (plugins or config_file or features):
        raise click.UsageError("--no-scheduler leaves nothing for --plugin, --config and --with to do")
    if no_dashboard and dashboard_port:
        raise click.UsageError("--no-dashboard leaves nothing for --dashboard-port to do")
    if not address:
        raise click.UsageError("--address is empty; give an address of this machine, such as 127.0.0.1")
    if no_processes and (run_images or run_namespaces):
        raise click.UsageError("--no-processes leaves nothing for --run-image and --run-namespace to do")
    for name in run_namespaces:
        if not _NAMESPACE.fullmatch(name):
            raise click.UsageError(
                f"--run-namespace: '{name}' cannot be the name of a namespace; give one name each time"
            )
    decisions = DecisionLogOptions(decision_log, decision_log_size, decision_log_redact, decision_log_memory)
    with errors_in_lines(verbosity >= 5, config_file), Output(log_file) as output:
        decisions.check()
        gates = read_gates(feature_gates)
        warn(gates.warnings())
        output.doing("Loading the configuration and the plugins")
        from moorage.cli.up_process import UpOptions, run_up
        from moorage.cluster.life.nodes import RUN_NAMESPACES

        options = UpOptions(
            config_file=config_file,
            plugins=plugins,
            features=features,
            plugin_timeout=plugin_timeout,
            strict_config_version=strict_config_version,
            nodes=nodes,
            devices=devices,
            port=port,
            address=address,
            kubeconfig=kubeconfig or Path.home() / ".moorage" / "kubeconfig",
            scheduler=not no_scheduler,
            data=data,
            reload=reload,
            dashboard_port=None if no_dashboard else dashboard_port,
            decisions=decisions,
            gates=gates,
            run_images=run_images,
            run_namespaces=() if no_processes else (*RUN_NAMESPACES, *run_namespaces),
            verbosity=verbosity,
            output=output,
        )
        raise click.exceptions.Exit(run_up(options))
