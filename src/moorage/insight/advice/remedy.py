"""A single change that might help."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, TypeVar

from moorage.api.decoding import DecodeError
from moorage.api.pods import Pod
from moorage.framework.handle import Services
from moorage.insight.advice.drafts import Draft
from moorage.insight.advice.obstacles import Obstacles
from moorage.insight.advice.steps import PatchError
from moorage.insight.advice.trials import World
from moorage.state.cluster import ClusterState

T = TypeVar("T")

_NAMED = 3


class Remedy(NamedTuple):
    """What could be changed, in words and as an edit of documents."""

    kind: str
    """Which of several of a kind help on the same nodes, the first is enough."""
    text: str
    """A clause after "It would fit if: "."""
    cost: float
    """How much is given up; the smallest change comes first."""
    edit: Callable[[Draft], None]
    names_node: bool = False
    """Whether the text names the node already."""
    fixes: frozenset[str] = frozenset()
    """The plugins that would object no longer, on the node it was found for."""
    preempts: bool = False
    """Whether it may be preemption that helps then."""


class Sight:
    """What remedies are found from: the state, the pod and what stands in its way.

    `base` are remedies that are taken already: `obstacles` are those that are left then.
    """

    def __init__(self, world: World, obstacles: Obstacles, base: tuple[Remedy, ...] = ()) -> None:
        self.world = world
        self.obstacles = obstacles
        self.base = base
        self._kept: dict[Callable[[Sight], Any], Any] = {}

    def kept(self, find: Callable[[Sight], T]) -> T:
        """What `find` finds out, once for all nodes."""
        if find not in self._kept:
            self._kept[find] = find(self)
        found: T = self._kept[find]
        return found

    @property
    def pod(self) -> Pod:
        return self.obstacles.pod

    @property
    def services(self) -> Services:
        return self.world.services

    @property
    def state(self) -> ClusterState:
        return self.world.services.state

    def draft(self, *more: Remedy) -> Draft:
        """The remedies that are taken, and more."""
        draft = Draft()
        for remedy in (*self.base, *more):
            remedy.edit(draft)
        return draft

    def after(self, remedy: Remedy) -> Obstacles | None:
        """What would stand in the way after a further remedy; None if it cannot be carried out."""
        self.world.trials += 1
        try:
            with self.world.changed(self.draft(remedy).steps()) as pod:
                return Obstacles(self.world.profile, pod)
        except (DecodeError, PatchError):
            return None


def listed(names: Iterable[str], most: int = _NAMED) -> str:
    """Some names, and how many more there are."""
    given = list(names)
    if len(given) <= most + 1:
        return ", ".join(given)
    return f"{', '.join(given[:most])} and {len(given) - most} more"


def joined(clauses: Iterable[str]) -> str:
    """Clauses that must all hold, as one."""
    given = list(clauses)
    return given[0] if len(given) == 1 else f"{', '.join(given[:-1])} and {given[-1]}"
