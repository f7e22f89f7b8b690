"""When a difference counts as a gain, by worked examples."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from moorage.what_if.replay.jobs import Outcome
from moorage.what_if.tuning.gain import Gain
from tests.what_if.sweeps.fakes import OUTCOME


def outcomes(*costs: float, placed: int = 100) -> list[Outcome]:
    return [replace(OUTCOME, cost=cost, placed=placed) for cost in costs]


@pytest.mark.parametrize(
    ("before", "after", "why_not"),
    [
        ((10.0, 10.0), (9.0, 9.0), ""),
        ((10.0,), (9.0,), ""),
        ((10.0, 10.0), (11.0, 11.0), "it is worse"),
        ((10.0, 10.0), (10.0, 10.0), "it is the same"),
        ((10.0, 10.0), (9.999, 9.999), "it is the same"),
        # Seed by seed 2 less and 1 more: 0.5 less on average, give or take 2.1.
        ((10.0, 10.0), (8.0, 11.0), "the difference is within what the seeds make"),
        # The seeds differ a lot from one another, but each becomes 1 less.
        ((10.0, 20.0, 30.0), (9.0, 19.0, 29.0), ""),
        ((0.0, 0.0), (0.0, 0.0), "it is the same"),
    ],
)
def test_a_gain(before: tuple[float, ...], after: tuple[float, ...], why_not: str) -> None:
    assert Gain("cost", outcomes(*before), outcomes(*after)).why_not == why_not


def test_fewer_pods_are_no_gain() -> None:
    gain = Gain("cost", outcomes(10.0, 10.0), outcomes(1.0, 1.0, placed=97))
    assert gain.why_not == "it places 3 pods fewer"


def test_the_figures() -> None:
    gain = Gain("cost", outcomes(10.0, 12.0, 14.0), outcomes(9.0, 9.0, 9.0))
    assert (str(gain.before), str(gain.after), str(gain.differences)) == ("12 ± 2", "9", "3 ± 2")
    assert gain.share == 0.25
