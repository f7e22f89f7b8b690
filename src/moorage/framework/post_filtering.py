"""PostFilter: what can be done when no node fits."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from moorage.api.pods import Pod
from moorage.framework.calls import FAILURES, failure, named, timed
from moorage.framework.cycle_state import CycleState
from moorage.framework.extension_points import WrongAnswer
from moorage.framework.node_statuses import NodeStatuses
from moorage.framework.status import Code, Nomination, Status

if TYPE_CHECKING:
    from moorage.framework.profile import Profile


class PostFiltered(NamedTuple):
    """The final status, and the nomination to write: None leaves it, "" clears it."""

    status: Status
    nominated_node: str | None = None


def post_filter(profile: Profile, cycle: CycleState, pod: Pod, statuses: NodeStatuses) -> PostFiltered:
    """Asks the PostFilter plugins until one helps, says that nothing can, or fails."""
    reasons: list[str] = []
    nominated: str | None = None
    for plugin in profile.post_filter:
        node_name: str | None = None
        try:
            answer = timed(profile, cycle, plugin, "PostFilter", plugin.post_filter, cycle, pod, statuses)
            if isinstance(answer, Nomination):
                status, node_name = _checked(answer)
            elif isinstance(answer, Status):
                status = answer
            else:
                raise WrongAnswer(
                    f"post_filter returned {type(answer).__name__}, use a Nomination or a Status"
                )
        except FAILURES as error:
            status = failure(error)
        if status.code in (Code.SUCCESS, Code.UNSCHEDULABLE_AND_UNRESOLVABLE):
            return PostFiltered(named(status, plugin), node_name)
        if status.code is Code.ERROR:
            return PostFiltered(named(status, plugin))
        if not status.rejected:
            return PostFiltered(Status(Code.ERROR, *status.reasons, plugin=plugin.name))
        reasons += status.reasons
        if node_name is not None:
            nominated = node_name
    return PostFiltered(Status(Code.UNSCHEDULABLE, *reasons), nominated)


def _checked(nomination: Nomination) -> tuple[Status, str]:
    node_name: object = nomination.node_name
    if not isinstance(node_name, str):
        raise WrongAnswer(
            f"post_filter returned a Nomination of {type(node_name).__name__}, use a node's name"
        )
    status: object = nomination.status
    if status is not None and not isinstance(status, Status):
        raise WrongAnswer(f"post_filter returned a Nomination with {type(status).__name__}, use a Status")
    return status or Status.success(), node_name
