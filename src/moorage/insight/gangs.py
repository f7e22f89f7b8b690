"""What is told of the gang of a pod: what it needs, how many members there are, and whether enough fit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from moorage.api.pods import Pod
from moorage.framework.gangs import Gang
from moorage.framework.runtime.profile import Profile
from moorage.queue.gating import first_objection
from moorage.what_if.gangs import GangTries, TriedGang
from moorage.what_if.scenario import Evaluation

Document = dict[str, Any]


IsGated = Callable[[Pod], bool]
"""Whether a pod is kept out of the queue."""


def standing(profile: Profile | None, pod: Pod, is_gated: IsGated, message: str = "") -> Document | None:
    """How the gang of a pod stands; None for a pod that belongs to none. Nothing is tried.

    `message` is what the pod was told last; it is left out where the pod goes alone, as its gang has enough.
    """
    gangs = None if profile is None else profile.gangs
    if profile is None or gangs is None:
        return None
    missing = gangs.missing_gang(pod)
    if missing:
        return {"name": missing, "exists": False, "fits": False}
    gang = gangs.gang_of(pod)
    if gang is None:
        return None
    document = _counted(profile, gang, is_gated)
    is_whole = document["running"] >= gang.minimum
    return document | {"fits": is_whole, "message": "" if is_whole else message}


@contextmanager
def evaluated(profile: Profile, pod: Pod) -> Iterator[tuple[Evaluation, Document | None]]:
    """A pod in one real cycle, and its gang, if that has to be tried with it; the pod has to be in the state.

    In the block, those members have their nodes that got some before the pod.
    """
    tries = GangTries(profile)
    gang = tries.gang_of(pod)
    if gang is None:
        yield Evaluation.of(profile, pod), standing(profile, pod, _objected_to(profile))
        return
    document = _of_tried(profile, tries.tried(gang, preempts=True))
    with tries.placed(gang) as (_, trial), tries.before(trial, pod):
        yield Evaluation.of(profile, pod, preempts=False, within=trial.within), document


def _of_tried(profile: Profile, tried: TriedGang) -> Document:
    document = _counted(profile, tried.gang, _objected_to(profile)) | {
        "fits": tried.fits,
        "message": tried.message,
    }
    if tried.room_on:
        document |= {"victims": list(tried.victims), "nodes": list(tried.room_on)}
    return document


def _objected_to(profile: Profile) -> IsGated:
    return lambda pod: first_objection(profile, pod) is not None


def _counted(profile: Profile, gang: Gang, is_gated: IsGated) -> Document:
    tries = GangTries(profile)
    members = tries.members(gang)
    running = len(tries.with_node(gang))
    placement = profile.state.placement
    without_node = [pod for pod in members if placement(pod.uid) is None]
    gated = sum(map(is_gated, without_node))
    return {
        "name": gang.key,
        "exists": True,
        "minimum": gang.minimum,
        "topology": gang.topology,
        "members": len(members),
        "running": running,
        "waiting": len(without_node) - gated,
        "gated": gated,
    }
