"""A scheduler with all shortcuts decides as one that is made anew for every pod, whatever has happened."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests import fake_time
from tests.twins.configurations import PROFILES, Mood, configuration, registry
from tests.twins.rebuilt import Compared
from tests.twins.world import HAPPENINGS, World

NUMBERS = st.integers(0, 2**16)
HAPPENED = st.tuples(st.sampled_from(HAPPENINGS), NUMBERS)
REGISTRY = registry()
CONFIGURATIONS = {name: configuration(name) for name in PROFILES}

Happened = list[tuple[str, int]]


def world(config: str, nodes: int, templates: list[int], **more: Any) -> World:
    Mood.now = 0
    return World(CONFIGURATIONS[config], REGISTRY, nodes=nodes, templates=templates, **more)


def compare(config: str, nodes: int, templates: list[int], happened: Happened) -> Compared:
    made = world(config, nodes, templates)
    compared = Compared(made)

    async def run() -> None:
        for place, (what, number) in enumerate(happened):
            await made.follow(what, number)
            assert not compared.wrong, f"after {place}: {what}({number})\n" + "\n".join(compared.wrong)

    fake_time.run(run())
    return compared


@settings(max_examples=60)
@given(
    config=st.sampled_from(sorted(PROFILES)),
    nodes=st.integers(0, 9),
    templates=st.lists(NUMBERS, min_size=2, max_size=4),
    happened=st.lists(HAPPENED, min_size=10, max_size=50),
)
def test_every_decision_is_that_of_a_scheduler_made_anew(
    config: str, nodes: int, templates: list[int], happened: Happened
) -> None:
    compare(config, nodes, templates, happened)
