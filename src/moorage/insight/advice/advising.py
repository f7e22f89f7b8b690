"""Advice for a pod that does not fit: few, well-chosen changes are tried, the smallest first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from moorage.api.decoding import DecodeError
from moorage.api.pods import Pod
from moorage.framework.gangs import Gang
from moorage.framework.handle import Services
from moorage.framework.runtime.profile import Profile
from moorage.insight.advice.finding import combinations_on_nodes, giving_up, of_nodes, of_pod
from moorage.insight.advice.gang_worlds import GangWorld, gang_world
from moorage.insight.advice.obstacles import Obstacles
from moorage.insight.advice.owners import template_of
from moorage.insight.advice.remedies import gangs, new_nodes, priority, room
from moorage.insight.advice.remedy import Remedy, Sight, joined, listed
from moorage.insight.advice.steps import PatchError
from moorage.insight.advice.suggestions import Suggestion
from moorage.insight.advice.trials import PREEMPTS, Outcome, World
from moorage.what_if.gangs import GangTries

_MOST = 10
_MOST_TRIALS = 150
_MOST_OF_A_KIND = 2
_ONE_IS_ENOUGH = ("node", "priority", "node affinity")
_MOST_FAILURES_OF_A_KIND = 9
_MOST_STEPS = 3
_MOST_COMBINATIONS = 3
_SECONDS_FOR_GANGS = 5.0
"""Unless it is said otherwise: each trial is one for every member."""
_LAST_RESORT = 52
"""Changes that cost as much are others' loss, or great."""


def advise(
    services: Services, profile: Profile, pod: Pod, *, seconds: float | None = None
) -> list[Suggestion]:
    """What would make a pod fit that does not, best first; every suggestion was tried on this state.

    The state is as before when this returns. After so many `seconds` no further change is tried. For a member
    of a gang, a suggestion is what would make the whole gang fit.
    """
    if profile.gangs is not None:
        if profile.gangs.missing_gang(pod):
            return []
        tries = GangTries(profile)
        gang = tries.gang_of(pod)
        if gang is not None:
            return _advise_gang(tries, profile, gang, _SECONDS_FOR_GANGS if seconds is None else seconds)
    world = World(services, profile, pod, seconds=seconds, most=_MOST_TRIALS)
    obstacles = Obstacles(profile, pod)
    if obstacles.fits:
        return []
    return _Search(world).run(Sight(world, obstacles))


def _advise_gang(tries: GangTries, profile: Profile, gang: Gang, seconds: float) -> list[Suggestion]:
    with gang_world(tries, gang, seconds=seconds, most=_MOST_TRIALS) as world:
        if world is None:
            return []
        return _Search(world).run(Sight(world, Obstacles(profile, world.pod)))


class _Search:
    def __init__(self, world: World) -> None:
        self._world = world
        self._found: list[tuple[int, float, int, Suggestion]] = []
        self._covered: dict[tuple[str, ...], list[set[str]]] = {}
        self._failures: Counter[tuple[str, ...]] = Counter()

    def run(self, sight: Sight) -> list[Suggestion]:
        self._explore(sight)
        ordered = sorted(self._found, key=lambda each: each[:3])
        return [suggestion for *_, suggestion in ordered[:_MOST]]

    def _explore(self, sight: Sight) -> None:
        """Single changes; where none helps but others' sacrifice, several together."""
        before = len(self._found)
        for_pod = sorted(of_pod(sight), key=lambda remedy: remedy.cost)
        singles = sorted([*for_pod, *of_nodes(sight)], key=lambda remedy: remedy.cost)
        self._try_all(sight, singles)
        if isinstance(self._world, GangWorld):
            self._try_all(sight, gangs.lower_requests(sight, self._world))
        self._try_all(sight, room.remedies(sight))
        self._try_all(sight, new_nodes.remedies_of_pod(sight))
        if isinstance(self._world, GangWorld) and not self._covered.get(("node",)):
            self._try_all(sight, gangs.more_nodes(sight, self._world))
        self._try_all(sight, priority.remedies_of_pod(sight))
        if self._has_more_than_last_resorts(before) or len(sight.base) >= _MOST_STEPS - 1:
            return
        self._try_combinations(sight, others_may_leave=len(self._found) == before)
        if len(self._found) > before:
            return
        self._try_all(sight, giving_up(sight))
        if len(self._found) == before:
            self._try_combinations(sight, others_may_leave=True, to_nothing=True)
        if len(self._found) == before:
            self._go_on(sight, for_pod)

    def _has_more_than_last_resorts(self, before: int) -> bool:
        return any(cost < _LAST_RESORT for _, cost, _, _ in self._found[before:])

    def _try_combinations(self, sight: Sight, *, others_may_leave: bool, to_nothing: bool = False) -> None:
        if not sight.obstacles.by_plugin:
            return
        most, before = _MOST_STEPS - len(sight.base), len(self._found)
        for remedies in combinations_on_nodes(
            sight, most, others_may_leave=others_may_leave, to_nothing=to_nothing
        ):
            if self._world.is_over or len(self._found) - before == _MOST_COMBINATIONS:
                return
            self._try(sight, remedies)

    def _go_on(self, sight: Sight, taken: Iterable[Remedy]) -> None:
        """What rejected the pod as a whole is out of the way: what is left then?"""
        gone_on = 0
        for remedy in taken:
            if self._world.is_over or gone_on == 2:
                return
            obstacles = sight.after(remedy)
            if obstacles is None or obstacles.fits or not _has_come_further(sight.obstacles, obstacles):
                continue
            gone_on += 1
            self._explore(Sight(self._world, obstacles, (*sight.base, remedy)))

    def _try_all(self, sight: Sight, remedies: Iterable[Remedy]) -> None:
        for remedy in remedies:
            if self._world.is_over:
                return
            self._try(sight, (remedy,))

    def _try(self, sight: Sight, remedies: tuple[Remedy, ...]) -> None:
        """Tries remedies together, unless enough of their kind were tried or have helped."""
        together = (*sight.base, *remedies)
        kinds = tuple(sorted(remedy.kind for remedy in together))
        covered = self._covered.setdefault(kinds, [])
        most = 1 if any(kind in _ONE_IS_ENOUGH for kind in kinds) else _MOST_OF_A_KIND
        if len(covered) >= most or self._failures[kinds] >= _MOST_FAILURES_OF_A_KIND:
            return
        draft = sight.draft(*remedies)
        steps = self._world.completed(draft.steps())
        try:
            outcome = self._world.outcome(steps, preempts=any(remedy.preempts for remedy in together))
        except (DecodeError, PatchError):
            outcome = None
        if outcome is None or any(covers >= set(outcome.nodes) for covers in covered):
            self._failures[kinds] += 1
            return
        covered.append(set(outcome.nodes))
        where = template_of(self._world.services, self._world.pod) if draft.touches(self._world.pod) else None
        text = _text(together, outcome, self._world.for_whom(steps))
        suggestion = Suggestion(text, outcome.then, outcome.nodes, steps, where)
        cost = sum(remedy.cost for remedy in together)
        self._found.append((len(together), cost, len(self._found), suggestion))


def _has_come_further(before: Obstacles, after: Obstacles) -> bool:
    if before.gate is not None:
        return after.gate is None
    if after.gate is not None or after.rejection is not None:
        return after.gate is None and after.rejection != before.rejection
    return before.rejection is not None or after.statuses != before.statuses


def _text(remedies: tuple[Remedy, ...], outcome: Outcome, for_whom: str) -> str:
    clauses = [remedy.text for remedy in remedies]
    several = len(clauses) > 1 and any(" and " in clause for clause in clauses)
    text = ", and ".join(clauses) if several else joined(clauses)
    text += for_whom
    if outcome.then == PREEMPTS:
        return priority.with_victims(text, outcome)
    if all(remedy.names_node for remedy in remedies):
        return text
    return f"{text} ({listed(outcome.nodes)})"
