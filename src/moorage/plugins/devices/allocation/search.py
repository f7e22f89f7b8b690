"""The search for devices: depth first, in a fixed order, the first complete solution.

kube-scheduler tries everything and leaves out nothing, up to its time limit. Here the answer is the one
that it would come to with all the time in the world: the first solution in its order, or that there is
none, or the first error in its order. So a branch may be left out only if

1. it contains no solution;
2. it would leave everything as it was. Any branch that fails does, as soon as the pick before it is taken
   back, which is what comes next: a `distinctAttribute` alone remembers what was taken back, in that it
   forgets the value of that request. The branch holds picks of the request of the pick before it, which is
   forgotten then in any case, and of later requests, of which nothing was known yet;
3. kube-scheduler would meet no error in it. Errors come from selectors when they are asked about a device
   for the first time, and from requests for all devices that a constraint forbids.

Two kinds of branches are left out:

- Those of a request that needs several more devices, when counting shows that not as many are left. For
  that the selectors are asked about the devices that are left, one after the other, until there are enough.
  This is what kube-scheduler does in the same place: on its first way down the branch it picks one device
  after the other until it has enough or comes to the end of the list, and asks about every free device on
  the way. So the same selectors are asked in the same order, and nothing is left out that could end with an
  error.

- After many steps, those of which :mod:`lookahead` says that the requests that are open cannot all be met.
  Here selectors are left out that kube-scheduler would have asked. So all selectors are asked afterwards:
  if none ends with an error, there was none to meet. If one does, or if the search itself met one after it
  had left something out, it is made once more without looking ahead.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum

from moorage.api.recursion import room_for
from moorage.api.taints import untolerated
from moorage.plugins.devices.allocation.candidates import Candidate
from moorage.plugins.devices.allocation.failures import AllocationFailed, TimedOut
from moorage.plugins.devices.allocation.in_use import DevicesInUse
from moorage.plugins.devices.allocation.lookahead import Lookahead
from moorage.plugins.devices.allocation.pools import NodePools
from moorage.plugins.devices.allocation.requests import MOST_RESULTS, Alternative, Prepared
from moorage.plugins.devices.allocation.selecting import Selectors, is_selected
from moorage.plugins.devices.allocation.tentative import Pick, Tentative

_PATIENCE = 128
"""Steps after which it pays to look ahead; hardly any search has as many."""
_STEPS_PER_LOOK_AT_CLOCK = 16
_MANY = 100
"""Devices, each of which is looked for within the search for the one before."""


class _Outcome(Enum):
    FOUND = 0
    FAILED = 1
    TOO_MANY = 2
    """The claim would have more devices than it can have, whichever they are: only another alternative of a
    request before can help. There is one in the same claim, since the smallest ones together were few enough.
    """


class Search:
    def __init__(
        self,
        prepared: Prepared,
        pools: NodePools,
        in_use: DevicesInUse,
        selectors: Selectors,
        is_late: Callable[[], bool] | None,
    ) -> None:
        self._prepared = prepared
        self._requests = prepared.requests
        self._pools = pools
        self._in_use = in_use
        self._selectors = selectors
        self._is_late = is_late
        self._start(looks_ahead=True)

    def find(self) -> list[list[Pick]] | None:
        """The devices for each claim, or None if there is no solution. Raises AllocationFailed, TimedOut."""
        needed = sum(max(each.needed for each in request.alternatives) for request in self._requests)
        if needed > _MANY:
            with room_for(needed + len(self._requests)):
                outcome = self._find()
        else:
            outcome = self._find()
        return self._tentative.picks if outcome is _Outcome.FOUND else None

    def _find(self) -> _Outcome:
        try:
            outcome = self._request(0)
            failed = self._left_out and self._would_fail()
        except AllocationFailed:
            if not self._left_out:
                raise
            failed = True
        if failed:
            self._start(looks_ahead=False)
            outcome = self._request(0)
        return outcome

    def _start(self, *, looks_ahead: bool) -> None:
        self._tentative = Tentative(self._prepared, self._pools, self._in_use)
        self._lookahead: Lookahead | None = None
        self._patience = _PATIENCE if looks_ahead else None
        self._left_out = False
        self._steps = 0

    def _could_violate(self) -> bool:
        """Whether there may be an error that the lookahead does not know of."""
        return any(
            each.offers is not None and each.constraints
            for request in self._requests
            for each in request.alternatives
        )

    def _request(self, number: int) -> _Outcome:
        """Meets a request and all after it."""
        if number == len(self._requests):
            return _Outcome.FOUND
        request = self._requests[number]
        if not request.is_choice:
            return self._device(number, request.alternatives[0], 0, 0)
        outcome = _Outcome.TOO_MANY
        for alternative in request.alternatives:
            tried = self._device(number, alternative, 0, 0)
            if tried is _Outcome.FOUND:
                return tried
            if tried is _Outcome.FAILED:
                outcome = tried
        return outcome

    def _device(self, number: int, alternative: Alternative, place: int, start: int) -> _Outcome:
        """Picks the device with this place in its request, from `start` on in the list, and all after it."""
        needed = alternative.needed - place
        if not needed:
            if alternative.offers is not None and not place:
                return _Outcome.FAILED  # there has to be one at least
            return self._request(number + 1)
        self._step()
        if len(self._tentative.picks[alternative.claim]) + needed > MOST_RESULTS:
            return _Outcome.TOO_MANY
        if alternative.offers is not None:
            return self._next_of_all(number, alternative, place)
        if needed > 1 and not self._are_enough(alternative, needed, start):
            return _Outcome.FAILED
        if self._is_hopeless(number, alternative, needed, start):
            return _Outcome.FAILED
        candidates = self._pools.candidates
        for index in range(start, len(candidates)):
            candidate = candidates[index]
            if not self._is_offered(alternative, candidate):
                continue
            pick = self._tentative.take(alternative, candidate)
            if pick is None:
                continue
            outcome = self._device(number, alternative, place + 1, index + 1)
            if outcome is _Outcome.FOUND:
                return outcome
            self._tentative.take_back(pick)
            if outcome is _Outcome.TOO_MANY:
                return outcome
            if self._is_hopeless(number, alternative, needed, index + 1):
                return _Outcome.FAILED
        return _Outcome.FAILED

    def _next_of_all(self, number: int, alternative: Alternative, place: int) -> _Outcome:
        """Which devices a request for all has to have is known; so there is one to try in each place."""
        assert alternative.offers is not None
        tentative = self._tentative
        candidate = alternative.offers[place]
        if not tentative.is_free(alternative, candidate):
            return _Outcome.FAILED
        if self._is_hopeless(number, alternative, alternative.needed - place, 0):
            return _Outcome.FAILED
        pick = tentative.take(alternative, candidate)
        if pick is None:
            return _Outcome.FAILED
        outcome = self._device(number, alternative, place + 1, 0)
        if outcome is not _Outcome.FOUND:
            tentative.take_back(pick)
        return outcome

    def _is_offered(self, alternative: Alternative, candidate: Candidate) -> bool:
        """Whether a device is free, asked for, for this node and large enough; raises AllocationFailed."""
        return (
            self._tentative.is_free(alternative, candidate)
            and is_selected(self._selectors, alternative.selection, candidate)
            and (not candidate.per_device or self._pools.reach(candidate))
            and self._tentative.has_room(alternative, candidate)
        )

    def _are_enough(self, alternative: Alternative, needed: int, start: int) -> bool:
        """Whether so many devices are left that could be picked if they did not get in one another's way."""
        tentative, tolerations = self._tentative, alternative.tolerations
        for candidate in self._pools.candidates[start:]:
            if (
                self._is_offered(alternative, candidate)
                and untolerated(candidate.taints, tolerations) is None
                and tentative.matches(alternative, candidate)
            ):
                needed -= 1
                if not needed:
                    return True
        return False

    def _step(self) -> None:
        self._steps += 1
        if self._is_late is not None and self._steps % _STEPS_PER_LOOK_AT_CLOCK == 1 and self._is_late():
            raise TimedOut

    def _is_hopeless(self, number: int, alternative: Alternative, needed: int, start: int) -> bool:
        if self._patience is None or self._steps < self._patience:
            return False
        if self._lookahead is None:
            if self._could_violate():
                self._patience = None
                return False
            self._lookahead = Lookahead(self._requests, self._pools, self._tentative)
        if self._lookahead.is_hopeless(number, alternative, needed, start):
            self._left_out = True
            return True
        self._patience = self._steps + self._lookahead.pause()
        return False

    def _would_fail(self) -> bool:
        """Whether a selector that was not asked would end with an error; nobody asks about devices in use."""
        exclusive = self._in_use.exclusive
        try:
            for request in self._requests:
                for each in request.alternatives:
                    for candidate in self._pools.candidates:
                        if each.admin or candidate.id not in exclusive:
                            is_selected(self._selectors, each.selection, candidate)
                            if candidate.per_device:
                                self._pools.reach(candidate)
        except AllocationFailed:
            return True
        return False
