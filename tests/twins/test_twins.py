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


def courses(nodes: st.SearchStrategy[int], most: int) -> st.SearchStrategy[Course]:
    numbers = st.integers(0, 2**16)
    return st.builds(
        Course,
        config=st.sampled_from(sorted(PROFILES)),
        nodes=nodes,
        templates=st.lists(numbers, min_size=2, max_size=4),
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


@pytest.mark.soak
@pytest.mark.parametrize(
    ("nodes", "most", "few", "many"),
    [((0, 9), 60, 40, 4000), ((105, 140), 24, 4, 400)],
    ids=["small", "large"],
)
def test_every_decision_is_that_of_a_scheduler_without_shortcuts(
    nodes: tuple[int, int], most: int, few: int, many: int, soak: bool
) -> None:
    """From 100 nodes on a search ends early, and the next one begins behind it."""

    @settings(max_examples=many if soak else few)
    @given(courses(st.integers(*nodes), most))
    def check(course: Course) -> None:
        compare(course)

    check()
