"""Whatever is raised in a trial, and wherever: the state is exactly what it was."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator
from random import Random
from types import FrameType
from typing import Any

import pytest

from moorage.state import cluster as state_package
from moorage.state.cluster import ClusterState
from moorage.testing import make_pod
from tests.state import volume_worlds
from tests.state.trial_worlds import everything, with_port, world

STATE_CODE = state_package.__file__.removesuffix("cluster.py")


class Interrupted(BaseException):
    """As a watchdog of another thread would raise it: in the middle of anything."""


class Interruption:
    """Raises once, when the given number of steps was made in the code of the state."""

    def __init__(self, after: int) -> None:
        self.left = after

    def __enter__(self) -> None:
        sys.settrace(self._trace)

    def __exit__(self, *error: object) -> None:
        sys.settrace(None)

    def _trace(self, frame: FrameType, event: str, argument: object) -> Any:
        code = frame.f_code
        if not code.co_filename.startswith(STATE_CODE) or code.co_flags & inspect.CO_GENERATOR:
            return None  # what is raised in a generator while it is given up is lost
        if event in ("call", "line"):
            self.left -= 1
            if not self.left:
                raise Interrupted
        return self._trace


def play(state: ClusterState, seed: int) -> None:
    """Takes all pods off a node, puts others on and one back, and does the like on another node within."""
    chance = Random(seed)
    first, second = state.table.infos
    with state.what_if(first) as trial:
        gone = list(first.pod_infos)
        for pod_info in gone:
            trial.remove(pod_info)
        trial.add(gone[0])
        new = with_port(make_pod("new", requests={"example.com/huge": 2**60, "cpu": "3"}), 82, 83)
        trial.add(state.pod_info(new))
        with state.what_if(second) as inner:
            inner.remove(next(iter(second.pod_infos)))
            inner.add(state.pod_info(volume_worlds.pod(chance, "rival")))
            with state.what_if(first) as innermost:
                innermost.remove(gone[0])
                innermost.add(gone[1])
    with state.priorities.gone_below(1), state.what_if(second) as trial:
        trial.remove(next(iter(second.pod_infos)))


def interruptions(steps: Callable[[], None]) -> Iterator[int]:
    """Every place at which something can be raised, by the number of steps before it."""
    steps()  # what is only made on its first use is there from now on
    counting = Interruption(-1)
    with counting:
        steps()
    yield from range(1, -counting.left)


@pytest.mark.parametrize("seed", range(3))
def test_a_trial_that_is_interrupted_anywhere_leaves_no_trace(seed: int) -> None:
    state = world(seed)
    before = everything(state)
    places = list(interruptions(lambda: play(state, seed)))
    assert len(places) > 300
    assert everything(state) == before
    for place in places[seed::6]:
        with pytest.raises(Interrupted), Interruption(place):
            play(state, seed)
        # As the frame around every plugin does: what was interrupted while it ended is ended now.
        state.undo_trials()
        assert everything(state) == before, place
