"""PostFilter: what can be done when no node fits."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from moorage.api.pods import Pod
from moorage.framework.cycle_state import CycleState
from moorage.framework.node_statuses import NodeStatuses
from moorage.framework.runtime.answers import nomination_or_status
from moorage.framework.runtime.calls import Question, ask
from moorage.framework.status import Code, Nomination, Status

if TYPE_CHECKING:
    from moorage.framework.runtime.profile import Profile


_POST_FILTER = Question("PostFilter", nomination_or_status)


class PostFiltered(NamedTuple):
    """The final status, and the nomination to write: None leaves it, "" clears it."""

    status: Status
    nominated_node: str | None = None


def post_filter(profile: Profile, cycle: CycleState, pod: Pod, statuses: NodeStatuses) -> PostFiltered:
    """Asks the PostFilter plugins until one helps, says that nothing can, or fails."""
    reasons: list[str] = []
    nominated: str | None = None
    for plugin in profile.post_filter:
        answer = ask(_POST_FILTER, profile, plugin, cycle.is_timed, plugin.post_filter, cycle, pod, statuses)
        status, node_name = _parts(answer)
        if status.code in (Code.SUCCESS, Code.UNSCHEDULABLE_AND_UNRESOLVABLE):
            return PostFiltered(status.by(plugin.name), node_name)
        if status.code is Code.ERROR:
            return PostFiltered(status.by(plugin.name))
        if not status.rejected:
            return PostFiltered(Status(Code.ERROR, *status.reasons, plugin=plugin.name))
        reasons += status.reasons
        if node_name is not None:
            nominated = node_name
    return PostFiltered(Status(Code.UNSCHEDULABLE, *reasons), nominated)


def _parts(answer: Nomination | Status) -> tuple[Status, str | None]:
    if isinstance(answer, Status):
        return answer, None
    return answer.status or Status.success(), answer.node_name
