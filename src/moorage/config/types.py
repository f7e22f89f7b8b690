"""KubeSchedulerConfiguration v1 as typed objects.

A field's default is the value Kubernetes gives it when the file leaves it out. In the parts with
`omit_defaults` a field that has its default is left out when the configuration is written.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

import msgspec
from msgspec import field

from moorage.api.durations import Duration

GROUP = "kubescheduler.config.k8s.io"
V1 = f"{GROUP}/v1"
KIND = "KubeSchedulerConfiguration"

POINTS = (
    "preEnqueue",
    "queueSort",
    "preFilter",
    "filter",
    "postFilter",
    "preScore",
    "score",
    "reserve",
    "permit",
    "preBind",
    "bind",
    "postBind",
    "placementGenerate",
    "placementScore",
)
"""The extension points in the order in which a pod meets them, spelled as in the configuration file."""

Int32 = Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31 - 1)]
Int64 = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]


class ConfigPart(msgspec.Struct, rename="camel", kw_only=True):
    """Base of all parts of a configuration."""

    go_type: ClassVar[str] = ""
    """Kubernetes' name of the type where it is not `v1.` and the name of the class."""


class PluginRef(ConfigPart):
    """A plugin's name in a list; 0 stands for "no weight given"."""

    go_type: ClassVar[str] = "v1.Plugin"

    name: str = ""
    weight: Int32 = 0


class PluginSet(ConfigPart, omit_defaults=True):
    """What is enabled and disabled at one extension point."""

    enabled: list[PluginRef] = []
    disabled: list[PluginRef] = []

    def disables(self, name: str) -> bool:
        """Whether `disabled` holds this name; ask for `*` to see whether everything is disabled."""
        return any(ref.name == name for ref in self.disabled)


class Plugins(ConfigPart):
    """One PluginSet for `multiPoint` and for each extension point."""

    multi_point: PluginSet = field(default_factory=PluginSet)
    pre_enqueue: PluginSet = field(default_factory=PluginSet)
    queue_sort: PluginSet = field(default_factory=PluginSet)
    pre_filter: PluginSet = field(default_factory=PluginSet)
    filter: PluginSet = field(default_factory=PluginSet)
    post_filter: PluginSet = field(default_factory=PluginSet)
    pre_score: PluginSet = field(default_factory=PluginSet)
    score: PluginSet = field(default_factory=PluginSet)
    reserve: PluginSet = field(default_factory=PluginSet)
    permit: PluginSet = field(default_factory=PluginSet)
    pre_bind: PluginSet = field(default_factory=PluginSet)
    bind: PluginSet = field(default_factory=PluginSet)
    post_bind: PluginSet = field(default_factory=PluginSet)
    placement_generate: PluginSet = field(default_factory=PluginSet)
    placement_score: PluginSet = field(default_factory=PluginSet)

    def at(self, point: str) -> PluginSet:
        """The set of a point by its name in the file, such as `preFilter`."""
        found: PluginSet = getattr(self, _ATTRIBUTES[point])
        return found

    def sets(self) -> list[PluginSet]:
        return [self.at(point) for point in _ATTRIBUTES]

    def enabled_names(self) -> set[str]:
        """Every plugin that is enabled somewhere."""
        return {ref.name for plugin_set in self.sets() for ref in plugin_set.enabled}


class PluginConfig(ConfigPart):
    """A plugin's args: one of the Structs of :mod:`moorage.config.args` for an in-tree plugin that has
    args, otherwise what the file says, or None."""

    name: str = ""
    args: Any = None


class Profile(ConfigPart):
    """A set of plugins that serves the pods with its scheduler name."""

    go_type: ClassVar[str] = "v1.KubeSchedulerProfile"

    scheduler_name: str = ""
    percentage_of_nodes_to_score: Int32 | None = None
    plugins: Plugins = field(default_factory=Plugins)
    plugin_config: list[PluginConfig] = []

    def args_of(self, name: str) -> Any:
        """The args of a plugin, None if it has none."""
        return next((config.args for config in self.plugin_config if config.name == name), None)


class LeaderElection(ConfigPart):
    go_type: ClassVar[str] = "v1alpha1.LeaderElectionConfiguration"

    leader_elect: bool = True
    lease_duration: Duration = Duration.of_seconds(15)
    renew_deadline: Duration = Duration.of_seconds(10)
    retry_period: Duration = Duration.of_seconds(2)
    resource_lock: str = "leases"
    resource_name: str = "kube-scheduler"
    resource_namespace: str = "kube-system"


class ClientConnection(ConfigPart):
    """How to reach the API server; an empty kubeconfig means from inside the cluster."""

    go_type: ClassVar[str] = "v1alpha1.ClientConnectionConfiguration"

    kubeconfig: str = ""
    accept_content_types: str = ""
    content_type: str = "application/vnd.kubernetes.protobuf"
    qps: float = 50.0
    burst: Int32 = 100


class ExtenderManagedResource(ConfigPart, omit_defaults=True):
    name: str
    ignored_by_scheduler: bool = False


class ExtenderTLSConfig(ConfigPart, omit_defaults=True):
    """The `data` fields hold what the base64 text in the file stands for."""

    insecure: bool = False
    server_name: str = ""
    cert_file: str = ""
    key_file: str = ""
    ca_file: str = ""
    cert_data: bytes = b""
    key_data: bytes = b""
    ca_data: bytes = b""


class Extender(ConfigPart, omit_defaults=True):
    """An HTTP extender; an empty verb means that it does not support that call."""

    url_prefix: str
    http_timeout: Duration
    filter_verb: str = ""
    preempt_verb: str = ""
    prioritize_verb: str = ""
    weight: Int64 = 0
    bind_verb: str = ""
    enable_https: bool = field(name="enableHTTPS", default=False)
    tls_config: ExtenderTLSConfig | None = None
    node_cache_capable: bool = False
    managed_resources: list[ExtenderManagedResource] = []
    ignorable: bool = False


class KubeSchedulerConfiguration(ConfigPart):
    """The whole configuration. :func:`moorage.config.load` makes a complete one."""

    api_version: str = V1
    kind: str = KIND
    parallelism: Int32 = 16
    leader_election: LeaderElection = field(default_factory=LeaderElection)
    client_connection: ClientConnection = field(default_factory=ClientConnection)
    enable_profiling: bool = True
    enable_contention_profiling: bool = True
    percentage_of_nodes_to_score: Int32 = 0
    pod_initial_backoff_seconds: Int64 = 1
    pod_max_backoff_seconds: Int64 = 10
    profiles: list[Profile] = []
    extenders: list[Extender] = []
    delay_cache_until_active: bool = False


_ATTRIBUTES = {info.encode_name: info.name for info in msgspec.structs.fields(Plugins)}
