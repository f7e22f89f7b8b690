"""Pods while they are replayed, and who is told of them."""

from __future__ import annotations

from typing import Protocol

from moorage.api.pods import Pod
from moorage.what_if.replay.lives import belongs_to_node


class PodInReplay:
    """A pod that came and has not ended."""

    __slots__ = ("came", "came_again", "end", "identity", "is_foreign", "is_of_node", "pod", "run")

    def __init__(self, identity: str, pod: Pod, came: float, run: float | None, end: float | None) -> None:
        self.identity = identity
        self.pod = pod
        """As it was when it came; what it is now, the client knows."""
        self.came = came
        self.run = run
        """Seconds that it runs from its bind on; None if it runs on."""
        self.end = end
        """When it goes, whether it has a node or not; None if that is not known yet."""
        self.came_again = 0
        """How often it had to go and was made again."""
        self.is_of_node = belongs_to_node(pod)
        self.is_foreign = False
        """Whether it is for another scheduler, and gets the node that it got in the trace."""


class Watcher(Protocol):
    """Told of pods: what is measured begins here."""

    def pod_came(self, pod: PodInReplay) -> None:
        """It waits for a node."""

    def pod_bound(self, pod: PodInReplay, now: float, node_name: str) -> None: ...

    def pod_left(self, pod: PodInReplay, node_name: str) -> None:
        """It ended, or had to go; `node_name` is empty if it had none."""

    def pod_preempted(self, pod: PodInReplay) -> None: ...
