"""Failures that need not be found out again."""

from __future__ import annotations

from typing import NamedTuple

from moorage.api.likeness import likeness
from moorage.api.pods import Pod
from moorage.api.selectors import ASKED_KEYS
from moorage.framework.diagnosis import Failure
from moorage.framework.handle import Services
from moorage.framework.runtime.profile import Profile
from moorage.scheduler.cycle import Decision
from moorage.scheduler.journal import Entry


class KnownFailure(NamedTuple):
    failure: Failure
    looked_at: int
    """How many nodes the search went over; the next one starts behind them."""
    entry: Entry = None
    """What the journal knows it by."""


class KnownFailures:
    """Why pods got no node, kept while the cluster stays as it is.

    Thousands of pods that do not fit are tried again whenever something changes that might help. Those that
    are alike fail alike until the next change, so one of them is tried for all; the others get the same
    answer, with everything that follows from a failed attempt. This holds where all plugins that take part
    promise it (`treats_like_pods_alike`), and for rejections after which nobody has to make room.
    """

    def __init__(self, services: Services) -> None:
        self._state = services.state
        self._nominations = services.nominations
        self._shortcuts = services.shortcuts
        self._moment = (-1, -1, -1)
        self._known: dict[tuple[str, bytes], KnownFailure] = {}

    @property
    def moment(self) -> tuple[int, int, int]:
        """Changes with the cluster, and with what tells pods apart."""
        return (self._state.version, self._nominations.version, len(ASKED_KEYS))

    def find(self, pod: Pod) -> KnownFailure | None:
        """How a pod like this one failed, if the cluster is as it was then."""
        kind = self.hopeless(pod)
        return None if kind is None else self._known[kind]

    def hopeless(self, pod: Pod) -> tuple[str, bytes] | None:
        """If an attempt would fail as a known one did: what its pod has in common with this one."""
        moment = self.moment
        if moment != self._moment:
            self._moment = moment
            self._known.clear()
        if not self._known or self._nominations.node_of(pod.uid):
            return None
        like = likeness(pod)
        kind = None if like is None else (pod.spec.scheduler_name, like)
        return kind if kind in self._known else None

    def note(self, profile: Profile, pod: Pod, decision: Decision) -> None:
        """Remembers how an attempt failed, after `find` did not know."""
        failure = decision.failure
        if not self._shortcuts or decision.pre_filtered is None or failure is None:
            return
        if not failure.is_rejection or failure.nominated_node:
            return
        if not profile.treats_like_pods_alike or self._nominations.node_of(pod.uid):
            return
        like = likeness(pod)
        if like is not None:
            self._known[profile.name, like] = KnownFailure(failure, decision.looked_at, decision.entry)
