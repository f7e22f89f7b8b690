"""What the scheduler tells those who write its decisions down."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from moorage.framework.diagnosis import Failure
from moorage.framework.queued_pod import QueuedPod
from moorage.framework.runtime.profile import Profile
from moorage.framework.status import Status

if TYPE_CHECKING:
    from moorage.scheduler.cycle import Decision

Entry: TypeAlias = Any
"""What a journal knows a decision by, None if it failed to write that down; the scheduler only carries it."""


class Journal(Protocol):
    """Told of every attempt, within the cycle: what it looks at later may have changed."""

    def decided(self, profile: Profile, queued: QueuedPod, decision: Decision, seconds: float) -> Entry:
        """A node was found, or found to be missing, `seconds` after the attempt began."""

    def decided_alike(self, profile: Profile, queued: QueuedPod, entry: Entry, seconds: float) -> None:
        """A pod has no node for the same reasons as that of an earlier entry; nothing was tried for it."""

    def failed(self, profile: Profile, queued: QueuedPod, failure: Failure) -> None:
        """The attempt broke off before anything was decided."""

    def bound(self, entry: Entry) -> None:
        """The pod has its node."""

    def refused(self, entry: Entry, status: Status) -> None:
        """A node was chosen, and then the pod could not have it; the status says who refused, and why."""

    def withdrawn(self, entry: Entry, why: str) -> None:
        """A node was chosen for a member of a gang, and given back, as too few of the gang fit."""


class NoJournal:
    """Writes nothing down."""

    def decided(self, profile: Profile, queued: QueuedPod, decision: Decision, seconds: float) -> Entry:
        return None

    def decided_alike(self, profile: Profile, queued: QueuedPod, entry: Entry, seconds: float) -> None:
        pass

    def failed(self, profile: Profile, queued: QueuedPod, failure: Failure) -> None:
        pass

    def bound(self, entry: Entry) -> None:
        pass

    def refused(self, entry: Entry, status: Status) -> None:
        pass

    def withdrawn(self, entry: Entry, why: str) -> None:
        pass
