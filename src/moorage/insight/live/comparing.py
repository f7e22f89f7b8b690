"""Which placements another configuration would change."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
import numpy as np

from moorage.api.decoding import from_document
from moorage.api.pods import Pod
from moorage.framework.node_statuses import NodeStatuses
from moorage.framework.runtime.profile import Profile
from moorage.insight.live.copied import Copy
from moorage.insight.live.problems import bad_question
from moorage.insight.live.trying import without_node
from moorage.scheduler.cycle import NodeChooser, rank
from moorage.state.columns import Int64s
from moorage.what_if.gangs import GangTries

Document = dict[str, Any]

MOST_PLACED = 200
MOST_WAITING = 1000


class CompareBody(msgspec.Struct, forbid_unknown_fields=True):
    config: str


def read_compare(body: bytes) -> CompareBody:
    """Raises Problem for what is not such a body."""
    try:
        asked = msgspec.json.decode(body, type=CompareBody)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise bad_question(f"the body: {error}") from None
    if not asked.config.strip():
        raise bad_question("config: it is empty; give the text of a KubeSchedulerConfiguration")
    return asked


class Outcome(NamedTuple):
    """What a configuration decides for a pod."""

    best: list[str]
    """The nodes with the highest score, the one that is taken first; empty if none fits."""
    score: int | None = None
    names: Sequence[str] = ()
    """The nodes that fit."""
    weighted: Mapping[str, Int64s] = {}
    """What each plugin adds to the sums of these nodes."""
    statuses: NodeStatuses | None = None
    rejecting: str = ""

    def part(self, plugin: str, node: str) -> int:
        """What a plugin adds to the sum of a node; 0 where it was not asked."""
        if plugin not in self.weighted or node not in self.names:
            return 0
        return int(self.weighted[plugin][self.names.index(node)])

    def rejected(self, node: str) -> str:
        """The plugin that rejected a node; empty if none did."""
        return "" if self.statuses is None or node in self.names else self.statuses.get(node).plugin


def compare(copy: Copy, asked: CompareBody, *, seconds: float) -> Document:
    """Decides for waiting and for the newest placed pods with both configurations, each on the same state."""
    end = time.monotonic() + seconds
    others = copy.configured(asked.config)
    pods = _pods(copy)
    changes: list[Document] = []
    compared = 0
    for pod in pods:
        if time.monotonic() > end:
            break
        compared += 1
        change = _compare_one(copy, others, pod)
        if change is not None:
            changes.append(change)
    answer: Document = {"pods": compared, "same": compared - len(changes), "changes": changes}
    if compared < len(pods):
        answer["notCompared"] = len(pods) - compared
    return answer


def _pods(copy: Copy) -> list[Pod]:
    everybody = [pod for pod in copy.services.door.pods() if pod.spec.scheduler_name in copy.profiles]

    def newest_first(pod: Pod) -> str:
        return pod.metadata.creation_timestamp or ""

    placed = [pod for pod in everybody if pod.spec.node_name and not pod.deleting]
    placed.sort(key=newest_first, reverse=True)
    waiting = [
        pod
        for pod in everybody
        if not pod.spec.node_name and not copy.services.state.is_assumed(pod.uid) and not pod.deleting
    ]
    waiting.sort(key=newest_first)
    return [*waiting[:MOST_WAITING], *placed[:MOST_PLACED]]


def _compare_one(copy: Copy, others: Mapping[str, Profile], pod: Pod) -> Document | None:
    tried = from_document(Pod, without_node(pod, copy.services.state))
    nominated = copy.services.nominations.node_of(pod.uid)
    copy.take_off(pod)
    if any(each.gangs is not None for each in (*copy.profiles.values(), *others.values())):
        copy.services.door.put(tried)  # without it, its gang would have a member less
    try:
        now = _outcome(copy.profiles[tried.spec.scheduler_name], tried)
        other = others.get(tried.spec.scheduler_name)
        then = Outcome([], rejecting="no profile of this name") if other is None else _outcome(other, tried)
        return _change(pod, now, then)
    finally:
        copy.services.door.put(pod)
        if nominated:
            copy.services.nominations.add(pod, nominated)


def _change(pod: Pod, now: Outcome, then: Outcome) -> Document | None:
    if (not now.best and not then.best) or set(now.best) & set(then.best):
        return None
    here = pod.spec.node_name if pod.spec.node_name in now.best else next(iter(now.best), None)
    there = next(iter(then.best), None)
    return {
        "pod": pod.key,
        "now": here,
        "then": there,
        "nowScore": now.score,
        "thenScore": then.score,
        "why": _why(now, then, here, there),
    }


def _outcome(profile: Profile, pod: Pod) -> Outcome:
    if profile.gangs is not None and _waits_for_gang(profile, pod):
        return Outcome([], rejecting=profile.gangs.name)
    decision = NodeChooser(find_all=True, preempts=False).decide(profile, pod)
    decision.statuses.set_now()
    if decision.failure is not None or decision.feasible is None:
        rejecting = decision.failure.unschedulable_plugins if decision.failure is not None else set()
        return Outcome([], statuses=decision.statuses, rejecting=", ".join(sorted(rejecting)))
    nodes = decision.feasible
    names = list(nodes.names)
    scores = decision.scores or rank(profile, decision.plan, decision.cycle, pod, nodes)
    if scores.status is not None or not len(scores.totals):
        return Outcome([decision.node_name], names=names, statuses=decision.statuses)
    weights = {plugin.name: weight for plugin, weight, _ in profile.score}
    weighted = {name: values * weights[name] for name, values in scores.by_plugin.items()}
    highest = scores.totals.max()
    best = [names[place] for place in np.flatnonzero(scores.totals == highest).tolist()]
    best.sort(key=lambda name: name != decision.node_name)
    return Outcome(best, int(highest), names, weighted, decision.statuses)


def _waits_for_gang(profile: Profile, pod: Pod) -> bool:
    """Whether a pod gets no node because of the other members of its gang, or with them."""
    assert profile.gangs is not None
    tries = GangTries(profile)
    gang = tries.gang_of(pod)
    if gang is None:
        return bool(profile.gangs.missing_gang(pod))
    return tries.tried(gang, in_haste=True).node_of(pod) is None


def _why(now: Outcome, then: Outcome, here: str | None, there: str | None) -> str:
    """The plugin that tips it: whose word for the other node, against this one, gained the most."""
    if here is None:
        return now.rejected(there or "") or now.rejecting
    if there is None:
        return then.rejected(here) or then.rejecting
    if rejecting := then.rejected(here) or now.rejected(there):
        return rejecting
    gains = {
        plugin: _lead(then, plugin, there, here) - _lead(now, plugin, there, here)
        for plugin in {*then.weighted, *now.weighted}
    }
    return max(sorted(gains), key=lambda plugin: gains[plugin], default="")


def _lead(outcome: Outcome, plugin: str, there: str, here: str) -> int:
    return outcome.part(plugin, there) - outcome.part(plugin, here)
