"""Advice for a gang: every change is tried with all its members, and counts only if enough of them fit."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from moorage.api.meta import OwnerReference
from moorage.api.pods import Pod
from moorage.framework.gangs import Gang
from moorage.insight.advice.drafts import address_of
from moorage.insight.advice.steps import Patch, PatchError, Step, patched
from moorage.insight.advice.trials import FITS, PREEMPTS, Outcome, World
from moorage.scheduler.gangs.trials import GangAttempt, Trial
from moorage.what_if.gangs import GangTries


@contextmanager
def gang_world(tries: GangTries, gang: Gang, *, seconds: float, most: int) -> Iterator[GangWorld | None]:
    """The state with those members on nodes that got some; None if no change here could help the others.

    So it is for a gang that fits, and for one of which too few members can be tried.
    """
    with tries.placed(gang) as (attempt, trial):
        is_enough = len(attempt.members) >= attempt.missing
        if tries.told(attempt, trial).fits or not is_enough or not trial.failed:
            yield None
        else:
            yield GangWorld(tries, attempt, trial, seconds=seconds, most=most)


class GangWorld(World):
    """Looks from the first member that got no node, after all others that did."""

    def __init__(
        self, tries: GangTries, attempt: GangAttempt, trial: Trial, *, seconds: float, most: int
    ) -> None:
        profile, pod = attempt.profile, trial.failed[0][0].pod
        super().__init__(profile.services, profile, pod, seconds=seconds, most=most)
        self.to_place = attempt.missing
        """So many members have to get a node."""
        self.missing = attempt.missing - len(trial.placed)
        """So many of them got none."""
        self._tries = tries
        self._trial = trial
        waiting = [queued.pod for queued in attempt.members]
        self._alike = [pod for pod in waiting if pod is not self.pod and _is_alike(pod, self.pod)]

    def completed(self, steps: list[Step]) -> list[Step]:
        """What is changed in one member is changed in all that are made like it."""
        address = address_of(self.pod)
        own = next((each for each in steps if isinstance(each, Patch) and each.address == address), None)
        if own is None:
            return steps
        touched = {step.address for step in steps}
        others = [pod for pod in self._alike if address_of(pod) not in touched and _can_be_patched(pod, own)]
        return [*steps, *(Patch(address_of(pod), own.operations) for pod in others)]

    def for_whom(self, steps: list[Step]) -> str:
        changed = sum(isinstance(step, Patch) and step.address.kind == Pod.kind for step in steps)
        return f", for each of {changed} members" if changed > 1 else ""

    @contextmanager
    def lifted(self) -> Iterator[None]:
        """The state without any of the members that were tried."""
        with self._tries.lifted(self._trial):
            yield

    def outcome(self, steps: list[Step], *, preempts: bool = False) -> Outcome | None:
        with self.lifted():
            return super().outcome(steps, preempts=preempts)

    def _judged(self, pod: Pod, preempts: bool) -> Outcome | None:
        gang = self._tries.gang_of(pod)
        if gang is None:
            return None
        tried = self._tries.tried(gang, preempts=preempts, in_haste=True)
        if tried.fits:
            return Outcome(FITS, sorted(set(tried.nodes.values())), [], is_of_gang=True)
        if not tried.room_on:
            return None
        return Outcome(PREEMPTS, list(tried.room_on), list(tried.victims), is_of_gang=True)


def _can_be_patched(pod: Pod, patch: Patch) -> bool:
    try:
        patched(pod.raw, patch.operations)
    except PatchError:
        return False
    return True


def _is_alike(pod: Pod, other: Pod) -> bool:
    """Whether two pods have one template, or might have."""
    owner = _controller(pod)
    if owner is not None and owner == _controller(other):
        return True
    return bool(pod.raw.get("spec") == other.raw.get("spec"))


def _controller(pod: Pod) -> OwnerReference | None:
    return next((owner for owner in pod.metadata.owner_references if owner.controller), None)
