"""`moorage run`: the scheduler of a cluster."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from moorage.cli.completion import files
from moorage.cli.decision_log import decision_log_options
from moorage.cli.go_flags import KubeFlags, kube_flag
from moorage.cli.kube_flags import KUBE_FLAGS
from moorage.cli.setup import errors_in_lines, plugin_timeout_option, warn, with_option

if TYPE_CHECKING:
    from moorage.framework.extension_points import Plugin

F = TypeVar("F", bound=Callable[..., Any])


def _flag(name: str, default: bool, help: str) -> Callable[[F], F]:
    """A boolean that may be given a value: `--leader-elect`, `--leader-elect=false`."""
    return kube_flag(name, help=f"{help} [{default}]")


def _value(name: str, help: str, **more: Any) -> Callable[[F], F]:
    if more.get("metavar") == "FILE":
        more["shell_complete"] = files
    if name in KUBE_FLAGS:
        return kube_flag(name, help=help, **more)
    return click.option(f"--{name}", help=help, **more)


def _list(name: str, help: str, default: tuple[str, ...] = ()) -> Callable[[F], F]:
    """Values with commas between them; the flag may also be repeated."""

    def split(context: click.Context, parameter: click.Parameter, given: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(part for text in given for part in text.split(","))

    return click.option(
        f"--{name}",
        help=help,
        multiple=True,
        metavar="LIST",
        default=default,
        show_default=bool(default),
        callback=split,
    )


_OPTIONS = (
    _value(
        "config", "A KubeSchedulerConfiguration. The deprecated flags then have no effect.", metavar="FILE"
    ),
    _value("write-config-to", "Write the complete configuration to FILE and exit.", metavar="FILE"),
    _value("kubeconfig", "Deprecated: how to reach the cluster, without --config.", metavar="FILE"),
    _value("master", "The address of the API server; overrides the kubeconfig.", metavar="URL"),
    _value("kube-api-qps", "Deprecated: requests per second, without --config."),
    _value("kube-api-burst", "Deprecated: requests at once, without --config."),
    _flag("profiling", True, "Deprecated, without --config."),
    _flag("contention-profiling", True, "Deprecated, without --config."),
    _value(
        "pod-max-in-unschedulable-pods-duration",
        "How long a pod may wait for an event before it is tried again anyway.  [5m0s]",
        metavar="DURATION",
    ),
    _flag("leader-elect", True, "Schedule only while holding the lease."),
    _value("leader-elect-lease-duration", "When others may take the lease.  [15s]", metavar="DURATION"),
    _value(
        "leader-elect-renew-deadline", "When a leader that cannot renew gives up.  [10s]", metavar="DURATION"
    ),
    _value("leader-elect-retry-period", "How often the lease is tried.  [2s]", metavar="DURATION"),
    _value("leader-elect-resource-lock", "Only `leases` is possible.", metavar="KIND"),
    _value("leader-elect-resource-name", "The name of the lease.  [kube-scheduler]"),
    _value("leader-elect-resource-namespace", "The namespace of the lease.  [kube-system]"),
    _value("bind-address", "Where the HTTPS server listens.", default="0.0.0.0", show_default=True),
    _value("secure-port", "Its port; 0 for no server.", default=10259, show_default=True),
    _value("tls-cert-file", "Its certificate; without one, self-signed.", metavar="FILE"),
    _value("tls-private-key-file", "The key of the certificate.", metavar="FILE"),
    _value("tls-min-version", "VersionTLS12 or VersionTLS13.", metavar="VERSION"),
    _list("tls-cipher-suites", "Its cipher suites up to TLS 1.2, in Go's names."),
    _value(
        "tls-sni-cert-key",
        "A further certificate, for callers of some host names. Repeatable.",
        multiple=True,
        metavar="CERT,KEY[:NAMES]",
    ),
    _flag("permit-port-sharing", False, "Let other processes listen on the same port."),
    _flag("permit-address-sharing", False, "Ignored: it is so always."),
    _value("cert-dir", "Ignored: a self-signed certificate stays in memory.", hidden=True),
    _value(
        "client-ca-file",
        "Callers with a certificate of this CA are authenticated by it; without it, of the cluster's.",
        metavar="FILE",
    ),
    _value(
        "requestheader-client-ca-file",
        "Callers with a certificate of this CA are front proxies, which name the user in headers; without "
        "it, as the cluster says.",
        metavar="FILE",
    ),
    _list("requestheader-allowed-names", "The common names of front proxies; all unless given."),
    _list("requestheader-username-headers", "Where front proxies name the user.", ("x-remote-user",)),
    _list("requestheader-uid-headers", "Where they name its uid."),
    _list("requestheader-group-headers", "Where they name its groups.", ("x-remote-group",)),
    _list(
        "requestheader-extra-headers-prefix",
        "How headers begin that say more about it.",
        ("x-remote-extra-",),
    ),
    _value("authentication-kubeconfig", "How to reach the API server for TokenReviews.", metavar="FILE"),
    _value("authorization-kubeconfig", "How to reach it for SubjectAccessReviews.", metavar="FILE"),
    _flag("authentication-skip-lookup", False, "Do not ask the cluster whose certificates count."),
    _flag("authentication-tolerate-lookup-failure", True, "Serve also while the cluster cannot be asked."),
    *(
        _value(name, f"How long {what} counts.", metavar="DURATION", default="10s", show_default=True)
        for name, what in (
            ("authentication-token-webhook-cache-ttl", "a TokenReview"),
            ("authorization-webhook-cache-authorized-ttl", "a permission"),
            ("authorization-webhook-cache-unauthorized-ttl", "a refusal"),
        )
    ),
    _value(
        "authorization-always-allow-paths",
        "Paths open to everyone.",
        default="/healthz,/readyz,/livez",
        show_default=True,
    ),
    _value(
        "feature-gates", "Name=true|false pairs, with warnings about what they cannot do.", metavar="PAIRS"
    ),
    _value("emulated-version", "Have the feature gates of 1.33, 1.34 or 1.35.", metavar="VERSION"),
    _value("min-compatibility-version", "The oldest version in the control plane.", metavar="VERSION"),
    _value("logging-format", "text or json.", type=click.Choice(["text", "json"]), default="text"),
    _value("v", "How much is logged; 2 is usual, 10 is all.", default=0),
    _value("vmodule", "Another -v for some files, such as `cycle=10,bind*=5`.", metavar="FILE=N,..."),
    _flag("log-text-split-stream", False, "In text format, infos to stdout, the rest to stderr."),
    _value("log-text-info-buffer-size", "Then collect so many bytes of infos first.", metavar="SIZE"),
    _flag("log-json-split-stream", False, "In JSON format, infos to stdout, errors to stderr."),
    _value("log-json-info-buffer-size", "Then collect so many bytes of infos first.", metavar="SIZE"),
    _value(
        "log-flush-frequency", "When collected infos are written at the latest.  [5s]", metavar="DURATION"
    ),
    click.option(
        "--plugin",
        "plugins",
        multiple=True,
        metavar="PLUGIN",
        shell_complete=files,
        help="Register a plugin. Repeatable.",
    ),
    with_option,
    plugin_timeout_option,
    click.option("--strict-config-version", is_flag=True, help="Refuse v1beta2 and v1beta3."),
    click.option(
        "--dashboard",
        is_flag=True,
        help="Serve the dashboard on the secure port, at /dashboard/. Who uses it needs a token with rights.",
    ),
    decision_log_options,
    _value(
        "legacy-scheduler-annotation",
        "What to do about scheduler.alpha.kubernetes.io/name: ignore, warn or honor.",
        type=click.Choice(["ignore", "warn", "honor"]),
        default="warn",
        show_default=True,
    ),
    _value("version", "Print the version, or report another one of v1.36.4.", metavar="[=raw|VERSION]"),
)


_WITHOUT_EFFECT = (
    "allow-metric-labels",
    "allow-metric-labels-manifest",
    "disable-http2-serving",
    "disabled-metrics",
    "http2-max-streams-per-connection",
    "kube-api-content-type",
    "show-hidden-metrics-for-version",
    "tls-curve-preferences",
)
"""Flags of kube-scheduler that are taken, so that its command line still works, and warned about."""


_CONTEXT = {"help_option_names": ["-h", "--help"]}


def _with_options(command: F) -> F:
    for name in _WITHOUT_EFFECT:
        command = kube_flag(name, hidden=True)(command)
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


@click.command(cls=KubeFlags, context_settings=_CONTEXT)
@_with_options
def run(**flags: Any) -> None:
    """Schedule the pods of a cluster, in place of or beside kube-scheduler.

    The flags are kube-scheduler's. Without a kubeconfig in the configuration and without --master, the
    service account of the pod it runs in is used.

    \b
    Examples:
      moorage run --config scheduler.yaml
      moorage run --config scheduler.yaml --plugin my_plugin.py -v=3
      moorage run --kubeconfig ~/.kube/config --leader-elect=false
      moorage run --kubeconfig ~/.kube/config --with coscheduling
    """
    _run(flags)


def new_scheduler_command(*plugins: type[Plugin]) -> click.Command:
    """`moorage run` with plugins built in, for a program of your own.

    if __name__ == "__main__":
        new_scheduler_command(MyPlugin)()
    """

    @click.command(cls=KubeFlags, context_settings=_CONTEXT)
    @_with_options
    def command(**flags: Any) -> None:
        """Schedule the pods of a cluster; the flags are kube-scheduler's."""
        _run({**flags, "plugins": (*plugins, *flags["plugins"])})

    return command


def _run(flags: dict[str, Any]) -> None:
    with errors_in_lines(flags["verbosity"] >= 5, flags["config"]):
        from moorage.cli.running.one_thread import load_numpy
        from moorage.cli.running.options import RunOptions
        from moorage.scheduler.garbage import seldom_collected

        options = RunOptions.from_flags(flags)
        warnings = options.gates.warnings()
        if options.prints_version():
            return
        options.check()
        given = [name for name in _WITHOUT_EFFECT if flags[name.replace("-", "_")] is not None]
        warn([*(f"--{name} has no effect" for name in given), *warnings])
        with seldom_collected():  # all that is loaded stays
            load_numpy()
            from moorage.cli.running.process import run_process

            code = run_process(options)
        raise click.exceptions.Exit(code)
