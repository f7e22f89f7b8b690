"""The one change that would free the most of the waiting pods."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from moorage.api.decoding import from_document
from moorage.api.likeness import likeness
from moorage.api.meta import OwnerReference
from moorage.api.pods import Pod
from moorage.framework.gangs import Gang
from moorage.insight.live.copied import Copy
from moorage.insight.live.encoding import encode
from moorage.queue.gating import first_objection
from moorage.scheduler.cycle import NodeChooser
from moorage.what_if.gangs import GangTries

if TYPE_CHECKING:
    from moorage.insight.advice.steps import Step
    from moorage.insight.advice.suggestions import Suggestion

Document = dict[str, Any]

_OF_EACH_GROUP = 4
_NAMED = 10


def best_change(copy: Copy, found: Mapping[str, Sequence[Suggestion]], end: float) -> Document | None:
    """Of the advice for some pods, by their keys, what frees the most pods; None if nothing frees any.

    Each change is tried on the state with one waiting pod after the other, as many as get a node without
    others having to go; a gang gets its nodes together or none. By the clock `time.monotonic`, nothing new is
    tried after `end`.
    """
    waiting = _waiting(copy)
    if not waiting:
        return None
    by_itself = _placed(copy, waiting, end)
    best: tuple[int, Suggestion, list[str]] | None = None
    for key, suggestion in _candidates(found):
        if time.monotonic() > end:
            break
        pod = next((each for each in waiting if each.key == key), None)
        if pod is None or suggestion.then != "fits":
            continue
        freed = _freed(copy, waiting, pod, suggestion, end) - by_itself
        if freed and (best is None or len(freed) > best[0]):
            best = len(freed), suggestion, [each.key for each in waiting if each.key in freed]
    if best is None:
        return None
    frees, suggestion, keys = best
    return {"suggestion": suggestion.document(), "frees": frees, "pods": keys[:_NAMED]}


def _candidates(found: Mapping[str, Sequence[Suggestion]]) -> Iterator[tuple[str, Suggestion]]:
    """The best of every group first, each change once."""
    told: set[bytes] = set()
    for place in range(_OF_EACH_GROUP):
        for key, suggestions in found.items():
            if place < len(suggestions):
                change = encode(suggestions[place].document()["change"])
                if change not in told:
                    told.add(change)
                    yield key, suggestions[place]


def _waiting(copy: Copy) -> list[Pod]:
    """In the order in which they would be tried."""
    services = copy.services
    pods = [
        pod
        for pod in services.door.pods()
        if not pod.spec.node_name
        and not pod.deleting
        and pod.spec.scheduler_name in copy.profiles
        and services.state.placement(pod.uid) is None
    ]
    return sorted(pods, key=lambda pod: (-pod.priority, pod.metadata.creation_timestamp or "", pod.key))


def _freed(copy: Copy, waiting: list[Pod], pod: Pod, suggestion: Suggestion, end: float) -> set[str]:
    from moorage.insight.advice.drafts import address_of
    from moorage.insight.advice.steps import Patch, PatchError, patched
    from moorage.insight.advice.trials import World

    profile = copy.profiles[pod.spec.scheduler_name]
    world = World(copy.services, profile, pod)
    if GangTries(profile).gang_of(pod) is not None:
        # The change is one of all its members, as it stands.
        with world.changed(suggestion.change):
            door = copy.services.door
            return _placed(copy, [door.find(each) or each for each in waiting], end)
    own: list[Patch] = []
    others: list[Step] = []
    for step in suggestion.change:
        if isinstance(step, Patch) and step.address == address_of(pod):
            own.append(step)
        else:
            others.append(step)
    if own:
        # What is changed in a template is changed for all pods that are made of it.
        operations = [each for step in own for each in step.operations]
        owner = _owner(pod)
        changed: list[Pod] = []
        for each in waiting:
            if each is pod or (owner is not None and _owner(each) == owner):
                try:
                    each = from_document(Pod, patched(each.raw, operations))
                except (PatchError, ValueError):
                    continue
            changed.append(each)
        waiting = changed
    with world.changed(others):
        return _placed(copy, waiting, end)


def _owner(pod: Pod) -> OwnerReference | None:
    return next((each for each in pod.metadata.owner_references if each.controller), None)


def _gang_placed(tries: GangTries, gang: Gang, undoing: ExitStack) -> set[str]:
    """The keys of the members that get a node; none if they are too few."""
    with ExitStack() as kept:
        attempt, trial = kept.enter_context(tries.placed(gang))
        if not tries.told(attempt, trial).fits:
            return set()
        undoing.push(kept.pop_all())
    return {each.queued.pod.key for each in trial.placed}


def _placed(copy: Copy, waiting: Iterable[Pod], end: float) -> set[str]:
    """The keys of the pods that get a node, each after those before it; the state is as before at the end."""
    state = copy.services.state
    chooser = NodeChooser(find_all=True, preempts=False)
    hopeless: set[Any] = set()
    placed: set[str] = set()
    tried: set[str] = set()
    tries = {name: GangTries(profile) for name, profile in copy.profiles.items()}
    with ExitStack() as undoing:
        for pod in waiting:
            if time.monotonic() > end:
                break
            profile = copy.profiles[pod.spec.scheduler_name]
            gang = tries[profile.name].gang_of(pod)
            if gang is not None:
                if gang.key not in tried:
                    tried.add(gang.key)
                    placed |= _gang_placed(tries[profile.name], gang, undoing)
                continue
            if pod.key in placed or (profile.gangs is not None and profile.gangs.missing_gang(pod)):
                continue
            kind = likeness(pod) if profile.treats_like_pods_alike else None
            if kind is not None and (profile.name, kind) in hopeless:
                continue
            if first_objection(profile, pod) is not None:
                continue
            decision = chooser.decide(profile, pod)
            if decision.failure is not None:
                # Those that come only take room.
                if kind is not None:
                    hopeless.add((profile.name, kind))
                continue
            state.assume(pod, decision.node_name)
            undoing.callback(state.remove_pod, pod.uid)
            placed.add(pod.key)
    return placed
