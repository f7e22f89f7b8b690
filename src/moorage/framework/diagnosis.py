"""Why an attempt failed: every status, message, condition and event that tells of it is made here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from moorage.api.durations import Duration
from moorage.api.pods import Condition, Pod
from moorage.framework.conditions import condition
from moorage.framework.plugin_errors import IN_TREE, author_of, definition, is_ours, is_sentence, place, told
from moorage.framework.queued_pod import QueuedPod
from moorage.framework.runtime.answers import WrongAnswer
from moorage.framework.status import Code, Status

if TYPE_CHECKING:
    from moorage.framework.extension_points import Plugin
    from moorage.framework.handle import Recorder
    from moorage.framework.node_statuses import NodeStatuses
    from moorage.framework.runtime.filtering import PreFiltered
    from moorage.framework.runtime.post_filtering import PostFiltered
    from moorage.framework.runtime.profile import Profile

NO_NODES = "no nodes available to schedule pods"
NOT_THE_LEADER = "this scheduler is not the leader any more"
LONGEST_NOTE = 1024
_CUT = " ..."


# What one plugin said


def raised(error: BaseException, author: frozenset[str] = frozenset()) -> Status:
    """An exception from a plugin as a status; `author` are the packages in which the plugin is written."""
    status = Status.error(told(error, author))
    status.cause = error
    return status


def call_failed(
    error: BaseException, profile: Profile, plugin: Plugin, point: str, arguments: Iterable[object]
) -> Status:
    """What a plugin raised when it was asked about a pod, as a status; the log gets the traceback."""
    pod = next((each for each in arguments if isinstance(each, (Pod, QueuedPod))), None)
    author = author_of(type(plugin))
    profile.services.plugin_errors.note(error, plugin.name, author, point, pod=pod)
    profile.services.plugin_raised(plugin.name, point, error)
    return raised(error, author)


def for_log(profile: Profile, status: Status, text: str = "") -> str:
    """What a status says, or the text made of it, with the place in the plugin's code where it began."""
    plugin, text = profile.plugins.get(status.plugin), text or status.message
    return text if plugin is None or status.cause is None else f"{text}{place_in(plugin, status.cause)}"


def place_in(plugin: Plugin, error: BaseException) -> str:
    """` (plugin.py:6)`: where a plugin raised something, or the method that gave a wrong answer."""
    author = author_of(type(plugin))
    if isinstance(error, WrongAnswer):
        method = getattr(plugin, error.method, None)
        return "" if method is None or is_ours(method) else definition(method)
    return "" if author == IN_TREE and is_sentence(error, author) else place(error, author)


def unexpected(error: Exception) -> Status:
    """An exception from the scheduler itself, not from a plugin."""
    return Status.error(told(error))


def running(point: str, plugin: str, status: Status) -> str:
    """What a plugin said, with its name and the point at which it ran."""
    return f'running {point} plugin "{plugin}": {status.message}'


def failed(point: str, plugin: str, status: Status) -> Status:
    return _error(plugin, running(point, plugin, status), status)


def rejected_or_failed(point: str, plugin: str, status: Status) -> Status:
    """A rejection as it is, everything else as an Error."""
    return status.by(plugin) if status.rejected else failed(point, plugin, status)


def rejected_by_filter(plugin: str, status: object) -> Status:
    """A filter's answer as the node's status: rejections as they are, everything else an Error."""
    if not isinstance(status, Status) or status.code is Code.SUCCESS:
        status = Status.error("filter_nodes returned a code that stands for no rejection")
    if status.rejected:
        return status.by(plugin)
    return _error(plugin, f'running "{plugin}" filter plugin: {status.message}', status)


def score_failed(plugin: str, status: Status, *, normalizing: bool) -> Status:
    doing = "running Normalize on Score plugins" if normalizing else "running Score plugins"
    return _error(plugin, f'{doing}: plugin "{plugin}" failed with: {status.message}', status)


def score_out_of_range(plugin: str, score: int) -> Status:
    text = (
        f'applying score defaultWeights on Score plugins: plugin "{plugin}" returns an invalid '
        f"score {score}, it should in the range of [0, 100] after normalizing"
    )
    return _error(plugin, text)


def pre_flight_failed(plugin: str, status: Status) -> Status:
    if status.code is Code.ERROR:
        return _error(plugin, f'running PreBindPreFlight "{plugin}": {status.message}', status)
    text = (
        f'PreBindPreFlight {plugin} returned "{status.code.label}", which is unsupported. '
        "It is supposed to return Success, Skip, or Error status"
    )
    return _error(plugin, text)


def wait_failed(status: Status) -> Status:
    return _error(status.plugin, f"waiting on permit for pod: {status.message}")


def timed_out(plugin: str, seconds: float) -> str:
    waited = Duration(round(seconds * 1e9))
    return f"rejected due to timeout after waiting {waited} at plugin {plugin}"


def _error(plugin: str, text: str, said: Status | None = None) -> Status:
    """An Error in these words, with the cause of what the plugin said."""
    status = Status(Code.ERROR, text, plugin=plugin)
    status.cause = None if said is None else said.cause
    return status


# What became of the nodes


def nothing_left(narrowed_by: list[str]) -> Status:
    """No node is in all the sets to which PreFilter plugins narrowed the search."""
    if len(narrowed_by) == 1:
        return Status.unresolvable(f"node(s) didn't satisfy plugin {narrowed_by[0]}")
    listed = " ".join(sorted(narrowed_by))
    return Status.unresolvable(f"node(s) didn't satisfy plugin(s) [{listed}] simultaneously")


def outside_status(narrowed_by: Iterable[str]) -> Status:
    """What the nodes get that PreFilter left out."""
    return Status.unresolvable(f"node(s) didn't satisfy plugin(s) [{' '.join(sorted(narrowed_by))}]")


def nodes_available(
    total: int, reasons: Mapping[str, int], *, pre_filter: str = "", post_filter: str = ""
) -> str:
    """`0/N nodes are available: ...` from how many nodes give each reason, or from PreFilter's message."""
    text = f"0/{total} nodes are available:"
    if pre_filter:
        text += f" {pre_filter}."
    elif reasons:
        text += " " + ", ".join(sorted(f"{count} {reason}" for reason, count in reasons.items())) + "."
    return f"{text} {post_filter}" if post_filter else text


# What became of the attempt


@dataclass
class Failure:
    """Why a pod got no node, and what follows from it."""

    status: Status
    """A rejection, or an error after which the pod is simply tried again."""
    message: str
    phase: str = ""
    unschedulable_plugins: set[str] = field(default_factory=set)
    pending_plugins: set[str] = field(default_factory=set)
    nominated_node: str | None = ""
    """The nomination to record: None leaves it as it is, "" clears it."""
    silent: bool = False
    """Nothing is told about it: no event, no condition."""

    @property
    def is_rejection(self) -> bool:
        return self.status.rejected

    def condition(self, pod: Pod, now: float) -> Condition:
        """What the pod's status says about it; `now` is when that began, unless it was so before."""
        reason = "Unschedulable" if self.is_rejection else "SchedulerError"
        return condition(pod, "PodScheduled", "False", reason=reason, message=self.message, now=now)


def no_nodes() -> Failure:
    return Failure(Status.unschedulable(NO_NODES), NO_NODES)


def attempt_failed(status: Status, phase: str = "") -> Failure:
    """Something broke; `phase` is the extension point at which it did."""
    return Failure(status, status.message, phase)


def nothing_fits(
    total: int,
    statuses: NodeStatuses,
    pre: PreFiltered,
    post: PostFiltered | None,
    *,
    rejected_by: Iterable[str] = (),
) -> Failure:
    """None of `total` nodes can run the pod; `post` is None where no plugin was asked what to do about it.

    `rejected_by` is who rejected nodes without leaving its name in their statuses.
    """
    if pre.status is not None:
        unschedulable, pending = pre.rejecting_plugins, set[str]()
    else:
        unschedulable, pending = statuses.plugins()
        unschedulable |= {*pre.narrowed_by, *rejected_by}
    message = nodes_available(
        total,
        statuses.reasons(),
        pre_filter="" if pre.status is None else pre.status.message,
        post_filter="" if post is None else _said_after_filtering(post.status),
    )
    nominated = "" if post is None else post.nominated_node
    return Failure(
        Status(Code.UNSCHEDULABLE, message), message, "", unschedulable, pending, nominated_node=nominated
    )


def _said_after_filtering(status: Status) -> str:
    """The end of the message; what a plugin raised is a failure and gets the plugin's name."""
    return status.message if status.cause is None else running("PostFilter", status.plugin, status)


def chosen_node_failed(status: Status, *, waits_for_events: bool = True) -> Failure:
    """The failure after a node was chosen: a rejection reads as if the cluster had that one node.

    A pod that left in-flight tracking before does not wait for events, and its rejection is told as it is.
    """
    if status.code is Code.SKIP:
        return Failure(Status.error(""), "", silent=True)
    if not status.rejected:
        return attempt_failed(status)
    if not waits_for_events:
        return attempt_failed(Status(status.code, status.message))
    message = nodes_available(1, Counter(status.reasons))
    plugins = {status.plugin} if status.plugin else set()
    pending = plugins if status.code is Code.PENDING else set[str]()
    return Failure(Status(status.code, message), message, "", plugins, pending)


def deleting(pod: Pod) -> str:
    return f"skip schedule deleting pod: {pod.key}"


def tell(recorder: Recorder, pod: Pod, message: str) -> None:
    """Writes the event of a failed attempt."""
    recorder.event(pod, None, "Warning", "FailedScheduling", "Scheduling", shortened(message))


def shortened(text: str) -> str:
    """An event's note holds 1024 bytes."""
    encoded = text.encode()
    if len(encoded) <= LONGEST_NOTE:
        return text
    return encoded[: LONGEST_NOTE - len(_CUT)].decode(errors="ignore") + _CUT
