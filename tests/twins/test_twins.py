"""A scheduler with all shortcuts beside schedulers with none: the same decisions, whatever happens."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moorage.testing.fakes import RecordedEvent
from tests import fake_time
from tests.twins.configurations import PROFILES, configuration, registry
from tests.twins.rebuilt import Compared
from tests.twins.world import HAPPENINGS, Fate, World

REGISTRY = registry()
CONFIGURATIONS = {name: configuration(name) for name in PROFILES}


class Course(NamedTuple):
    """A cluster and what happens to it: data, so that what fails can be made smaller."""

    config: str
    nodes: int
    templates: list[int]
    happened: list[tuple[str, int]]

    def world(self, *, shortcuts: bool) -> World:
        return World(
            CONFIGURATIONS[self.config],
            REGISTRY,
            nodes=self.nodes,
            templates=self.templates,
            shortcuts=shortcuts,
        )


class Moment(NamedTuple):
    """What can be seen from outside after something happened."""

    happened: tuple[str, int]
    next_start: int
    fates: dict[str, Fate]
    events: list[tuple[str, str, str]]


def courses(kind: Kind) -> st.SearchStrategy[Course]:
    numbers, most = st.integers(0, 2**16), kind.most
    return st.builds(
        Course,
        config=st.sampled_from(sorted(PROFILES)),
        nodes=st.integers(*kind.nodes),
        templates=st.just([]) if kind.is_plain else st.lists(numbers, min_size=2, max_size=4),
        happened=st.lists(st.tuples(st.sampled_from(HAPPENINGS), numbers), min_size=most // 4, max_size=most),
    )


def told(event: RecordedEvent) -> tuple[str, str, str]:
    return event.regarding.key, event.reason, event.note


def run(course: Course, world: World, compared: Compared | None = None) -> list[Moment]:
    moments: list[Moment] = []

    async def follow() -> None:
        for happened in course.happened:
            await world.follow(*happened)
            events = list(map(told, world.recorder.events))
            moments.append(Moment(happened, world.scheduler.chooser.start, world.fates(), events))
            world.recorder.events.clear()
            assert compared is None or not compared.wrong, f"after {happened}\n" + "\n".join(compared.wrong)

    fake_time.run(follow())
    return moments


def compare(course: Course) -> Compared:
    """Every decision with that of a scheduler made anew, and the whole course with one without shortcuts."""
    world = course.world(shortcuts=True)
    compared = Compared(world)
    moments = run(course, world, compared)
    expected = run(course, course.world(shortcuts=False))
    for place, (found, wanted) in enumerate(zip(moments, expected, strict=True)):
        said = list(contrasts(found, wanted))
        assert not said, f"after {place}: {found.happened}\n  " + "\n  ".join(said)
    return compared


def contrasts(found: Moment, wanted: Moment) -> Iterator[str]:
    for field, ours, theirs in zip(Moment._fields, found, wanted, strict=True):
        if isinstance(ours, dict) and isinstance(theirs, dict):
            for key in {**ours, **theirs}:
                if ours.get(key) != theirs.get(key):
                    yield f"{field} of {key}:\n    {ours.get(key)}\n    without: {theirs.get(key)}"
        elif ours != theirs:
            yield f"{field}:\n    {ours}\n    without: {theirs}"


class Kind(NamedTuple):
    """Courses of one kind: how many nodes there are, how much happens, and how many are followed."""

    nodes: tuple[int, int]
    most: int
    few: int
    many: int
    bounds: dict[str, int] = {}
    is_plain: bool = False
    """Whether nothing counts of pods but the room that they take."""


FORGETFUL = {
    "moorage.state.kept_rows._CHUNK_BITS": 2,
    "moorage.state.kept_rows._FEW": 3,
    "moorage.state.row_changes._MOST_KEPT": 10,
    "moorage.state.counts._COUNTS": 5,
    "moorage.state.counts._MATCHES": 5,
    "moorage.state.counts._SUMS_OF_A_COUNT": 2,
    "moorage.state.node_table._LABEL_COLUMNS": 2,
    "moorage.scheduler.search._FEW_RIVALS": 0,
    "moorage.framework.runtime.plans._TEMPLATES": 3,
    "moorage.framework.runtime.plans._SUMS": 2,
    "moorage.framework.runtime.signed_answers._SIGNATURES": 2,
    "moorage.plugins.inter_pod_affinity._KNOWN_TEMPLATES": 2,
    "moorage.plugins.node_affinity._KNOWN_AFFINITIES": 2,
    "moorage.plugins.node_resources_fit._KNOWN_REQUESTS": 2,
    "moorage.plugins.preemption.known_candidates._TEMPLATES": 2,
    "moorage.plugins.spread.constraints._KNOWN_TEMPLATES": 2,
    "moorage.plugins.spread.pod_topology_spread._CACHED_DOMAINS": 2,
    "moorage.plugins.spread.pod_topology_spread._KNOWN_TEMPLATES": 2,
    "moorage.plugins.taint_toleration._KNOWN_TOLERATIONS": 2,
}
"""How much is kept, so small that a small cluster exceeds it."""

KINDS = {
    "small": Kind((0, 9), 60, 30, 1000),
    "large": Kind((105, 140), 24, 6, 120),
    "forgetful": Kind((0, 25), 50, 15, 700, FORGETFUL),
    "pushing": Kind((3, 12), 40, 10, 500, is_plain=True),
}
"""From 100 nodes on a search ends early, and the next one begins behind it."""


@pytest.mark.soak
@pytest.mark.parametrize("kind", KINDS)
def test_every_decision_is_that_of_a_scheduler_without_shortcuts(
    kind: str, soak: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    followed = KINDS[kind]
    for name, bound in followed.bounds.items():
        monkeypatch.setattr(name, bound)

    @settings(max_examples=followed.many if soak else followed.few)
    @given(courses(followed))
    def check(course: Course) -> None:
        compare(course)

    check()
