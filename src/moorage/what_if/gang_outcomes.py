"""What became of gangs in a run: how many are whole, and whether one is there in part."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from moorage.framework.gangs import Gang, GangPlugin
from moorage.scheduler.scheduler import Scheduler


class GangOutcomes(NamedTuple):
    """The keys of gangs, by what became of them."""

    whole: list[str]
    """With a node for as many members as they need."""
    waiting: list[str]
    """With none."""
    partial: list[str]
    """With some, but not enough: members that went away, or were bound by others."""

    def document(self) -> dict[str, int]:
        return {name: len(keys) for name, keys in self._asdict().items()}


def gang_outcomes(scheduler: Scheduler) -> GangOutcomes | None:
    """None if no plugin knows of gangs."""
    plugins = {name: each.gangs for name, each in scheduler.profiles.items() if each.gangs is not None}
    if not plugins:
        return None
    found: dict[str, tuple[GangPlugin, Gang]] = {}
    for pod in scheduler.door.pods():
        plugin = plugins.get(pod.spec.scheduler_name)
        gang = None if plugin is None else plugin.gang_of(pod)
        if plugin is not None and gang is not None:
            found.setdefault(gang.key, (plugin, gang))
    return _sorted_out(scheduler, found.values())


def _sorted_out(scheduler: Scheduler, gangs: Iterable[tuple[GangPlugin, Gang]]) -> GangOutcomes:
    outcomes = GangOutcomes([], [], [])
    for plugin, gang in gangs:
        placed = sum(scheduler.state.placement(pod.uid) is not None for pod in plugin.members_of(gang))
        if placed >= gang.minimum:
            outcomes.whole.append(gang.key)
        else:
            (outcomes.partial if placed else outcomes.waiting).append(gang.key)
    return outcomes
