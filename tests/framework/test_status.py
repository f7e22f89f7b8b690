from __future__ import annotations

import pytest

from moorage.framework.status import Code, Nomination, Status, Wait

LABELS = (
    "Success",
    "Error",
    "Unschedulable",
    "UnschedulableAndUnresolvable",
    "Wait",
    "Skip",
    "Pending",
)


@pytest.mark.parametrize(("number", "label"), list(enumerate(LABELS)))
def test_the_codes_have_the_numbers_and_names_of_the_reference(number: int, label: str) -> None:
    assert Code(number).label == label


@pytest.mark.parametrize("code", list(Code))
def test_a_rejection_is_unschedulable_unresolvable_or_pending(code: Code) -> None:
    assert Status(code).rejected is (code in (2, 3, 6))


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (Status.success(), Code.SUCCESS),
        (Status.error("x"), Code.ERROR),
        (Status.unschedulable("x"), Code.UNSCHEDULABLE),
        (Status.unresolvable("x"), Code.UNSCHEDULABLE_AND_UNRESOLVABLE),
        (Status.pending("x"), Code.PENDING),
        (Status.skip(), Code.SKIP),
        (Status.skip("x"), Code.SKIP),
    ],
)
def test_each_constructor_says_what_is_meant(status: Status, code: Code) -> None:
    assert status.code is code
    assert status.plugin == ""


@pytest.mark.parametrize(
    ("status", "reasons", "message"),
    [
        (Status.unschedulable(), (), ""),
        (Status.unschedulable("a"), ("a",), "a"),
        (Status.unschedulable("a", "b"), ("a", "b"), "a, b"),
        (Status.error(cause=ValueError("broken")), ("ValueError: broken",), "ValueError: broken"),
        (
            Status.error("more", cause=ValueError("broken")),
            ("ValueError: broken", "more"),
            "ValueError: broken, more",
        ),
    ],
)
def test_the_message_joins_the_reasons_and_the_text_of_an_error_comes_first(
    status: Status, reasons: tuple[str, ...], message: str
) -> None:
    assert (status.reasons, status.message) == (reasons, message)


def test_a_reason_that_is_no_text_is_shown_as_text() -> None:
    assert Status.error(404, "gone").message == "404, gone"  # type: ignore[arg-type]


def test_by_puts_the_name_of_the_plugin_on_a_copy() -> None:
    cause = ValueError("broken")
    status = Status.error("more", cause=cause)
    named = status.by("P")
    assert (named.plugin, named.reasons, named.cause, named.code) == ("P", status.reasons, cause, Code.ERROR)
    assert status.plugin == ""
    assert named.by("P") is named
    assert named.by("Q").plugin == "Q"


def test_statuses_are_equal_by_code_reasons_and_plugin() -> None:
    assert Status.unschedulable("a") == Status.unschedulable("a")
    assert hash(Status.unschedulable("a")) == hash(Status.unschedulable("a"))
    for other in (
        Status.unresolvable("a"),
        Status.unschedulable("b"),
        Status.unschedulable("a").by("P"),
        "a",
    ):
        assert Status.unschedulable("a") != other


def test_a_status_shows_itself() -> None:
    assert repr(Status.pending("quota").by("P")) == "<Status Pending by P: quota>"


def test_wait_and_nomination_carry_what_they_are_given() -> None:
    assert Wait(2.5).timeout == 2.5
    assert (Nomination("n").node_name, Nomination("n").status) == ("n", None)
