from __future__ import annotations

import asyncio
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from moorage.cluster.serving.herald import GATHER_SECONDS, Crowd, Herald, Tell, in_order
from tests.fake_time import now, run


def test_only_many_rounds_in_a_short_time_are_a_crowd() -> None:
    now = 100.0
    crowd = Crowd(lambda: now)
    assert [crowd.is_there() for _ in range(40)] == [False] * 20 + [True] * 20
    now += 0.2
    assert not crowd.is_there()
    for _ in range(200):
        now += 0.01
        assert not crowd.is_there()


def teller(told: list[tuple[int, list[bytes]]], number: int) -> Tell:
    return lambda lines: told.append((number, list(lines)))


@given(st.lists(st.sets(st.integers(0, 3))))
def test_nobody_tells_of_a_change_before_all_have_told_of_earlier_ones(changes: list[set[int]]) -> None:
    told: list[tuple[int, list[bytes]]] = []
    tellers = [teller(told, number) for number in range(4)]
    untold = [
        (revision, tellers[number], b"%d" % revision)
        for revision, concerned in enumerate(changes)
        for number in concerned
    ]
    for tell, lines in in_order(untold):
        tell(lines)
    left = [[revision for revision, each in enumerate(changes) if number in each] for number in range(4)]
    for number, lines in told:
        for line in lines:
            assert int(line) == left[number].pop(0)
        others = [each for other, each in enumerate(left) if other != number]
        assert all(int(lines[-1]) <= revision for each in others for revision in each)
    assert left == [[], [], [], []]


def test_two_that_are_told_the_same_say_two_things_at_once() -> None:
    told: list[tuple[int, list[bytes]]] = []
    tellers = [teller(told, number) for number in range(2)]
    for tell, lines in in_order([(n, tell, b"%d" % n) for n in range(3) for tell in tellers]):
        tell(lines)
    assert told == [(0, [b"0"]), (1, [b"0", b"1"]), (0, [b"1", b"2"]), (1, [b"2"])]


def test_quiet_changes_are_told_at_once_and_those_of_a_burst_a_moment_later() -> None:
    async def scenario() -> None:
        herald = Herald(now)
        told: list[tuple[float, int]] = []

        def tell(lines: Sequence[bytes]) -> None:
            told.append((now(), len(lines)))

        began = now()
        for revision in range(20):
            herald.announce(revision, tell, b"")
            await asyncio.sleep(0)
        assert told == [(began, 1)] * 20
        for revision in range(20, 30):
            herald.announce(revision, tell, b"")
            await asyncio.sleep(0)
        assert len(told) == 20
        await asyncio.sleep(GATHER_SECONDS)
        assert told[20:] == [(began + GATHER_SECONDS, 10)]

    run(scenario())


def test_what_is_untold_can_be_told_before_its_time_and_only_once() -> None:
    async def scenario() -> None:
        herald = Herald(now)
        told: list[tuple[int, list[bytes]]] = []
        herald.announce(1, teller(told, 0), b"a")
        herald.tell_all()
        await asyncio.sleep(1)
        assert told == [(0, [b"a"])]

    run(scenario())
