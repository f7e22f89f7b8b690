"""The extension points: one base class each.

A plugin is a class with one or more of these bases. `None` means success; everything else is a `Status`. An
exception becomes an Error status with the plugin's name on it: the pod is retried, the scheduler lives on.
"""

from __future__ import annotations

from collections.abc import Awaitable, Hashable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import msgspec
import numpy as np

from moorage.api.pods import Pod
from moorage.api.points import POINTS
from moorage.framework.cycle_state import CycleState
from moorage.framework.events import ClusterEvent
from moorage.framework.permissions import Permission
from moorage.framework.queued_pod import QueuedPod
from moorage.framework.runtime.answers import checked_score, status_of
from moorage.framework.status import Nomination, Status, Wait
from moorage.framework.verdicts import Verdicts
from moorage.state.columns import Int64s
from moorage.state.kept_rows import KeptVerdicts, RowScores
from moorage.state.node_info import NodeInfo
from moorage.state.nodes import Nodes

if TYPE_CHECKING:
    from moorage.framework.handle import Handle
    from moorage.framework.node_statuses import NodeStatuses

__all__ = [  # what `moorage` makes public
    "BindPlugin",
    "FilterPlugin",
    "PermitPlugin",
    "PostBindPlugin",
    "PostFilterPlugin",
    "PreBindPlugin",
    "PreEnqueuePlugin",
    "PreFilterPlugin",
    "PreScorePlugin",
    "QueueSortPlugin",
    "ReservePlugin",
    "ScorePlugin",
]


class Plugin:
    """Base of all extension points. `name` is the class name unless the class says otherwise."""

    name: ClassVar[str] = ""
    """What configurations, logs and messages call it: the name of the class unless it says otherwise."""
    args_type: ClassVar[type[msgspec.Struct] | None] = None
    """The msgspec Struct that its part of `pluginConfig` is decoded into; None for a plugin without args."""
    permissions: ClassVar[Sequence[Permission]] = ()
    """What it asks of the API server beyond reading what it lists or waits for.

    `moorage run` says at the start what of it is missing, `moorage manifests` writes the rules.
    """
    treats_like_pods_alike: ClassVar[bool] = False
    """Whether it answers the same for pods with the same namespace, labels, controller and spec.

    Labels count that some selector asks for; so who reads them by name must not promise this.
    While nothing changes in the cluster, one answer then serves for all of them: where every plugin that
    filters says so, pods that are like one which failed are not tried in vain, and a hint is asked once.
    """
    settles_claims_only: ClassVar[bool] = False
    """Whether Reserve and PreBind have nothing to do for pods without claims; not for plugins."""

    read_only_points: ClassVar[tuple[str, ...]] = ()
    """In-tree, not for plugins of others: the points of alpha features that the class is the base of."""

    methods_of_points: ClassVar[tuple[str, ...]] = ()
    """In-tree, not for plugins of others: what has to be written for these."""

    looks_at_particulars: ClassVar[bool] = False
    """In-tree, not for plugins of others: whether requests of pods, or nodes they ask for, matter."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "name" not in cls.__dict__:
            cls.name = cls.__name__
        if "treats_like_pods_alike" not in cls.__dict__:
            # What a class promises, another one that is made of it may not keep.
            cls.treats_like_pods_alike = False
        if "settles_claims_only" not in cls.__dict__:
            cls.settles_claims_only = False

    def __init__(self, args: Any, handle: Handle) -> None:
        self.args = args
        """The decoded args: an `args_type`, or None for a plugin that names none."""
        self.handle = handle
        """The scheduler around the plugin."""

    def sign(self, pod: Pod) -> Hashable:
        """A key of all that this plugin looks at in a pod; None (the default) keeps nothing.

        By answering, the plugin promises: about pods with the same key its `filter` and `score` say the same
        of a node until that node, or a pod on it, changes. Then each node is asked about once, and again
        only when it changed.
        """
        return None

    def events(self) -> Sequence[ClusterEvent] | None:
        """What may make a pod schedulable that this plugin rejected; None stands for everything."""
        return None

    def start(self) -> Awaitable[None] | None:
        """Background work: called once when the scheduler knows the cluster; may be `async def`.

        It may return or go on for ever, and is cancelled when the scheduler stops. If it raises, it is called
        again after a pause. For what is to be done again and again, mark a method with `moorage.every`.
        """
        return None

    def close(self) -> None:
        """Called once when the scheduler stops, after all background work has ended."""


class PreEnqueuePlugin(Plugin):
    """Decides whether a pod may enter the queue."""

    def pre_enqueue(self, pod: Pod) -> Status | None:
        """None lets the pod in; any Status keeps it out until one of the plugin's `events` comes."""
        raise NotImplementedError


class QueueSortPlugin(Plugin):
    """Orders the queue."""

    def sort_key(self, queued: QueuedPod) -> Any:
        """Anything that compares; the smallest comes first."""
        raise NotImplementedError


class PreFilterPlugin(Plugin):
    """Looks at the pod once before the nodes are filtered."""

    def pre_filters_alike(self, pod: Pod) -> bool:
        """In-tree, not for plugins of others: whether like pods get the same answer in any cluster."""
        return False

    def pre_filter(self, cycle: CycleState, pod: Pod) -> Status | set[str] | None:
        """A set narrows the search to these nodes; `Status.skip()` switches this plugin's filter off."""
        raise NotImplementedError

    def add_pod(self, cycle: CycleState, pod: Pod, other: Pod, node: NodeInfo) -> Status | None:
        """Adjusts what `pre_filter` stored as if `other` were on the node, too."""
        return None

    def remove_pod(self, cycle: CycleState, pod: Pod, other: Pod, node: NodeInfo) -> Status | None:
        """Adjusts what `pre_filter` stored as if `other` were gone from the node."""
        return None


_checked = status_of("filter")


class FilterPlugin(Plugin):
    """Says which nodes can run the pod. Write `filter`, or `filter_nodes` for speed."""

    reads_usage_only: ClassVar[bool] = False
    """Whether, of the pods on a node, the filter looks at nothing but their number and what they request.

    Preemption then asks about many nodes at once.
    """

    is_costly: ClassVar[bool] = False
    """In-tree, not for plugins of others: whether to ask it only about nodes that filters before it left."""

    def kept_verdicts(self, pod: Pod) -> KeptVerdicts | None:
        """In-tree, not for plugins of others: which nodes it rejects for like pods, if that is kept."""
        return None

    def filter(self, cycle: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
        """None if the pod may run on this node, else why not.

        `Status.unschedulable` if it might help that pods there made room, else `Status.unresolvable`.
        """
        raise NotImplementedError

    def filter_nodes(self, cycle: CycleState, pod: Pod, nodes: Nodes) -> Verdicts:
        """The same question for many nodes at once."""
        return Verdicts.each([_checked(self.filter(cycle, pod, node)) for node in nodes])


class PostFilterPlugin(Plugin):
    """Called when no node fits."""

    def post_filter(self, cycle: CycleState, pod: Pod, statuses: NodeStatuses) -> Nomination | Status:
        """What can be done for the pod: a Nomination, or a Status that says why nothing helps.

        `statuses` knows why each node was rejected. The first plugin that nominates a node ends the search.
        """
        raise NotImplementedError


class PreScorePlugin(Plugin):
    """Looks at the pod and the nodes that fit before these are scored."""

    def pre_scores_alike(self, pod: Pod) -> bool:
        """In-tree, not for plugins of others: whether like pods get the same answer in any cluster."""
        return False

    def pre_score(self, cycle: CycleState, pod: Pod, nodes: Nodes) -> Status | None:
        """None to go on; `Status.skip()` switches this plugin's score off for the pod."""
        raise NotImplementedError


class ScorePlugin(Plugin):
    """Ranks the nodes that fit, 0 to 100. Write `score`, or `score_nodes` for speed."""

    def row_scores(self, pod: Pod) -> RowScores | None:
        """In-tree, not for plugins of others: how it scores nodes for like pods, if that is kept."""
        return None

    def score(self, cycle: CycleState, pod: Pod, node: NodeInfo) -> int:
        """How good the node is: a whole number, 0 to 100 unless the plugin has `normalize_scores`, too."""
        raise NotImplementedError

    def score_nodes(self, cycle: CycleState, pod: Pod, nodes: Nodes) -> Int64s:
        """The same question for many nodes at once."""
        scores = [checked_score(self.score(cycle, pod, node), node.name) for node in nodes]
        return np.array(scores, dtype=np.int64)

    def normalize_scores(self, cycle: CycleState, pod: Pod, scores: Int64s) -> Int64s:
        """Brings the scores of all nodes into the range 0 to 100, where `score` does not."""
        return scores


class ReservePlugin(Plugin):
    """Claims something for the pod on the chosen node, and gives it back when the attempt fails later."""

    def reserve(self, cycle: CycleState, pod: Pod, node_name: str) -> Status | None:
        """None if it is claimed; any Status fails the attempt, and `unreserve` is called."""
        raise NotImplementedError

    def unreserve(self, cycle: CycleState, pod: Pod, node_name: str) -> None:
        """Called even if this plugin's `reserve` was not reached; must not fail."""
        raise NotImplementedError


class PermitPlugin(Plugin):
    """Lets the pod go on, rejects it or makes it wait."""

    def permit(self, cycle: CycleState, pod: Pod, node_name: str) -> Status | Wait | None:
        """None lets the pod go on, `Wait(seconds)` holds it back, any other Status rejects it."""
        raise NotImplementedError


Answer = Status | None
"""What the binding-side methods return, at once or awaited."""


class PreBindPlugin(Plugin):
    """Work that must be done before the pod is bound. May be `async def`."""

    allows_parallel: ClassVar[bool] = False
    """Whether this may run beside other plugins that allow it."""

    def pre_bind_pre_flight(self, cycle: CycleState, pod: Pod, node_name: str) -> Answer | Awaitable[Answer]:
        """Success if `pre_bind` will have work, `Status.skip()` if not. Must be quick and do nothing."""
        return None

    def pre_bind(self, cycle: CycleState, pod: Pod, node_name: str) -> Answer | Awaitable[Answer]:
        """Does the work; None if it is done, any Status fails the attempt."""
        raise NotImplementedError


class BindPlugin(Plugin):
    """Binds the pod; `Status.skip()` leaves it to the next plugin. May be `async def`."""

    def bind(self, cycle: CycleState, pod: Pod, node_name: str) -> Answer | Awaitable[Answer]:
        """None if it is bound, `Status.skip()` to leave it to others; any other Status fails the attempt."""
        raise NotImplementedError


class PostBindPlugin(Plugin):
    """Told that the pod was bound. May be `async def`."""

    def post_bind(self, cycle: CycleState, pod: Pod, node_name: str) -> Awaitable[None] | None:
        """Takes note of it; what it returns counts for nothing."""
        raise NotImplementedError


class PluginsByPoint:
    """The plugins of a profile at each extension point, in the order in which they run."""

    pre_enqueue: list[PreEnqueuePlugin]
    queue_sort: list[QueueSortPlugin]
    pre_filter: list[PreFilterPlugin]
    post_filter: list[PostFilterPlugin]
    pre_score: list[PreScorePlugin]
    reserve: list[ReservePlugin]
    permit: list[PermitPlugin]
    pre_bind: list[PreBindPlugin]
    bind: list[BindPlugin]
    post_bind: list[PostBindPlugin]


_TO_WRITE: dict[type[Plugin], tuple[tuple[str, ...], ...]] = {
    PreEnqueuePlugin: (("pre_enqueue",),),
    QueueSortPlugin: (("sort_key",),),
    PreFilterPlugin: (("pre_filter",),),
    FilterPlugin: (("filter", "filter_nodes"),),
    PostFilterPlugin: (("post_filter",),),
    PreScorePlugin: (("pre_score",),),
    ScorePlugin: (("score", "score_nodes"),),
    ReservePlugin: (("reserve",), ("unreserve",)),
    PermitPlugin: (("permit",),),
    PreBindPlugin: (("pre_bind",),),
    BindPlugin: (("bind",),),
    PostBindPlugin: (("post_bind",),),
}
"""What a plugin with this base must write: of each entry, one of the methods."""

_NAMED = {base.__name__: base for base in _TO_WRITE}
BASES: dict[str, type[Plugin]] = {
    point.key: _NAMED[point.interface] for point in POINTS.values() if not point.is_read_only
}
"""The base class of each extension point, in the order in which the points run."""


def points_of(plugin: type[Plugin]) -> tuple[str, ...]:
    """The extension points a plugin class implements, in the order in which they run."""
    alpha = (each for base in plugin.__mro__ for each in base.__dict__.get("read_only_points", ()))
    return (*(key for key, base in BASES.items() if issubclass(plugin, base)), *alpha)


def methods_to_write(base: type[Plugin]) -> list[str]:
    """The methods that a plugin with this base writes; of several forms of one, the easy one."""
    return [choices[0] for choices in _TO_WRITE[base]]


def missing_methods(plugin: type[Plugin]) -> list[tuple[str, ...]]:
    """What a plugin's bases call for and it does not have: of each entry, one of the methods."""
    wanted = [(base, choices) for base, methods in _TO_WRITE.items() for choices in methods]
    wanted += [
        (base, (method,))
        for base in plugin.__mro__
        if issubclass(base, Plugin)
        for method in base.__dict__.get("methods_of_points", ())
    ]
    return [
        choices
        for base, choices in wanted
        if issubclass(plugin, base)
        and all(getattr(plugin, method) is getattr(base, method) for method in choices)
    ]


def forms_of(method: str) -> tuple[str, ...]:
    """The methods of which a plugin with their base must write one, if this is one of them."""
    every = (choices for methods in _TO_WRITE.values() for choices in methods)
    return next((choices for choices in every if method in choices), ())
