"""What is told of the gang of a pod: what it needs, how many members there are, and whether enough fit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from moorage.api.pod_groups import group_key
from moorage.api.pods import Pod
from moorage.config.feature_gates import GANG_SCHEDULING
from moorage.framework.gangs import Gang
from moorage.framework.pod_groups import PodGroups
from moorage.framework.runtime.profile import Profile
from moorage.queue.gating import first_objection
from moorage.scheduler.pod_groups.placements import UNSCHEDULABLE
from moorage.what_if.gangs import GangTries, TriedGang
from moorage.what_if.scenario import Evaluation

Document = dict[str, Any]


IsGated = Callable[[Pod], bool]
"""Whether a pod is kept out of the queue."""


def standing(profile: Profile | None, pod: Pod, is_gated: IsGated, message: str = "") -> Document | None:
    """How the gang of a pod stands; None for a pod that belongs to none. Nothing is tried.

    `message` is what the pod was told last; it is left out where the pod goes alone, as its gang has enough.
    """
    if profile is not None and (group := group_of_kubernetes(profile, pod)):
        return _of_kubernetes(profile, group, is_gated)
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


def group_of_kubernetes(profile: Profile, pod: Pod) -> str:
    """The `namespace/name` of the PodGroup of Kubernetes itself that a pod waits with; mostly empty."""
    services = profile.services
    key = group_key(pod) if services.gates.enabled(GANG_SCHEDULING) else ""
    groups: PodGroups | None = services.shared.get(PodGroups)
    group = groups.get(key) if key and groups is not None else None
    return key if group is not None and group.minimum else ""


def is_incomplete(profile: Profile, key: str) -> bool:
    """Whether too few pods of such a group have a node."""
    groups: PodGroups = profile.services.shared[PodGroups]
    group = groups.get(key)
    return group is not None and len(groups.scheduled(key)) < group.minimum


def _of_kubernetes(profile: Profile, key: str, is_gated: IsGated) -> Document:
    groups: PodGroups = profile.services.shared[PodGroups]
    group = groups.get(key)
    assert group is not None
    members, running = list(groups.members(key)), len(groups.scheduled(key))
    waiting = [pod for pod in members if profile.state.placement(pod.uid) is None]
    gated = sum(map(is_gated, waiting))
    document: Document = {
        "name": key,
        "exists": True,
        "minimum": group.minimum,
        "topology": group.topology or "",
        "members": len(members),
        "running": running,
        "waiting": len(waiting) - gated,
        "gated": gated,
        "alone": True,
    }
    if running >= group.minimum:
        return document | {"fits": True, "message": ""}
    told = {pod.key: condition.message for pod in waiting if (condition := pod.condition("PodScheduled"))}
    fitting = running + sum(message.startswith(UNSCHEDULABLE) for message in told.values())
    others = sorted((key, message) for key, message in told.items() if not message.startswith(UNSCHEDULABLE))
    text = f"pod group {key}: {fitting} of {group.minimum} members fit" if told else ""
    if others:
        text += f"; {others[0][0]} does not: {others[0][1]}"
    return document | {"fits": False, "message": text}


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
