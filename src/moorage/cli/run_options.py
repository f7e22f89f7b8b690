"""The flags of `moorage run` and the configuration they stand for."""

from __future__ import annotations

import os
from dataclasses import dataclass, fields
from typing import Any

from moorage.api.durations import Duration, DurationError
from moorage.cli.setup import BadInput, Setup, set_up
from moorage.config import ConfigError
from moorage.config.types import KubeSchedulerConfiguration
from moorage.config.validate import validate
from moorage.framework.extension_points import Plugin

ADDRESS_VARIABLE = "MOORAGE_POD_ADDRESS"
"""Set by the embedded cluster, whose pods have no network of their own."""

GATES_THAT_ARE_ON = frozenset(
    (
        "ClearingNominatedNodeNameAfterBinding",
        "InPlacePodLevelResourcesVerticalScaling",
        "InPlacePodVerticalScaling",
        "MatchLabelKeysInPodAffinity",
        "MatchLabelKeysInPodTopologySpread",
        "NodeDeclaredFeatures",
        "NodeInclusionPolicyInPodTopologySpread",
        "NominatedNodeNameForExpectation",
        "PodLevelResources",
        "PodObservedGenerationTracking",
        "PodSchedulingReadiness",
        "SchedulerAsyncPreemption",
        "SchedulerPopFromBackoffQ",
        "SchedulerQueueingHints",
        "SidecarContainers",
    )
)
"""What Moorage does as if the gate were on, and cannot do otherwise."""

GATES_THAT_ARE_OFF = frozenset(
    (
        "CoordinatedLeaderElection",
        "DRADeviceTaintRules",
        "DRAListTypeAttributes",
        "DRANodeAllocatableResources",
        "DRAWorkloadResourceClaims",
        "DynamicResourceAllocation",
        "GangScheduling",
        "GenericWorkload",
        "OpportunisticBatching",
        "SchedulerAsyncAPICalls",
        "StorageCapacityScoring",
        "TaintTolerationComparisonOperators",
        "TopologyAwareWorkloadScheduling",
        "VolumeLimitScaling",
        "WorkloadAwarePreemption",
    )
)
"""What Moorage does not implement."""


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
    logging_format: str = "text"
    verbosity: int = 0
    plugins: tuple[str | type[Plugin], ...] = ()
    strict_config_version: bool = False
    legacy_scheduler_annotation: str = "warn"

    @property
    def listen_address(self) -> str:
        """Where to listen: in a pod of the embedded cluster, on that pod's address only."""
        anywhere = self.bind_address in ("0.0.0.0", "::")
        return (os.environ.get(ADDRESS_VARIABLE) if anywhere else None) or self.bind_address

    @classmethod
    def from_flags(cls, flags: dict[str, Any]) -> RunOptions:
        known = {field.name for field in fields(cls)}
        return cls(**{name: value for name, value in flags.items() if name in known})

    def set_up(self) -> Setup:
        """The plugins and the configuration: the file, or without one the flags it would replace."""
        check_feature_gates(self.feature_gates or "")
        setup = set_up(self.config, self.plugins, strict_version=self.strict_config_version)
        if self.config is None:
            self._apply_deprecated(setup.config)
        self._apply_leader_election(setup.config)
        problems = validate(setup.config)
        if problems:
            raise ConfigError(problems)
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


def _duration(flag: str, text: str) -> Duration:
    try:
        return Duration.parse(text)
    except DurationError as error:
        raise BadInput(f"--{flag}: {error}; write it like 30s or 1m30s") from None


def check_feature_gates(text: str) -> None:
    """Refuses gates that are unknown, that cannot be switched off, or that Moorage does not implement."""
    for pair in filter(None, (part.strip() for part in text.split(","))):
        name, equals, value = pair.partition("=")
        if not equals or value.lower() not in ("true", "false"):
            raise BadInput(f"--feature-gates: {pair!r} is not of the form Name=true or Name=false")
        wanted = value.lower() == "true"
        if name in GATES_THAT_ARE_ON and not wanted:
            raise BadInput(f"--feature-gates: {name} cannot be switched off; leave it out")
        if name in GATES_THAT_ARE_OFF and wanted:
            raise BadInput(f"--feature-gates: {name} is not implemented; leave it out")
        if name not in GATES_THAT_ARE_ON | GATES_THAT_ARE_OFF:
            raise BadInput(f"--feature-gates: there is no gate called {name}; check its spelling")
