"""What a plugin may use of the scheduler around it."""

from __future__ import annotations

import builtins
import logging
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ParamSpec, Protocol, TypeVar

from moorage.api.kinds import known_kind
from moorage.api.meta import Object
from moorage.api.pods import Pod
from moorage.client.resources import Resource
from moorage.config.feature_gates import FeatureGates
from moorage.framework.door import Door
from moorage.framework.eviction import Evicted, Evictions
from moorage.framework.extenders.asking import Extenders
from moorage.framework.extenders.suspension import Suspension
from moorage.framework.listers import Lister, Listers, Requirement
from moorage.framework.metrics import Metrics
from moorage.framework.observer import NoObserver, Observer
from moorage.framework.plugin_errors import PluginErrors
from moorage.framework.runtime.hung_calls import RunningCall
from moorage.framework.runtime.pre_binding import PodsInPreBind
from moorage.framework.runtime.waiting_pods import WaitingPods
from moorage.framework.writes import Write, Writes
from moorage.state.cluster import ClusterState
from moorage.state.nodes import Nodes
from moorage.state.nominations import Nominations

if TYPE_CHECKING:
    from moorage.client import Client
    from moorage.client.resource_client import ResourceClient
    from moorage.framework.cycle_state import CycleState
    from moorage.framework.runtime.profile import Profile
    from moorage.framework.runtime.what_if import WhatIf
    from moorage.framework.status import Status
    from moorage.state.columns import Int64s
    from moorage.state.node_info import NodeInfo

P = ParamSpec("P")
S = TypeVar("S")
T = TypeVar("T", bound=Object)


class Recorder(Protocol):
    """Writes Kubernetes events."""

    def event(
        self, regarding: Object, related: Object | None, type: str, reason: str, action: str, note: str
    ) -> None:
        """Writes an event about `regarding`; similar ones are counted together.

        `type` is Normal or Warning, `reason` one word in camel case, `action` what was being done and `note`
        the text for people.
        """


class NoRecorder:
    """Drops every event; for runs without a cluster."""

    def event(
        self, regarding: Object, related: Object | None, type: str, reason: str, action: str, note: str
    ) -> None:
        pass


def _no_pods_to_activate(pods: Iterable[Pod]) -> None:
    pass


@dataclass
class Services:
    """What all profiles of a scheduler share."""

    door: Door = field(default_factory=Door)
    gates: FeatureGates = field(default_factory=FeatureGates)
    client: Client | None = None
    recorder_of: Callable[[str], Recorder] = lambda profile_name: NoRecorder()
    nominations: Nominations = field(default_factory=Nominations)
    waiting_pods: WaitingPods = field(default_factory=WaitingPods)
    pods_in_pre_bind: PodsInPreBind = field(default_factory=PodsInPreBind)
    metrics: Metrics = field(default_factory=Metrics)
    plugin_errors: PluginErrors = field(default_factory=PluginErrors)
    observer: Observer = field(default_factory=NoObserver)
    activate: Callable[[Iterable[Pod]], None] = _no_pods_to_activate
    clock: Callable[[], float] = time.time
    find_pod: Callable[[Pod], Pod | None] = lambda pod: pod
    """The newest version of a pod that waits to be scheduled, or None if it is gone."""
    may_bind: Callable[[], bool] = lambda: True
    """Whether this scheduler still is the one to act on pods; asked before each write."""
    plugin_raised: Callable[[str, str, BaseException], None] = lambda plugin, point, error: None
    """Told what a plugin raised at which point, a wrong answer included; it is survived, but not in tests."""
    shortcuts: bool = True
    """Whether what was found out for one pod may serve for another; tests compare with none."""
    took: dict[tuple[str, str], float] = field(default_factory=dict)
    """The seconds that plugins took at each point since the attempt began that runs, or ran last.

    Plugins of Moorage's own are timed in some attempts only, as their metrics are.
    """
    shared: dict[Callable[..., Any], Any] = field(default_factory=dict)
    """What plugins of all profiles have in common, by what made it."""
    running: RunningCall = field(init=False)
    evicted: list[Evicted] = field(default_factory=list)
    """The pods that plugins told to go where there is no cluster in which they could."""
    suspension: Suspension = field(init=False)
    writes: Writes = field(init=False)
    extenders: Extenders = field(init=False)

    def __post_init__(self) -> None:
        self.running = self.door.listers.running
        self.suspension = Suspension(self.door)
        self.extenders = Extenders(self.suspension)
        self.writes = Writes(self)

    @property
    def state(self) -> ClusterState:
        return self.door.state

    @property
    def listers(self) -> Listers:
        return self.door.listers


class Handle:
    """The scheduler as a plugin sees it; every plugin has it as `self.handle`.

    What it gives are the scheduler's own nodes, pods and objects, true for the length of a call. Read them,
    do not change them, and do not keep a NodeInfo for later.
    """

    def __init__(
        self, services: Services, profile_name: str = "default-scheduler", plugin_name: str = ""
    ) -> None:
        """Made by the scheduler, not for plugins."""
        self.services = services
        """For the scheduler, not for plugins."""
        self.profile_name = profile_name
        """The profile this plugin runs in: the `schedulerName` of its pods."""
        self.plugin_name = plugin_name
        """The name of the plugin that has this handle."""
        self.profile: Profile | None = None
        """For the scheduler, not for plugins."""
        self.recorder: Recorder = services.recorder_of(profile_name)
        """Writes Kubernetes events: `event(pod, None, "Normal", "Priced", "Scheduling", "costs 3")`."""
        self.log: logging.Logger = logging.getLogger(f"moorage.profile.{profile_name}")
        """A standard logger; its lines name the profile."""

    @property
    def state(self) -> ClusterState:
        """For the scheduler, not for plugins."""
        return self.services.state

    @property
    def nodes(self) -> Nodes:
        """All nodes."""
        return self.services.state.nodes

    def node(self, name: str) -> NodeInfo | None:
        """One node by name, or None."""
        return self.services.state.node(name)

    @property
    def pods(self) -> Iterator[Pod]:
        """All pods that have a node."""
        return self.services.state.pods

    @property
    def client(self) -> Client:
        """Writes pods: `bind`, `write_pod_status`, `delete_pod`; `client.http` makes any other request.

        Raises RuntimeError where there is no cluster, as in tests with a FakeHandle.
        """
        if self.services.client is None:
            raise RuntimeError("there is no cluster to talk to: this run has no client")
        return self.services.client

    @property
    def waiting_pods(self) -> WaitingPods:
        """The pods that Permit plugins hold back, to allow or reject them."""
        return self.services.waiting_pods

    @property
    def nominator(self) -> Nominations:
        """Which pods are nominated to which nodes."""
        return self.services.nominations

    @property
    def metrics(self) -> Metrics:
        """Makes counters, gauges and histograms, which `/metrics` shows."""
        return self.services.metrics

    @property
    def clock(self) -> Callable[[], float]:
        """Seconds since the epoch; tests set it."""
        return self.services.clock

    def shared(self, make: Callable[[Handle], S]) -> S:
        """What `make` makes of a handle, once for all plugins of all profiles; a class will do.

        For what may not differ between profiles, as the volumes that were promised to pods.
        """
        if make not in self.services.shared:
            self.services.shared[make] = make(self)
        made: S = self.services.shared[make]
        return made

    @property
    def extenders(self) -> Extenders:
        """The HTTP extenders of the configuration; a plugin may ask them as the scheduler does."""
        return self.services.extenders

    def activate(self, pods: Iterable[Pod]) -> None:
        """Has these waiting pods tried again at once."""
        self.services.activate(pods)

    def lister(
        self,
        group: str,
        version: str,
        resource: str,
        type: builtins.type[Object] | None = None,
        *,
        sync_timeout: float | None = None,
    ) -> Lister[Any]:
        """The objects of a resource, kept up to date; ask for it in the plugin's constructor.

        `type` is a Struct that derives from `moorage.Object` and names the fields you use. With a
        `sync_timeout`, no pod is scheduled before the objects are known, and the scheduler ends if that takes
        more seconds; without it, a resource that the API server does not serve is not waited for.
        """
        kind = type or known_kind(group, version, resource) or Object
        found = self.services.listers.get(group, version, resource, kind)
        if sync_timeout is not None:
            found.requirements.append(Requirement(self.plugin_name, sync_timeout))
        return found

    def lister_of(self, kind: builtins.type[T], *, sync_timeout: float | None = None) -> Lister[T]:
        """As `lister`, for a class that says with its class variables where its objects live."""
        address = Resource.of(kind)
        return self.lister(address.group, address.version, address.plural, kind, sync_timeout=sync_timeout)

    def resource_client(self, kind: builtins.type[T]) -> ResourceClient[T]:
        """Reads and writes the objects of a class in the API server; for `async` methods of plugins."""
        from moorage.client.resource_client import ResourceClient

        http = self.client.http
        if http is None:
            raise RuntimeError("there is no API server to talk to: this run keeps everything in memory")
        return ResourceClient(http, kind)

    # Writing, from methods that must not wait

    def write(self, work: Callable[P, Awaitable[object]], *args: P.args, **kwargs: P.kwargs) -> None:
        """Has `work(*args)`, an `async def`, done beside the scheduling of pods; returns at once.

        For methods that must not wait: `filter`, `reserve`, `post_filter`, `permit`, hints.

            def post_filter(self, cycle, pod, statuses):
                self.handle.write(self.ask_for_a_node, pod)
                return Status.unschedulable("asked for a node")

            async def ask_for_a_node(self, pod):
                await self.handle.resource_client(NodeRequest).create(...)

        Nothing is done before the scheduler runs, nor by a process that does not lead. What is raised is
        logged with the plugin's name and counted. When the scheduler stops or is reloaded, work that has
        begun has five seconds to end before it is cancelled. Where there is no cluster it is refused.
        """
        given: object = work
        if not callable(given):
            if isinstance(given, Coroutine):
                given.close()
            raise TypeError("write takes a function and its arguments: handle.write(self.work, pod)")
        if self.services.client is None:
            raise RuntimeError("there is no cluster to write to: this run has no client")
        self.services.writes.start(Write(self, work, args, kwargs))

    def evict(self, victims: Pod | Iterable[Pod], *, by: Pod, message: str = "") -> None:
        """Makes pods go in favour of the pod `by`, as the in-tree preemption does; returns at once.

        Each gets the condition `DisruptionTarget` with `message`, is deleted with the time it has to end, and
        has an event `Preempted`. One that waits on permit or in PreBind goes back to the queue instead. Pods
        that are nominated to the same nodes and are less important lose their nomination. Pods that are being
        deleted already are left alone. The last one goes when the others are gone, so that `by` is not woken
        too early. If anything fails, `by` is tried again.

        The plugin needs `permissions = [Permission("delete", "", "pods")]`.
        """
        told = message or f"{by.spec.scheduler_name}: preempting to accommodate a higher priority pod"
        pods = [victims] if isinstance(victims, Pod) else list(victims)
        for pod in pods:
            if not pod.spec.node_name or pod.uid == by.uid:
                raise ValueError(
                    f"pod {pod.key} takes no room on a node: evicting it would not help {by.key}"
                )
        self.shared(Evictions).start(self, [Evicted(pod, by, told) for pod in pods])

    def is_evicting_for(self, pod: Pod) -> bool:
        """Whether pods that have to go for this one are not even on their way out; it should wait then.

        A plugin that evicts says so in `pre_enqueue`, as the in-tree preemption does.
        """
        return self.shared(Evictions).is_under_way(pod)

    # The profile's own plugins, for plugins that ask "what if"

    def what_if(self, cycle: CycleState, pod: Pod, node: NodeInfo) -> WhatIf:
        """Asks about a node as it would be with other pods on it, in a `with` block that undoes everything.

            with self.handle.what_if(cycle, pod, node) as tried:
                for victim in victims:
                    tried.remove(victim)
                fits = tried.filters() is None

        `cycle` and `pod` are those the plugin was called with; `node` is one of `nodes`, or `node(name)`.
        """
        from moorage.framework.runtime.what_if import WhatIf, WhatIfError
        from moorage.state.node_info import NodeInfo

        given: object = node
        if not isinstance(given, NodeInfo):
            gone = "; `handle.node(name)` is None for a node that is gone" if given is None else ""
            raise TypeError(f"what_if(cycle, pod, node): node is {type(given).__name__}, not NodeInfo{gone}")
        if self.node(node.name) is not node:
            raise WhatIfError(f"what_if(cycle, pod, node): node {node.name} is gone")
        return WhatIf(self._profile, cycle, pod, node)

    def run_filters(self, cycle: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
        """All filters on one node as it is; None if it passes."""
        from moorage.framework.runtime.filtering import filter_one

        return filter_one(self._profile, cycle, pod, node)

    def run_filters_with_nominated_pods(self, cycle: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
        """As `run_filters`, and the pod must also fit if the pods nominated to the node come."""
        from moorage.framework.runtime.filtering import filter_with_rivals

        return filter_with_rivals(self._profile, cycle, pod, node)

    def run_pre_score(self, cycle: CycleState, pod: Pod, nodes: Nodes) -> Status | None:
        """The profile's PreScore plugins on these nodes; None if all go on."""
        from moorage.framework.runtime.scoring import pre_score

        return pre_score(self._profile, self._profile.plans.general, cycle, pod, nodes)

    def run_scores(self, cycle: CycleState, pod: Pod, nodes: Nodes) -> Int64s | Status:
        """The weighted sum of all scores per node."""
        from moorage.framework.runtime.scoring import score

        result = score(self._profile, self._profile.plans.general, cycle, pod, nodes)
        return result.totals if result.status is None else result.status

    @property
    def _profile(self) -> Profile:
        if self.profile is None:
            raise RuntimeError(
                "the profile's plugins are not available while they are being made, nor in a FakeHandle: "
                "use `run` of moorage.testing"
            )
        return self.profile
