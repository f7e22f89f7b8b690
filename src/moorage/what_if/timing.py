"""Whether a choice that looks wrong was right when it was made.

What is seen of another scheduler is a bind, and that comes later than the decision. Meanwhile things changed
that it could not know of; and pods that it placed before, and counted, may be bound later. So the choice is
judged again in states that it may have been made in: a little earlier, a little later, and with the pods of
those moments decided on in the order in which they came. Whatever is tried is taken back.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from msgspec.structs import replace

from moorage.api.devices import ResourceClaim
from moorage.api.meta import Object
from moorage.api.pods import Pod
from moorage.api.storage import PersistentVolumeClaim
from moorage.state.cluster import Placement
from moorage.what_if.agreement import Agreement, Verdict
from moorage.what_if.recent import Past, RememberingDoor

BACK_SECONDS = 10.0
"""A decision is at most that old when it is seen; and never older than its pod."""
MOST_TRIES = 100
MOST_SINGLES = 16
NOT_SEARCHED = "too many at once to look at the moment of each"


@dataclass(frozen=True)
class Case:
    """A choice that looks wrong."""

    pod: Pod
    """As it was before."""
    verdict: Verdict
    number: int
    """Of the change that showed the choice."""
    time: float


@dataclass
class Timing:
    """Looks for a moment in which a choice was right."""

    agreement: Agreement
    door: RememberingDoor
    most_tries: int = MOST_TRIES
    most_seconds: float = math.inf
    """For one choice."""
    _left: int = field(default=0, init=False)
    _until: float = field(default=0.0, init=False)

    def explained(self, case: Case) -> Verdict:
        """The verdict: `timing` if there was such a moment, `agreed` if it is the one to expect."""
        [(_, verdict)] = self.all_explained([case])
        return verdict

    def all_explained(self, cases: Sequence[Case], most_searches: int = 1) -> list[tuple[Case, Verdict]]:
        """The same of several, in the order of their numbers; only some are looked into at length."""
        door = self.door
        found: list[tuple[Case, Verdict]] = []
        undone = door.since(cases[0].number)
        with door.undone(undone[::-1]) as again:
            for case in cases:
                again(case.number)
                if case.number < door.oldest:
                    found.append((case, _noted(case, "too long ago to look at its moment")))
                    continue
                verdict, searched = self._explained(case, search=most_searches > 0)
                most_searches -= searched
                found.append((case, verdict))
        return found

    def _explained(self, case: Case, *, search: bool) -> tuple[Verdict, bool]:
        """The verdict, and whether it took a search."""
        door = self.door
        begin = max(door.arrival(case.pod).time, case.time - BACK_SECONDS)
        own = {case.pod.key}
        before = [past for past in door.before(case.number, begin) if not _is_pod_of(past, own)]
        after = [past for past in door.since(case.number) if not _is_pod_of(past, own)]
        claims = [past for past in after if past.old is None and _is_claim_of(past.item, case.pod)]
        if not claims:
            return self._explained_by(case, before, after, search)
        # Watches bring them in any order; whoever placed the pod has seen what it claims.
        with self._seen(claims):
            found, searched = self._explained_by(
                case, before, [past for past in after if past not in claims], search, looks_as_seen=True
            )
        if not found.is_exception:
            found = replace(found, words=f"{found.words}, with {_told(claims[0])} after it")
        return found, searched

    @contextmanager
    def _seen(self, changes: Sequence[Past]) -> Iterator[None]:
        """With changes that came later, each the first of its object."""
        for past in changes:
            self.door.redo(past)
        try:
            yield
        finally:
            for past in reversed(changes):
                self.door.undo(past)

    def _explained_by(
        self,
        case: Case,
        before: list[Past],
        after: list[Past],
        search: bool,
        looks_as_seen: bool = False,
    ) -> tuple[Verdict, bool]:
        self._left, self._until = self.most_tries, time.perf_counter() + self.most_seconds
        if looks_as_seen:
            verdict = self._judged(case)
            if not verdict.is_exception:
                return verdict, False
        orders = [
            self._out_of_order(case, before, after, turn) for turn in (self._by_priority, self._by_arrival)
        ]
        for early, late in orders:
            if early or late:
                # So the state was for a scheduler that takes pods in the order of its queue.
                with self._moved(early, late):
                    verdict = self._judged(case)
                if not verdict.is_exception:
                    return replace(verdict, words=f"{verdict.words}, {_moved_words(early, late)}"), False
        if not search:
            return _noted(case, NOT_SEARCHED), False
        words = self._earlier(case, before)
        for early, late in orders:
            if not words and (early or late):
                chosen = {past.item.key for past in (*before, *late) if past.choice}
                others = [past for past in before if not _is_pod_of(past, chosen)]
                with self._moved(early, late):
                    words = self._earlier(case, others)
        if not words:
            # However much there was before, what it needs may come next, such as its claim.
            self._left = max(self._left, self.most_tries // 4)
            self._until = max(self._until, time.perf_counter() + self.most_seconds / 4)
            words = self._later(case, after) or self._but_for_one(case, before, after)
        if not words:
            return case.verdict, True
        return replace(
            case.verdict, kind="timing", words=f"{words}; when it was seen: {case.verdict.words}"
        ), True

    def _judged(self, case: Case) -> Verdict:
        self._left -= 1
        return self.agreement.judge(case.pod, case.verdict.node)

    @property
    def _is_over(self) -> bool:
        return self._left <= 0 or time.perf_counter() > self._until

    def _agrees(self, case: Case) -> bool:
        return not self._judged(case).is_exception

    # The order in which pods came

    def _out_of_order(
        self, case: Case, before: list[Past], after: list[Past], turn: Callable[[Pod], tuple[int, ...]]
    ) -> tuple[list[Past], list[Past]]:
        """Pods that were bound before this one and had their turn after it, and the other way round."""
        own = turn(case.pod)
        early = [past for past in before if self._is_choice(past) and turn(_pod(past)) > own]
        late = [
            past
            for past in after
            if self._is_choice(past)
            and turn(_pod(past)) < own
            and self.door.arrival(_pod(past)).number < case.number
        ]
        return early, late

    def _by_priority(self, pod: Pod) -> tuple[int, ...]:
        """When pods have their turn that wait together."""
        return -pod.priority, self.door.arrival(pod).number

    def _by_arrival(self, pod: Pod) -> tuple[int, ...]:
        """When pods have their turn that are taken as they come."""
        return (self.door.arrival(pod).number,)

    def _is_choice(self, past: Past) -> bool:
        return bool(past.choice) and self.agreement.judges(_pod(past))

    @contextmanager
    def _moved(self, early: Iterable[Past], late: Iterable[Past]) -> Iterator[None]:
        """Without some pods that have nodes, and with some that are about to get them."""
        state = self.door.state
        away: list[Placement] = []
        added: list[str] = []
        try:
            for past in early:
                placement = state.take_away(past.item.uid)
                if placement is not None:
                    away.append(placement)
            for past in late:
                if state.pod(past.item.uid) is None:
                    state.assume(_pod(past), past.choice)
                    added.append(past.item.uid)
            yield
        finally:
            for uid in added:
                state.remove_pod(uid)
            for placement in reversed(away):
                state.put_back(placement)

    # Earlier and later

    def _earlier(self, case: Case, before: list[Past]) -> str:
        """As it was before the last changes."""
        done: list[Past] = []
        try:
            for past in before:
                if self._is_over:
                    break
                self.door.undo(past)
                done.append(past)
                if past.matters and self._agrees(case):
                    return f"{case.verdict.node} was best before {_told(past)} {_ago(case.time - past.time)}"
            return ""
        finally:
            while done:
                self.door.redo(done.pop())

    def _later(self, case: Case, after: list[Past]) -> str:
        """With what came right after it, and the other one may have known."""
        done: list[Past] = []
        try:
            for past in after:
                if self._is_over:
                    break
                self.door.redo(past)
                done.append(past)
                if past.matters and self._agrees(case):
                    later = _ago(past.time - case.time, "later")
                    return f"{case.verdict.node} is best once {_told(past)} {later}"
            return ""
        finally:
            while done:
                self.door.undo(done.pop())

    def _but_for_one(self, case: Case, before: list[Past], after: list[Past]) -> str:
        """Without one of the pods that were bound just before, or with one that was bound just after."""
        binds = [past for past in before if self._is_choice(past)][1 : MOST_SINGLES + 1]
        for past in binds:
            with self._moved([past], []):
                if not self._is_over and self._agrees(case):
                    return f"{case.verdict.node} was best without {_told(past)} {_ago(case.time - past.time)}"
        for past in [past for past in after if self._is_choice(past)][1 : MOST_SINGLES + 1]:
            with self._moved([], [past]):
                if not self._is_over and self._agrees(case):
                    later = _ago(past.time - case.time, "later")
                    return f"{case.verdict.node} is best with {_told(past)} {later}"
        return ""


def _noted(case: Case, note: str) -> Verdict:
    return replace(case.verdict, words=f"{case.verdict.words} ({note})")


def _is_claim_of(item: Object, pod: Pod) -> bool:
    """Whether an object is a claim that the pod names, or that was made for it."""
    if not isinstance(item, PersistentVolumeClaim | ResourceClaim) or item.namespace != pod.namespace:
        return False
    if any(owner.uid == pod.uid for owner in item.metadata.owner_references):
        return True
    if isinstance(item, PersistentVolumeClaim):
        return any(volume.claim_name(pod.name) == item.name for volume in pod.spec.volumes)
    return any(claim.resource_claim_name == item.name for claim in pod.spec.resource_claims)


def _is_pod_of(past: Past, keys: Collection[str]) -> bool:
    return isinstance(past.item, Pod) and past.item.key in keys


def _pod(past: Past) -> Pod:
    item = past.item
    assert isinstance(item, Pod)
    return item


def _told(past: Past) -> str:
    item = past.item
    what = f"{item.kind.lower()} {item.key}"
    if past.choice:
        return f"pod {item.key} was {'bound' if past.is_bind else 'about to be bound'} to {past.choice}"
    if past.old is None:
        return f"{what} came"
    return f"{what} {'went' if past.new is None else 'changed'}"


def _ago(seconds: float, when: str = "earlier") -> str:
    return f"{seconds * 1000:.0f} ms {when}" if seconds < 1 else f"{seconds:.1f} s {when}"


def _moved_words(early: list[Past], late: list[Past]) -> str:
    parts = []
    if early:
        parts.append(f"without {_some(early)}, which came after it and {_were(early)} bound before")
    if late:
        parts.append(f"with {_some(late)}, which came before it and {_were(late)} bound after")
    return " and ".join(parts)


def _some(changes: list[Past]) -> str:
    more = f" and {len(changes) - 1} more" if len(changes) > 1 else ""
    return f"pod {changes[0].item.key}{more}"


def _were(changes: list[Past]) -> str:
    return "were" if len(changes) > 1 else "was"
