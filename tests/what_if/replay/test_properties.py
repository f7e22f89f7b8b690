"""What holds for any trace."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from moorage.testing import make_node
from moorage.what_if.replay.jobs import Outcome
from moorage.what_if.trace import files
from moorage.what_if.trace.changes import Change, Head, Trace
from tests.what_if.replay.traces import BEGAN, CONTROLLED, Recording, Replayed

few = settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))


@st.composite
def recordings(draw: st.DrawFn) -> Recording:
    """Pods that come and go on a few nodes, some more urgent than others, some nodes lost."""
    nodes = [
        make_node(f"n{number}", cpu=draw(st.sampled_from((2, 4, 8))))
        for number in range(draw(st.integers(1, 4)))
    ]
    recording = Recording(*nodes)
    seconds = st.integers(0, 4000).map(lambda quarter: quarter / 4)
    for number in range(draw(st.integers(1, 25))):
        came = draw(seconds)
        bound = draw(st.none() | seconds.map(lambda wait, came=came: came + wait))  # type: ignore[misc]
        lasted = draw(st.none() | seconds)
        recording.pod(
            f"pod-{number}",
            came,
            bound=bound,
            gone=None if lasted is None else (came if bound is None else bound) + lasted,
            on=f"n{number % len(nodes)}",
            cpu=draw(st.sampled_from(("500m", "1", "2", "5"))),
            priority=draw(st.sampled_from((0, 0, 0, 10, 20))),
            metadata=CONTROLLED if draw(st.booleans()) else {},
        )
    if draw(st.booleans()):
        recording.gone(draw(seconds), nodes[-1])
    return recording


def timeless(outcome: Outcome) -> Outcome:
    return replace(outcome, seconds=0.0)


@few
@given(recordings(), st.sampled_from((0, 1, 7)))
def test_two_runs_of_the_same_give_the_same(recording: Recording, seed: int) -> None:
    first, second = (Replayed(recording.trace(until=5000), seed=seed) for _ in range(2))
    assert timeless(first.outcome) == timeless(second.outcome)
    assert first.bound == second.bound and first.went == second.went


@few
@given(recordings())
def test_a_trace_of_a_replay_gives_the_same_placements_again(recording: Recording) -> None:
    first = Replayed(recording.trace(until=5000))
    again = Replayed(Trace(Head(began=BEGAN), first.changes), until=5000)
    assert again.bound == first.bound
    assert again.outcome.pods == first.outcome.pods
    assert again.outcome.preemptions == first.outcome.preemptions


@few
@given(recordings())
def test_life_times_are_kept(recording: Recording) -> None:
    """Whoever is neither preempted nor on a node that is lost runs for as long as in the trace."""
    ran: dict[str, float] = {}
    bound: dict[str, float] = {}
    for change in recording.trace().changes:
        if change.item.kind != "Pod":
            continue
        if change.gone and change.item.name in bound:
            ran[change.item.name] = change.time - bound[change.item.name]
        elif change.item.spec.node_name:  # type: ignore[attr-defined]
            bound[change.item.name] = change.time
    found = Replayed(recording.trace(until=50_000))
    if any(change.gone and change.item.kind == "Node" for change in recording.changes):
        return
    if found.outcome.preemptions:
        return
    for name, (at, _) in found.bound.items():
        if name in ran:
            assert found.went[name] - at == pytest.approx(ran[name])


class InBlocks:
    """The same changes, read in blocks of some size."""

    def __init__(self, changes: list[Change], size: int) -> None:
        self._blocks = [changes[begin : begin + size] for begin in range(0, len(changes), size)]

    def __iter__(self) -> Iterator[Change]:
        for block in self._blocks:
            yield from block


@few
@given(recordings(), st.integers(1, 9))
def test_how_a_trace_is_cut_in_blocks_makes_no_difference(recording: Recording, size: int) -> None:
    whole = recording.trace(until=5000)
    cut = Trace(whole.head, InBlocks(list(whole.changes), size))
    assert timeless(Replayed(cut).outcome) == timeless(Replayed(whole).outcome)


@settings(few, max_examples=10)
@given(recordings(), st.integers(1, 4000))
def test_how_a_file_is_cut_in_blocks_makes_no_difference(
    tmp_path_factory: pytest.TempPathFactory, recording: Recording, size: int
) -> None:
    whole = recording.trace(until=5000)
    outcomes = []
    for block in (size, 1 << 20):
        path: Path = tmp_path_factory.mktemp("traces") / "a.moor"
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(files, "_BLOCK", block)
            with files.TraceWriter(path, whole.head) as writer:
                for change in whole:
                    item = change.item
                    document = {"apiVersion": item.api_version(), "kind": item.kind, **item.raw}
                    (writer.gone if change.gone else writer.put)(change.time, document)
        outcomes.append(timeless(Replayed(files.read_trace(path)).outcome))
    assert outcomes[0] == outcomes[1]
