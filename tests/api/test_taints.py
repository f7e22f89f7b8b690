from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moorage.api.taints import (
    NO_EXECUTE,
    NO_SCHEDULE,
    PREFER_NO_SCHEDULE,
    UNSCHEDULABLE_TAINT,
    Taint,
    Toleration,
    tolerates,
    untolerated,
)

PROPERTY = settings(max_examples=150, deadline=None)
EFFECTS = (NO_SCHEDULE, PREFER_NO_SCHEDULE, NO_EXECUTE)
TAINT = Taint("key", "value", NO_SCHEDULE)

words = st.sampled_from(["", "a", "b", "5", "10"])
taints = st.builds(Taint, words, words, st.sampled_from([*EFFECTS, ""]))
tolerations = st.builds(
    Toleration,
    words,
    st.sampled_from(["", "Equal", "Exists", "Lt", "Gt", "equal", "exists", "In"]),
    words,
    st.sampled_from([*EFFECTS, ""]),
    st.one_of(st.none(), st.integers(-5, 5)),
)


def reference(toleration: Toleration, taint: Taint) -> bool:
    same_effect = toleration.effect == "" or toleration.effect == taint.effect
    same_key = toleration.key == "" or toleration.key == taint.key
    by_operator = {
        "": toleration.value == taint.value,
        "Equal": toleration.value == taint.value,
        "Exists": True,
    }
    return same_effect and same_key and by_operator.get(toleration.operator, False)


@pytest.mark.parametrize(
    ("toleration", "expected"),
    [
        (Toleration("key", "Equal", "value", NO_SCHEDULE), True),
        (Toleration("key", "", "value", NO_SCHEDULE), True),
        (Toleration("key", "Equal", "value", ""), True),
        (Toleration("key", "Equal", "value", NO_EXECUTE), False),
        (Toleration("key", "Equal", "value", "noschedule"), False),
        (Toleration("other", "Equal", "value", NO_SCHEDULE), False),
        (Toleration("Key", "Equal", "value", NO_SCHEDULE), False),
        (Toleration("key", "Equal", "other", NO_SCHEDULE), False),
        (Toleration("key", "Equal", "", NO_SCHEDULE), False),
        (Toleration("key", "Exists", "", NO_SCHEDULE), True),
        (Toleration("key", "Exists", "other", NO_SCHEDULE), True),
        (Toleration("other", "Exists", "", NO_SCHEDULE), False),
        (Toleration("", "Exists"), True),
        (Toleration("", "Exists", effect=NO_EXECUTE), False),
        (Toleration("", "Equal", "value"), True),
        (Toleration("", "", "value"), True),
        (Toleration("", "Equal", "other"), False),
        (Toleration(), False),
        (Toleration("key", "exists", "", NO_SCHEDULE), False),
        (Toleration("key", "In", "value", NO_SCHEDULE), False),
        (Toleration("key", "Equal", "value", NO_SCHEDULE, 0), True),
        (Toleration("key", "Exists", toleration_seconds=300), True),
    ],
)
def test_a_toleration(toleration: Toleration, expected: bool) -> None:
    assert toleration.tolerates(TAINT) is expected


@pytest.mark.parametrize("operator", ["Lt", "Gt"])
@pytest.mark.parametrize("value", ["4", "5", "6"])
def test_comparisons_tolerate_nothing(operator: str, value: str) -> None:
    assert not Toleration("key", operator, value).tolerates(Taint("key", "5", NO_SCHEDULE))


def test_an_empty_value_equals_an_empty_value() -> None:
    assert Toleration("key").tolerates(Taint("key", "", NO_EXECUTE))
    assert Toleration().tolerates(Taint("any", "", NO_EXECUTE))


def test_a_list_tolerates_what_one_member_does() -> None:
    assert not tolerates((), TAINT)
    assert not tolerates((Toleration("other", "Exists"),), TAINT)
    assert tolerates((Toleration("other", "Exists"), Toleration("key", "Exists")), TAINT)


def test_the_first_untolerated_taint() -> None:
    soft, first, second = (
        Taint("s", "", PREFER_NO_SCHEDULE),
        Taint("a", "", NO_EXECUTE),
        Taint("b", "", NO_SCHEDULE),
    )
    assert untolerated((), ()) is None
    assert untolerated((soft,), ()) is None
    assert untolerated((Taint("a", "", "SomethingElse"), Taint("a")), ()) is None
    assert untolerated((soft, first, second), ()) is first
    assert untolerated((soft, first, second), (Toleration("a", "Exists"),)) is second
    assert untolerated((soft, first, second), (Toleration("", "Exists"),)) is None


def test_the_taint_of_a_cordoned_node() -> None:
    assert Toleration("node.kubernetes.io/unschedulable", "Exists", "", NO_SCHEDULE).tolerates(
        UNSCHEDULABLE_TAINT
    )
    assert Toleration("node.kubernetes.io/unschedulable").tolerates(UNSCHEDULABLE_TAINT)
    assert not Toleration("node.kubernetes.io/unschedulable", effect=NO_EXECUTE).tolerates(
        UNSCHEDULABLE_TAINT
    )


def test_taints_and_tolerations_are_hashable_values() -> None:
    assert len({Taint("a", "b", NO_SCHEDULE), Taint("a", "b", NO_SCHEDULE), Taint("a")}) == 2
    assert len({Toleration("a", "Exists"), Toleration("a", "Exists"), Toleration("a")}) == 2


@PROPERTY
@given(tolerations, taints)
def test_agrees_with_the_reference(toleration: Toleration, taint: Taint) -> None:
    assert toleration.tolerates(taint) is reference(toleration, taint)


@PROPERTY
@given(st.lists(taints, max_size=5), st.lists(tolerations, max_size=4))
def test_untolerated_agrees_with_the_reference(some: list[Taint], given_to: list[Toleration]) -> None:
    left = [
        taint
        for taint in some
        if taint.effect in ("NoSchedule", "NoExecute")
        and not any(reference(toleration, taint) for toleration in given_to)
    ]
    assert untolerated(some, tuple(given_to)) == (left[0] if left else None)
