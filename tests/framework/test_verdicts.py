from __future__ import annotations

import numpy as np
import pytest

from moorage.framework.status import Status
from moorage.framework.verdicts import Verdicts

NO, NEVER = Status.unschedulable("no"), Status.unresolvable("never")


def test_passed_is_for_any_number_of_nodes() -> None:
    verdicts = Verdicts.passed()
    assert verdicts.codes is None
    assert verdicts.at(7) is None


def test_where_rejects_the_nodes_that_are_marked() -> None:
    verdicts = Verdicts.where(np.array([False, True, False]), NO)
    assert [verdicts.at(i) for i in range(3)] == [None, NO, None]


@pytest.mark.parametrize(
    "answers", [[], [None], [NO], [None, NO, NEVER, None, Status.unschedulable("no")], [NEVER, NO]]
)
def test_each_gives_every_node_its_own_answer(answers: list[Status | None]) -> None:
    verdicts = Verdicts.each(answers)
    assert [verdicts.at(i) for i in range(len(answers))] == answers


def test_each_keeps_equal_answers_once() -> None:
    verdicts = Verdicts.each([NO, Status.unschedulable("no"), None, NEVER])
    assert verdicts.statuses == [None, NO, NEVER]


@pytest.mark.parametrize("answers", [[None, None], [Status.success(), None]])
def test_success_is_the_same_as_nothing(answers: list[Status | None]) -> None:
    assert Verdicts.each(answers) is Verdicts.passed()
