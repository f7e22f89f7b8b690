"""Priority: how important the pod would have to be for others to make room."""

from __future__ import annotations

from collections.abc import Iterator

from moorage.insight.advice.drafts import Draft, part
from moorage.insight.advice.remedies import room
from moorage.insight.advice.remedy import Remedy, Sight, listed
from moorage.insight.advice.trials import Outcome

_HIGHEST = 10**9
"""Of what users may choose; those above are the system's."""
_MANY_NODES = 500
"""With more nodes than that, preemption is asked only where there is hope: it looks at every node."""
_NEVER = "Never"
_LOWER = "PreemptLowerPriority"


def remedies_of_pod(sight: Sight) -> Iterator[Remedy]:
    """The lowest priority that helps, found by trying; preemption has to be allowed then."""
    pod = sight.pod
    if not sight.world.profile.post_filter and not len(sight.services.nominations):
        return
    if len(sight.state.table) > _MANY_NODES and not _could_be_preempted(sight):
        return
    if sight.world.outcome(sight.draft().steps(), preempts=True) is not None:
        # It has others preempted as it is.
        return
    if pod.spec.preemption_policy == _NEVER:
        change = remedy(sight, pod.priority)
        if _helps(sight, change):
            yield change
            return
    present = {other.priority for other in sight.state.pods}
    present |= {
        rival.priority for rivals in sight.services.nominations.rivals(pod).values() for rival in rivals
    }
    levels = sorted(level + 1 for level in present if pod.priority <= level < _HIGHEST)
    if not levels or not _helps(sight, remedy(sight, levels[-1])):
        return
    low, high = 0, len(levels) - 1
    while low < high and not sight.world.is_over:
        middle = (low + high) // 2
        if _helps(sight, remedy(sight, levels[middle])):
            high = middle
        else:
            low = middle + 1
    yield remedy(sight, levels[high])


def _could_be_preempted(sight: Sight) -> bool:
    """Whether it would help on some node if pods left that are there, which is all that preemption can do."""
    found = sight.kept(room.all_leaving)
    return any(all(pod.spec.node_name == each.node.name for pod in each.pods) for each in found)


def remedy(sight: Sight, level: int) -> Remedy:
    pod = sight.pod
    forbidden = pod.spec.preemption_policy == _NEVER

    def edit(draft: Draft) -> None:
        spec = part(draft.edit(pod), "spec")
        if level != pod.priority:
            spec["priority"] = level
        if forbidden:
            spec["preemptionPolicy"] = _LOWER

    clauses = [f"its priority were {level}"] if level != pod.priority else []
    clauses += [f"its preemption policy were {_LOWER}"] if forbidden else []
    return Remedy("priority", " and ".join(clauses), 52, edit, preempts=True)


def with_victims(text: str, outcome: Outcome) -> str:
    """The clause with those named that would be preempted."""
    if not outcome.victims:
        return text
    named = outcome.victims[:4]
    more = len(outcome.victims) - len(named)
    who = ", ".join(named) + (f" and {more} more" if more else "")
    where = listed(outcome.nodes) if outcome.is_of_gang else outcome.nodes[0]
    return f"{text}, which preempts {who} on {where}"


def _helps(sight: Sight, change: Remedy) -> bool:
    return sight.world.outcome(sight.draft(change).steps(), preempts=True) is not None
