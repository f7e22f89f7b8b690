"""KubeSchedulerConfiguration v1 as typed objects.

A field's default is the value Kubernetes gives it when the file leaves it out. In the parts with
`omit_defaults` a field that has its default is left out when the configuration is written.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import msgspec
from msgspec import field

from moorage.api.durations import Duration
from moorage.api.points import POINTS

GROUP = "kubescheduler.config.k8s.io"
V1 = f"{GROUP}/v1"
KIND = "KubeSchedulerConfiguration"

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
    """The plugin."""
    weight: Int32 = 0
    """What its scores are multiplied with; 0 stands for 1."""


class PluginSet(ConfigPart, omit_defaults=True):
    """What is enabled and disabled at one extension point."""

    enabled: list[PluginRef] = []
    """Plugins that run here, in this order."""
    disabled: list[PluginRef] = []
    """Plugins that do not; `*` for all."""

    def disables(self, name: str) -> bool:
        """Whether `disabled` holds this name; ask for `*` to see whether everything is disabled."""
        return any(ref.name == name for ref in self.disabled)


class _PluginSets(ConfigPart):
    """What is enabled and disabled in a profile."""

    multi_point: PluginSet = field(default_factory=PluginSet)

    def at(self, point: str) -> PluginSet:
        """The set of a point by its name in the file, such as `preFilter`."""
        found: PluginSet = getattr(self, POINTS[point].attribute)
        return found

    def sets(self) -> dict[str, PluginSet]:
        """The set of `multiPoint` and of every point, by its name in the file."""
        return {"multiPoint": self.multi_point, **{point: self.at(point) for point in POINTS}}

    def enabled_names(self) -> set[str]:
        """Every plugin that is enabled somewhere."""
        return {ref.name for plugin_set in self.sets().values() for ref in plugin_set.enabled}


if TYPE_CHECKING:

    class Plugins(_PluginSets):
        """One PluginSet for `multiPoint` and for each of :data:`moorage.api.points.POINTS`."""

        def __init__(self, **sets: PluginSet) -> None: ...

        def __getattr__(self, attribute: str) -> PluginSet: ...

else:
    Plugins = msgspec.defstruct(
        "Plugins",
        [(point.attribute, PluginSet, field(default_factory=PluginSet)) for point in POINTS.values()],
        bases=(_PluginSets,),
        module=__name__,
        rename="camel",
        kw_only=True,
    )


class PluginConfig(ConfigPart):
    """A plugin's args: one of the Structs of :mod:`moorage.config.args` for an in-tree plugin that has
    args, otherwise what the file says, or None."""

    name: str = ""
    """The plugin."""
    args: Any = None
    """What it is given."""


class Profile(ConfigPart):
    """A set of plugins that serves the pods with its scheduler name."""

    go_type: ClassVar[str] = "v1.KubeSchedulerProfile"

    scheduler_name: str = ""
    """What pods write as `spec.schedulerName`. A single profile may leave it out: `default-scheduler`."""
    percentage_of_nodes_to_score: Int32 | None = None
    """As the field of the whole configuration, which it overrides."""
    plugins: Plugins = field(default_factory=Plugins)
    """What runs at which extension point."""
    plugin_config: list[PluginConfig] = []
    """The args of plugins."""

    def args_of(self, name: str) -> Any:
        """The args of a plugin, None if it has none."""
        return next((config.args for config in self.plugin_config if config.name == name), None)


class LeaderElection(ConfigPart):
    go_type: ClassVar[str] = "v1alpha1.LeaderElectionConfiguration"

    leader_elect: bool = True
    """Whether only the holder of the lease schedules."""
    lease_duration: Duration = Duration.of_seconds(15)
    """How long the others wait for a lease that is not renewed."""
    renew_deadline: Duration = Duration.of_seconds(10)
    """How long a leader that cannot renew goes on; shorter than the lease."""
    retry_period: Duration = Duration.of_seconds(2)
    """How often the lease is tried or renewed."""
    resource_lock: str = "leases"
    """Only `leases`."""
    resource_name: str = "kube-scheduler"
    """The name of the lease; two different schedulers need two."""
    resource_namespace: str = "kube-system"
    """Where the lease is."""


class ClientConnection(ConfigPart):
    """How to reach the API server; an empty kubeconfig means from inside the cluster."""

    go_type: ClassVar[str] = "v1alpha1.ClientConnectionConfiguration"

    kubeconfig: str = ""
    """The file to use; empty for the service account of the pod."""
    accept_content_types: str = ""
    """Without effect: Moorage speaks JSON."""
    content_type: str = "application/vnd.kubernetes.protobuf"
    """Without effect, too."""
    qps: float = 50.0
    """Requests per second, on average."""
    burst: Int32 = 100
    """Requests at once."""


class ExtenderManagedResource(ConfigPart, omit_defaults=True):
    name: str
    """The resource."""
    ignored_by_scheduler: bool = False
    """Whether NodeResourcesFit leaves it to the extender."""


class ExtenderTLSConfig(ConfigPart, omit_defaults=True):
    """The `data` fields hold what the base64 text in the file stands for."""

    insecure: bool = False
    """Whether the server's certificate goes unchecked."""
    server_name: str = ""
    """The name to expect in it."""
    cert_file: str = ""
    """The client's certificate."""
    key_file: str = ""
    """Its key."""
    ca_file: str = ""
    """The authority of the server's certificate."""
    cert_data: bytes = b""
    """As `certFile`, in place; base64."""
    key_data: bytes = b""
    """As `keyFile`, in place; base64."""
    ca_data: bytes = b""
    """As `caFile`, in place; base64."""


class Extender(ConfigPart, omit_defaults=True):
    """An HTTP extender; an empty verb means that it does not support that call."""

    url_prefix: str
    """Where the extender is: the verbs are appended to this URL."""
    http_timeout: Duration
    """How long one call may take; 0 stands for 5 seconds."""
    filter_verb: str = ""
    """Appended to the prefix for the call that filters; empty if there is none."""
    preempt_verb: str = ""
    """The same for preemption."""
    prioritize_verb: str = ""
    """The same for scores, 0 to 10."""
    weight: Int64 = 0
    """What its scores are multiplied with, beside the 10 that make them as large as those of plugins."""
    bind_verb: str = ""
    """The same for binding, for which there can be one extender."""
    enable_https: bool = field(name="enableHTTPS", default=False)
    """Whether the server's certificate goes unchecked where `tlsConfig` names no authority for it."""
    tls_config: ExtenderTLSConfig | None = None
    """Certificates; whether they are used says the URL."""
    node_cache_capable: bool = False
    """Whether names of nodes, and uids of victims, are enough for it."""
    managed_resources: list[ExtenderManagedResource] = []
    """Only pods that ask for one of these concern it."""
    ignorable: bool = False
    """Whether pods are scheduled without it when it fails."""


class KubeSchedulerConfiguration(ConfigPart):
    """The whole configuration. :func:`moorage.config.load` makes a complete one."""

    api_version: str = V1
    """`v1beta2` and `v1beta3` are read as well, with a warning."""
    kind: str = KIND
    """Always this."""
    parallelism: Int32 = 16
    """Without effect: one thread does the work."""
    leader_election: LeaderElection = field(default_factory=LeaderElection)
    """Which of several processes schedules."""
    client_connection: ClientConnection = field(default_factory=ClientConnection)
    """How to reach the API server."""
    enable_profiling: bool = True
    """Whether `/debug/flags/v` may change how much is logged; there are no profiles to get."""
    enable_contention_profiling: bool = True
    """Without effect."""
    percentage_of_nodes_to_score: Int32 = 0
    """How many of the nodes that fit are enough, in percent; 0 chooses by the size of the cluster."""
    pod_initial_backoff_seconds: Int64 = 1
    """The pause after the first failed attempt; it doubles with each."""
    pod_max_backoff_seconds: Int64 = 10
    """The longest pause."""
    profiles: list[Profile] = []
    """One for each scheduler name; none stands for `default-scheduler` with the default plugins."""
    extenders: list[Extender] = []
    """HTTP extenders, asked in this order; those that may fail come last."""
    delay_cache_until_active: bool = False
    """Whether watching begins only when the lease is held."""
