"""What is kept of groups while members are taken and come back equals what is looked up anew."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from moorage.plugins.storage.first_of_groups import NONE, FirstOfGroups, Members

GROUPS = 4
MOST = 12
Course = list[list[tuple[int, bool]]]


def first_free(group_of: list[int], free: list[bool], suits: list[bool], group: int, begin: int = 0) -> int:
    found = [each for each, its in enumerate(group_of) if its == group and free[each] and suits[each]]
    return min((each for each in found if each >= begin), default=NONE)


@given(
    st.lists(st.tuples(st.integers(0, GROUPS - 1), st.booleans()), min_size=1, max_size=MOST),
    # Now and then more changes at once than are looked at one by one.
    st.lists(st.lists(st.tuples(st.integers(0, MOST - 1), st.booleans()), max_size=40), max_size=8),
)
def test_the_first_ones_are_those_of_now(made: list[tuple[int, bool]], course: Course) -> None:
    group_of, suits = [group for group, _ in made], [suit for _, suit in made]
    free = [True] * len(made)
    members = Members(np.array(group_of, dtype=np.int32), GROUPS)
    firsts = FirstOfGroups(members, np.array(suits))
    has_first = [number != NONE for number in firsts.now().tolist()]
    for changes in course:
        for number, is_free in changes:
            member = number % len(made)
            free[member] = is_free
            members.set_free(member, is_free)
        times_made, turned_by = firsts.times_made, firsts.turns.end
        expected = [first_free(group_of, free, suits, group) for group in range(GROUPS)]
        assert firsts.now().tolist() == expected
        assert firsts.serving().tolist() == [each and suit for each, suit in zip(free, suits, strict=True)]
        for member, group in enumerate(group_of):
            assert firsts.next(member) == first_free(group_of, free, suits, group, member + 1)
        had_first, has_first = has_first, [number != NONE for number in expected]
        if firsts.times_made == times_made:
            turned = firsts.turns.since(turned_by)
            assert turned is not None
            assert {group for group in range(GROUPS) if had_first[group] != has_first[group]} <= {*turned}


def test_no_members() -> None:
    members = Members(np.zeros(0, dtype=np.int32), 1)
    assert FirstOfGroups(members, np.zeros(0, dtype=np.bool_)).now().tolist() == [NONE]
    assert len(members) == 0
