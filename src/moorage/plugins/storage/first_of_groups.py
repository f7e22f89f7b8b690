"""The first free member of each of many groups, kept while members are taken and come back."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from moorage.state.columns import Bools, Int32s
from moorage.state.row_changes import RowChanges

NONE = int(np.iinfo(np.int32).max)
"""Stands for "no member" where members are numbered."""

_FEW = 32
"""So many changes are looked at one by one; after more of them everything is looked at again."""


class Members:
    """Numbered things, each of one group: which are free, and what changed in that."""

    def __init__(self, group_of: Int32s, group_count: int) -> None:
        self.group_of = group_of
        self.group_count = group_count
        self.is_free = np.ones(len(group_of), dtype=np.bool_)
        self.changes = RowChanges()
        self._by_group: NDArray[np.intp] = np.argsort(group_of, kind="stable")
        self._place_in_order = np.empty(len(group_of), dtype=np.intp)
        self._place_in_order[self._by_group] = np.arange(len(group_of))
        self._ends = np.cumsum(np.bincount(group_of, minlength=group_count))

    def __len__(self) -> int:
        return len(self.group_of)

    def set_free(self, member: int, free: bool) -> None:
        self.is_free[member] = free
        self.changes.note(member)

    def after(self, member: int) -> NDArray[np.intp]:
        """The members of the same group with higher numbers, in ascending order."""
        end = self._ends.item(self.group_of.item(member))
        return self._by_group[self._place_in_order.item(member) + 1 : end]


class FirstOfGroups:
    """For every group the lowest number of a free member that suits, or NONE."""

    def __init__(self, members: Members, suits: Bools) -> None:
        self._members = members
        self._suits = suits
        self._first = first_of_groups(members, self.serving())
        self._position = members.changes.end
        self.turns = RowChanges()
        """The groups that came to have a first one, or ceased to, since `times_made` last changed."""
        self.times_made = 1

    def serving(self) -> Bools:
        """Which members are free and suit."""
        serving: Bools = self._members.is_free & self._suits
        return serving

    def now(self) -> Int32s:
        """One number for each group, as things are now; not to be written to."""
        changes = self._members.changes
        if self._position != changes.end:
            changed = changes.since(self._position)
            self._position = changes.end
            if changed is None or len(changed) > _FEW:
                self._first = first_of_groups(self._members, self.serving())
                self.times_made += 1
            else:
                for member in changed:
                    self._correct(member)
        return self._first

    def next(self, member: int) -> int:
        """The first one that serves after this one in its group, or NONE."""
        members = self._members
        others = members.after(member)
        if not len(others):
            return NONE
        serving = others[members.is_free[others] & self._suits[others]]
        return int(serving[0]) if len(serving) else NONE

    def _correct(self, member: int) -> None:
        """In whatever order changed members are looked at, all of them together make the first ones right."""
        if not self._suits[member]:
            return
        group = self._members.group_of.item(member)
        known = self._first.item(group)
        if self._members.is_free[member]:
            new = min(member, known)
        elif member == known:
            new = self.next(member)
        else:
            return
        self._first[group] = new
        if (new == NONE) != (known == NONE):
            self.turns.note(group)


def first_of_groups(members: Members, serving: Bools) -> Int32s:
    """For every group the lowest number of a member that serves, or NONE."""
    first = np.full(members.group_count, NONE, dtype=np.int32)
    # From the highest to the lowest, so that the lowest one stays.
    places = np.flatnonzero(serving)[::-1]
    first[members.group_of[places]] = places
    return first
