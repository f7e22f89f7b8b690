from __future__ import annotations

import pytest

from moorage.framework.cycle_state import PODS_TO_ACTIVATE, CycleState, NothingWritten


class Counter:
    def __init__(self, count: int = 0) -> None:
        self.count = count

    def clone(self) -> Counter:
        return Counter(self.count)


def test_what_was_written_is_read_until_it_is_deleted() -> None:
    cycle = CycleState()
    cycle.write("key", 1)
    assert cycle.read("key") == cycle.get("key") == 1
    cycle.delete("key")
    cycle.delete("key")
    assert cycle.get("key") is None
    assert cycle.get("key", 2) == 2


def test_reading_what_nobody_wrote_says_not_found() -> None:
    with pytest.raises(NothingWritten, match=r"^not found$"):
        CycleState().read("key")


def test_a_clone_has_clones_of_values_that_can_be_cloned_and_shares_the_others() -> None:
    cycle = CycleState()
    shared: list[int] = []
    cycle.write("cloned", Counter(1))
    cycle.write("shared", shared)
    copy = cycle.clone()
    copy.read("cloned").count += 1
    assert (cycle.read("cloned").count, copy.read("cloned").count) == (1, 2)
    assert copy.read("shared") is shared


def test_writes_to_a_clone_stay_there() -> None:
    cycle = CycleState()
    copy = cycle.clone()
    copy.write("key", 1)
    assert cycle.get("key") is None


def test_a_clone_keeps_the_skipped_plugins() -> None:
    cycle = CycleState()
    cycle.skip_filter.add("A")
    cycle.skip_score.add("B")
    cycle.skip_pre_bind.add("C")
    copy = cycle.clone()
    assert (copy.skip_filter, copy.skip_score, copy.skip_pre_bind) == ({"A"}, {"B"}, {"C"})


def test_the_pods_to_activate_are_shared_with_clones() -> None:
    cycle = CycleState()
    assert cycle.read(PODS_TO_ACTIVATE) == {}
    assert cycle.clone().read(PODS_TO_ACTIVATE) is cycle.read(PODS_TO_ACTIVATE)
