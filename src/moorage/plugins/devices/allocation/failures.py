"""Why an allocation on a node came to nothing, other than for want of devices."""

from __future__ import annotations


class Failure(Exception):
    """Base of the failures of an allocation."""


class AllocationFailed(Failure):
    """Something is wrong that is not about one node: the attempt to schedule the pod ends with this text."""


class InvalidPools(Failure):
    """There is no solution on the node, and a pool of it cannot be used as it was published."""

    def __init__(self) -> None:
        super().__init__("invalid resource pools were encountered")


class TimedOut(Failure):
    """The time for one node was over before the search was."""
