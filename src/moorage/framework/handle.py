"""What a plugin may use of the scheduler around it."""

from __future__ import annotations

import builtins
import logging
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from moorage.api.kinds import known_kind
from moorage.api.meta import Object
from moorage.api.pods import Pod
from moorage.client.resources import Resource
from moorage.framework.door import Door
from moorage.framework.extenders.asking import Extenders
from moorage.framework.extenders.suspension import Suspension
from moorage.framework.listers import Lister, Listers, Requirement
from moorage.framework.metrics import Metrics
from moorage.framework.observer import NoObserver, Observer
from moorage.framework.runtime.pre_binding import PodsInPreBind
from moorage.framework.runtime.waiting_pods import WaitingPods
from moorage.state.cluster import ClusterState
from moorage.state.nodes import Nodes
from moorage.state.nominations import Nominations

if TYPE_CHECKING:
    from moorage.client import Client
    from moorage.client.resource_client import ResourceClient
    from moorage.framework.cycle_state import CycleState
    from moorage.framework.runtime.profile import Profile
    from moorage.framework.status import Status
    from moorage.state.columns import Int64s
    from moorage.state.node_info import NodeInfo

S = TypeVar("S")
T = TypeVar("T", bound=Object)


class Recorder(Protocol):
    """Writes Kubernetes events."""

    def event(
        self, regarding: Object, related: Object | None, type: str, reason: str, action: str, note: str
    ) -> None: ...


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
    client: Client | None = None
    recorder_of: Callable[[str], Recorder] = lambda profile_name: NoRecorder()
    nominations: Nominations = field(default_factory=Nominations)
    waiting_pods: WaitingPods = field(default_factory=WaitingPods)
    pods_in_pre_bind: PodsInPreBind = field(default_factory=PodsInPreBind)
    metrics: Metrics = field(default_factory=Metrics)
    observer: Observer = field(default_factory=NoObserver)
    activate: Callable[[Iterable[Pod]], None] = _no_pods_to_activate
    clock: Callable[[], float] = time.time
    find_pod: Callable[[Pod], Pod | None] = lambda pod: pod
    """The newest version of a pod that waits to be scheduled, or None if it is gone."""
    may_bind: Callable[[], bool] = lambda: True
    """Whether this scheduler still is the one to act on pods; asked before each write."""
    plugin_raised: Callable[[str, str, BaseException], None] = lambda plugin, point, error: None
    """Told what a plugin raised at which point, a wrong answer included; it is survived, but not in tests."""
    shared: dict[Callable[..., Any], Any] = field(default_factory=dict)
    """What plugins of all profiles have in common, by what made it."""
    suspension: Suspension = field(init=False)
    extenders: Extenders = field(init=False)

    def __post_init__(self) -> None:
        self.suspension = Suspension(self.door)
        self.extenders = Extenders(self.suspension)

    @property
    def state(self) -> ClusterState:
        return self.door.state

    @property
    def listers(self) -> Listers:
        return self.door.listers


class Handle:
    """The scheduler as a plugin sees it; every plugin has it as `self.handle`."""

    def __init__(
        self, services: Services, profile_name: str = "default-scheduler", plugin_name: str = ""
    ) -> None:
        self.services = services
        self.profile_name = profile_name
        self.plugin_name = plugin_name
        self.profile: Profile | None = None
        self.recorder = services.recorder_of(profile_name)
        self.log = logging.getLogger(f"moorage.profile.{profile_name}")

    @property
    def state(self) -> ClusterState:
        return self.services.state

    @property
    def nodes(self) -> Nodes:
        """All nodes."""
        return self.services.state.nodes

    def node(self, name: str) -> NodeInfo | None:
        return self.services.state.node(name)

    @property
    def pods(self) -> Iterator[Pod]:
        """All pods that have a node."""
        return self.services.state.pods

    @property
    def client(self) -> Client:
        if self.services.client is None:
            raise RuntimeError("there is no cluster to talk to: this run has no client")
        return self.services.client

    @property
    def waiting_pods(self) -> WaitingPods:
        return self.services.waiting_pods

    @property
    def nominator(self) -> Nominations:
        return self.services.nominations

    @property
    def metrics(self) -> Metrics:
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

    # The profile's own plugins, for plugins that ask "what if"

    def run_filters(self, cycle: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
        """All filters on one node; None if it passes."""
        from moorage.framework.runtime.filtering import filter_one

        return filter_one(self._profile, cycle, pod, node)

    def run_filters_with_nominated_pods(self, cycle: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
        """As `run_filters`, and the pod must also fit if the pods nominated to the node come."""
        from moorage.framework.runtime.filtering import filter_with_rivals

        return filter_with_rivals(self._profile, cycle, pod, node)

    def run_add_pod(self, cycle: CycleState, pod: Pod, other: Pod, node: NodeInfo) -> Status | None:
        from moorage.framework.runtime.filtering import add_pod

        return add_pod(self._profile, cycle, pod, other, node)

    def run_remove_pod(self, cycle: CycleState, pod: Pod, other: Pod, node: NodeInfo) -> Status | None:
        from moorage.framework.runtime.filtering import remove_pod

        return remove_pod(self._profile, cycle, pod, other, node)

    def run_pre_score(self, cycle: CycleState, pod: Pod, nodes: Nodes) -> Status | None:
        from moorage.framework.runtime.scoring import pre_score

        return pre_score(self._profile, cycle, pod, nodes)

    def run_scores(self, cycle: CycleState, pod: Pod, nodes: Nodes) -> Int64s | Status:
        """The weighted sum of all scores per node."""
        from moorage.framework.runtime.scoring import score

        result = score(self._profile, cycle, pod, nodes)
        return result.totals if result.status is None else result.status

    @property
    def _profile(self) -> Profile:
        if self.profile is None:
            raise RuntimeError("the profile's plugins are not available while they are being made")
        return self.profile
