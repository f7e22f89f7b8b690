"""The flags of `moorage run` and the configuration they stand for."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from moorage.api.durations import Duration, DurationError
from moorage.cli.decision_log import DecisionLogOptions
from moorage.cli.go_flags import shown
from moorage.cli.running.logs import check_logs
from moorage.cli.setup import BadInput, Setup, read_gates, set_up
from moorage.config.feature_gates import CURRENT, FeatureGates
from moorage.config.types import KubeSchedulerConfiguration
from moorage.config.validate import validate
from moorage.version import build_info, raw_build_info, report_as

if TYPE_CHECKING:
    from moorage.framework.extension_points import Plugin

ADDRESS_VARIABLE = "MOORAGE_POD_ADDRESS"
"""Set by the embedded cluster, whose pods have no network of their own."""

_PREVIOUS = f"{CURRENT.major}.{CURRENT.minor - 1}"


@dataclass
class RunOptions:
    config: str | None = None
    write_config_to: str | None = None
    kubeconfig: str | None = None
    master: str | None = None
    kube_api_qps: float | None = None
    kube_api_burst: int | None = None
    profiling: bool | None = None
    contention_profiling: bool | None = None
    pod_max_in_unschedulable_pods_duration: str | None = None
    leader_elect: bool | None = None
    leader_elect_lease_duration: str | None = None
    leader_elect_renew_deadline: str | None = None
    leader_elect_retry_period: str | None = None
    leader_elect_resource_lock: str | None = None
    leader_elect_resource_name: str | None = None
    leader_elect_resource_namespace: str | None = None
    bind_address: str = "0.0.0.0"
    secure_port: int = 10259
    tls_cert_file: str | None = None
    tls_private_key_file: str | None = None
    tls_min_version: str | None = None
    tls_cipher_suites: tuple[str, ...] = ()
    tls_sni_cert_key: tuple[str, ...] = ()
    permit_port_sharing: bool | None = None
    client_ca_file: str | None = None
    requestheader_client_ca_file: str | None = None
    requestheader_allowed_names: tuple[str, ...] = ()
    requestheader_username_headers: tuple[str, ...] = ("x-remote-user",)
    requestheader_uid_headers: tuple[str, ...] = ()
    requestheader_group_headers: tuple[str, ...] = ("x-remote-group",)
    requestheader_extra_headers_prefix: tuple[str, ...] = ("x-remote-extra-",)
    authentication_kubeconfig: str | None = None
    authentication_skip_lookup: bool | None = None
    authentication_tolerate_lookup_failure: bool | None = None
    authentication_token_webhook_cache_ttl: str = "10s"
    authorization_kubeconfig: str | None = None
    authorization_always_allow_paths: str = "/healthz,/readyz,/livez"
    authorization_webhook_cache_authorized_ttl: str = "10s"
    authorization_webhook_cache_unauthorized_ttl: str = "10s"
    feature_gates: str | None = None
    emulated_version: str | None = None
    min_compatibility_version: str | None = None
    show_hidden_metrics_for_version: str | None = None
    logging_format: str = "text"
    log_text_split_stream: bool | None = None
    log_text_info_buffer_size: str | None = None
    log_json_split_stream: bool | None = None
    log_json_info_buffer_size: str | None = None
    log_flush_frequency: str | None = None
    vmodule: str | None = None
    verbosity: int = 0
    version: str | None = None
    plugins: tuple[str | type[Plugin], ...] = ()
    features: tuple[str, ...] = ()
    strict_config_version: bool = False
    plugin_timeout: float = 10.0
    legacy_scheduler_annotation: str = "warn"
    dashboard: bool = False
    decision_log: Path | None = None
    decision_log_size: int = DecisionLogOptions.size
    decision_log_redact: bool = False
    decision_log_memory: int = DecisionLogOptions.memory
    shown: Mapping[str, str] = field(default_factory=dict)
    """All flags with their values, as /flagz has them."""

    @property
    def listen_address(self) -> str:
        """Where to listen: in a pod of the embedded cluster, on that pod's address only."""
        anywhere = self.bind_address in ("0.0.0.0", "::")
        return (os.environ.get(ADDRESS_VARIABLE) if anywhere else None) or self.bind_address

    @classmethod
    def from_flags(cls, flags: dict[str, Any]) -> RunOptions:
        known = {field.name for field in fields(cls)}
        options = cls(**{name: value for name, value in flags.items() if name in known})
        options.shown = {
            **shown(flags),
            "dashboard": str(options.dashboard).lower(),
            "decision-log": str(options.decision_log or ""),
            "decision-log-memory": str(options.decision_log_memory),
            "decision-log-redact": str(options.decision_log_redact).lower(),
            "decision-log-size": str(options.decision_log_size),
            "legacy-scheduler-annotation": options.legacy_scheduler_annotation,
            "plugin-timeout": str(Duration(round(options.plugin_timeout * 1e9))),
            "plugin": f"[{','.join(_name(plugin) for plugin in options.plugins)}]",
            "strict-config-version": str(options.strict_config_version).lower(),
            "with": f"[{','.join(options.features)}]",
        }
        return options

    @property
    def decisions(self) -> DecisionLogOptions:
        return DecisionLogOptions(
            self.decision_log, self.decision_log_size, self.decision_log_redact, self.decision_log_memory
        )

    @cached_property
    def gates(self) -> FeatureGates:
        versions = self.emulated_version or "", self.min_compatibility_version or ""
        return read_gates(self.feature_gates or "", *versions)

    def prints_version(self) -> bool:
        """Whether --version asked for nothing else; it is printed then."""
        if self.version == "true":
            click.echo(f"Kubernetes {build_info()['gitVersion']}")
        elif self.version == "raw":
            click.echo(raw_build_info())
        elif self.version not in (None, "false"):
            try:
                report_as(self.version)
            except ValueError as error:
                raise BadInput(f"--version: {error}") from None
        return self.version in ("true", "raw")

    def check(self) -> None:
        """Refuses what kube-scheduler refuses before it looks at its configuration."""
        check_logs(self)
        self.decisions.check()
        if not 0 <= self.secure_port <= 65535:
            raise BadInput(f"--secure-port {self.secure_port} must be between 0 and 65535; 0 for no server")
        if self.dashboard and not self.secure_port:
            raise BadInput("--dashboard: there is no server to show it with --secure-port=0; give it a port")
        if self.show_hidden_metrics_for_version not in (None, "", _PREVIOUS):
            raise BadInput(
                f"--show-hidden-metrics-for-version must be omitted or have the value '{_PREVIOUS}'; "
                "only the previous minor version is allowed"
            )

    def set_up(self) -> Setup:
        """The plugins and the configuration: the file, or without one the flags it would replace."""
        setup = set_up(
            self.config,
            self.plugins,
            features=self.features,
            strict_version=self.strict_config_version,
            gates=self.gates,
        )
        if self.config is None:
            self._apply_deprecated(setup.config)
        self._apply_leader_election(setup.config)
        problems = validate(setup.config)
        if problems:
            # What the file says was checked when it was read.
            raise BadInput("\n".join(map(str, problems)))
        return setup

    def max_in_unschedulable(self) -> float:
        text = self.pod_max_in_unschedulable_pods_duration
        return 300.0 if text is None else _duration("pod-max-in-unschedulable-pods-duration", text).seconds

    def seconds(self, flag: str) -> float:
        """What a flag that is a duration says."""
        return _duration(flag, getattr(self, flag.replace("-", "_"))).seconds

    def _apply_deprecated(self, config: KubeSchedulerConfiguration) -> None:
        connection = config.client_connection
        connection.kubeconfig = self.kubeconfig or ""
        if self.kube_api_qps is not None:
            connection.qps = self.kube_api_qps
        if self.kube_api_burst is not None:
            connection.burst = self.kube_api_burst
        if self.profiling is not None:
            config.enable_profiling = self.profiling
        if self.contention_profiling is not None:
            config.enable_contention_profiling = self.contention_profiling

    def _apply_leader_election(self, config: KubeSchedulerConfiguration) -> None:
        """These flags count with a configuration file, too."""
        election = config.leader_election
        if self.leader_elect is not None:
            election.leader_elect = self.leader_elect
        for name in ("lease_duration", "renew_deadline", "retry_period"):
            text = getattr(self, f"leader_elect_{name}")
            if text is not None:
                setattr(election, name, _duration(f"leader-elect-{name.replace('_', '-')}", text))
        for name in ("resource_lock", "resource_name", "resource_namespace"):
            text = getattr(self, f"leader_elect_{name}")
            if text is not None:
                setattr(election, name, text)


def _name(plugin: str | type[Plugin]) -> str:
    return plugin if isinstance(plugin, str) else plugin.__name__


def _duration(flag: str, text: str) -> Duration:
    try:
        return Duration.parse(text)
    except DurationError as error:
        raise BadInput(f"--{flag}: {error}; write it like 30s or 1m30s") from None
