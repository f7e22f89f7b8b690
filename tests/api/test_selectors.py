from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moorage.api.selectors import (
    EVERYTHING,
    NOTHING,
    LabelSelector,
    NodeSelector,
    NodeSelectorTerm,
    Requirement,
    Selector,
    SelectorError,
    matches_field,
    parse_int64,
    parse_selector,
    selector_from_map,
)

PROPERTY = settings(max_examples=200, deadline=None)
LABEL_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist")
NODE_OPERATORS = (*LABEL_OPERATORS, "Gt", "Lt")
ALNUM = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
LOWER = "abcdefghijklmnopqrstuvwxyz0123456789"


def reference_integer(text: str) -> int | None:
    digits = text[1:] if text[:1] in ("+", "-") else text
    if not digits or any(digit not in "0123456789" for digit in digits):
        return None
    number = int(text)
    return number if -(2**63) <= number <= 2**63 - 1 else None


def reference_matches(requirement: Requirement, labels: dict[str, str]) -> bool:
    present = requirement.key in labels
    held = labels.get(requirement.key, "")
    if requirement.operator == "In":
        return present and held in requirement.values
    if requirement.operator == "NotIn":
        return not (present and held in requirement.values)
    if requirement.operator == "Exists":
        return present
    if requirement.operator == "DoesNotExist":
        return not present
    label, bound = reference_integer(held), reference_integer(requirement.values[0])
    assert bound is not None
    if not present or label is None:
        return False
    return label > bound if requirement.operator == "Gt" else label < bound


def reference_valid(requirement: Requirement, operators: tuple[str, ...]) -> bool:
    count = len(requirement.values)
    right_count = {
        "In": count >= 1,
        "NotIn": count >= 1,
        "Exists": count == 0,
        "DoesNotExist": count == 0,
        "Gt": count == 1 and reference_integer(requirement.values[0]) is not None,
        "Lt": count == 1 and reference_integer(requirement.values[0]) is not None,
    }
    return (
        requirement.operator in operators
        and reference_key(requirement.key)
        and right_count[requirement.operator]
        and all(value == "" or reference_name(value) for value in requirement.values)
    )


def reference_name(text: str) -> bool:
    return (
        1 <= len(text) <= 63
        and text[0] in ALNUM
        and text[-1] in ALNUM
        and all(letter in ALNUM + "-_." for letter in text)
    )


def reference_key(key: str) -> bool:
    parts = key.split("/")
    if len(parts) == 1:
        return reference_name(key)
    if len(parts) != 2 or not 1 <= len(parts[0]) <= 253:
        return False
    for label in parts[0].split("."):
        if not label or label[0] not in LOWER or label[-1] not in LOWER:
            return False
        if any(letter not in LOWER + "-" for letter in label):
            return False
    return reference_name(parts[1])


def reference_term(term: NodeSelectorTerm, labels: dict[str, str], node_name: str) -> bool:
    if not term.match_expressions and not term.match_fields:
        return False
    for requirement in term.match_expressions:
        if not reference_valid(requirement, NODE_OPERATORS):
            return False
    for field in term.match_fields:
        if field.operator not in ("In", "NotIn") or len(field.values) != 1:
            return False
    for requirement in term.match_expressions:
        if not reference_matches(requirement, labels):
            return False
    if node_name == "":
        return True
    for field in term.match_fields:
        actual = node_name if field.key == "metadata.name" else ""
        if field.operator == "In" and actual != field.values[0]:
            return False
        if field.operator == "NotIn" and actual == field.values[0]:
            return False
    return True


good_keys = st.sampled_from(["a", "zone", "example.com/zone"])
good_values = st.sampled_from(["a", "b", "", "5", "007", "10", "9223372036854775807"])
bad_keys = st.sampled_from(
    ["", "-a", "a/b/c", "/a", "a/", "A/b", "a..b/c", "x" * 64, f"{'p' * 254}/a", "a b"]
)
bad_values = st.sampled_from(["-5", "+5", " 5", "a b", "x" * 64, "a-", "٣", "1_0", "9223372036854775808"])
keys = st.one_of(good_keys, good_keys, good_keys, bad_keys)
values = st.one_of(good_values, good_values, good_values, bad_values)
label_maps = st.dictionaries(keys, values, max_size=4)
fair_requirements = st.one_of(
    st.builds(
        Requirement,
        good_keys,
        st.sampled_from(["In", "NotIn"]),
        st.lists(good_values, min_size=1, max_size=3).map(tuple),
    ),
    st.builds(Requirement, good_keys, st.sampled_from(["Exists", "DoesNotExist"])),
)
comparisons = st.builds(
    Requirement,
    good_keys,
    st.sampled_from(["Gt", "Lt"]),
    st.sampled_from(["5", "007", "9"]).map(lambda bound: (bound,)),
)
any_requirements = st.builds(
    Requirement,
    keys,
    st.sampled_from([*NODE_OPERATORS, "", "in", "Equals"]),
    st.lists(values, max_size=3).map(tuple),
)
label_requirements = st.one_of(fair_requirements, fair_requirements, any_requirements)
node_requirements = st.one_of(fair_requirements, comparisons, any_requirements)
field_requirements = st.builds(
    Requirement,
    st.sampled_from(["metadata.name", "metadata.name", "metadata.name", "metadata.uid", ""]),
    st.sampled_from(["In", "NotIn", "In", "NotIn", "Exists", "Gt", ""]),
    st.lists(st.sampled_from(["node-1", "node-2", ""]), min_size=1, max_size=2).map(tuple),
)
terms = st.builds(
    NodeSelectorTerm,
    st.lists(node_requirements, max_size=3).map(tuple),
    st.one_of(st.just(()), st.lists(field_requirements, max_size=2).map(tuple)),
)


@pytest.mark.parametrize(
    ("operator", "given_values", "held", "expected"),
    [
        ("In", ("a", "b"), "a", True),
        ("In", ("a", "b"), "c", False),
        ("In", ("a", "b"), None, False),
        ("In", ("a",), "A", False),
        ("In", ("",), "", True),
        ("In", ("",), None, False),
        ("NotIn", ("a", "b"), "a", False),
        ("NotIn", ("a", "b"), "c", True),
        ("NotIn", ("a", "b"), None, True),
        ("NotIn", ("",), "", False),
        ("NotIn", ("",), None, True),
        ("Exists", (), "a", True),
        ("Exists", (), "", True),
        ("Exists", (), None, False),
        ("DoesNotExist", (), "a", False),
        ("DoesNotExist", (), "", False),
        ("DoesNotExist", (), None, True),
        ("Gt", ("5",), "6", True),
        ("Gt", ("5",), "5", False),
        ("Gt", ("5",), "10", True),
        ("Gt", ("5",), "+6", True),
        ("Gt", ("5",), "006", True),
        ("Gt", ("5",), "0" * 50 + "6", True),
        ("Gt", ("5",), None, False),
        ("Gt", ("5",), "", False),
        ("Gt", ("5",), "six", False),
        ("Gt", ("5",), " 6", False),
        ("Gt", ("5",), "1_0", False),
        ("Gt", ("5",), "٦", False),
        ("Gt", ("5",), "6.0", False),
        ("Gt", ("5",), "9223372036854775807", True),
        ("Gt", ("5",), "9223372036854775808", False),
        ("Lt", ("5",), "4", True),
        ("Lt", ("5",), "5", False),
        ("Lt", ("5",), "-4", True),
        ("Lt", ("5",), "-9223372036854775808", True),
        ("Lt", ("5",), "-9223372036854775809", False),
        ("Lt", ("5",), None, False),
        ("Lt", ("5",), "four", False),
        ("Gt", (), "6", False),
        ("Gt", ("5", "5"), "6", False),
        ("Gt", ("x",), "6", False),
        ("in", ("a",), "a", False),
        ("", ("5",), "6", False),
        ("", ("5",), "4", False),
    ],
)
def test_one_requirement(
    operator: str, given_values: tuple[str, ...], held: str | None, expected: bool
) -> None:
    labels = {"other": "a"} if held is None else {"key": held, "other": "a"}
    assert Requirement("key", operator, given_values).matches(labels) is expected


@pytest.mark.parametrize("operator", NODE_OPERATORS)
def test_without_labels_only_the_negative_operators_hold(operator: str) -> None:
    assert Requirement("key", operator, ("5",)).matches({}) is (operator in ("NotIn", "DoesNotExist"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0", 0),
        ("-0", 0),
        ("+0", 0),
        ("000", 0),
        ("5", 5),
        ("+5", 5),
        ("-5", -5),
        ("9223372036854775807", 2**63 - 1),
        ("9223372036854775808", None),
        ("-9223372036854775808", -(2**63)),
        ("-9223372036854775809", None),
        ("0" * 65536, 0),
        ("0" * 65536 + "12", 12),
        ("-" + "0" * 65536 + "12", -12),
        ("1" * 65536, None),
        *(
            (text, None)
            for text in ("", "+", "-", "--5", "+-5", " 5", "5 ", "5\n", "1_0", "0x5", "5.0", "1e3", "٣", "a")
        ),
    ],
)
def test_integers(text: str, expected: int | None) -> None:
    assert parse_int64(text) == expected


@pytest.mark.parametrize(
    "requirement",
    [
        Requirement("key", "In", ("a",)),
        Requirement("key", "In", ("",)),
        Requirement("key", "NotIn", ("a", "b", "a")),
        Requirement("example.com/key", "Exists"),
        Requirement("key", "DoesNotExist"),
        Requirement("k" * 63, "In", ("v" * 63,)),
    ],
)
def test_valid_requirements(requirement: Requirement) -> None:
    assert parse_selector(LabelSelector({}, (requirement,))).requirements == (requirement,)
    assert NodeSelectorTerm((requirement,)).problem() is None


@pytest.mark.parametrize(
    ("requirement", "problem"),
    [
        (Requirement("", "Exists"), "not a valid label key"),
        (Requirement("-key", "Exists"), "not a valid label key"),
        (Requirement("a/b/c", "Exists"), "not a valid label key"),
        (Requirement("Example.com/key", "Exists"), "not a valid label key"),
        (Requirement("k" * 64, "Exists"), "not a valid label key"),
        (Requirement("key", "In"), "at least one value"),
        (Requirement("key", "NotIn"), "at least one value"),
        (Requirement("key", "Exists", ("a",)), "takes no values"),
        (Requirement("key", "DoesNotExist", ("",)), "takes no values"),
        (Requirement("key", "In", ("a", "b c")), "not a valid label value"),
        (Requirement("key", "In", ("v" * 64,)), "not a valid label value"),
        (Requirement("key", "In", ("v" * 65536,)), "not a valid label value"),
        (Requirement("key", "", ("a",)), "not a valid selector operator"),
        (Requirement("key", "in", ("a",)), "not a valid selector operator"),
        (Requirement("key", "Equals", ("a",)), "not a valid selector operator"),
    ],
)
def test_invalid_requirements(requirement: Requirement, problem: str) -> None:
    with pytest.raises(SelectorError, match=problem) as raised:
        parse_selector(LabelSelector({}, (Requirement("fine", "Exists"), requirement)))
    assert len(str(raised.value)) < 200
    assert problem in (NodeSelectorTerm((requirement,)).problem() or "")


@pytest.mark.parametrize("operator", ["Gt", "Lt"])
@pytest.mark.parametrize(
    ("bound", "valid"),
    [
        (("5",), True),
        (("005",), True),
        (("9223372036854775807",), True),
        (("-5",), False),
        (("+5",), False),
        (("9223372036854775808",), False),
        (("five",), False),
        (("",), False),
        ((), False),
        (("5", "6"), False),
    ],
)
def test_bounds(operator: str, bound: tuple[str, ...], valid: bool) -> None:
    assert (NodeSelectorTerm((Requirement("key", operator, bound),)).problem() is None) is valid


@pytest.mark.parametrize("operator", ["Gt", "Lt"])
def test_label_selectors_do_not_compare(operator: str) -> None:
    with pytest.raises(SelectorError, match="not a valid selector operator"):
        parse_selector(LabelSelector({}, (Requirement("key", operator, ("5",)),)))


@pytest.mark.parametrize("labels", [{"bad key": "a"}, {"key": "bad value"}, {"key": "-5"}, {"": ""}])
def test_match_labels_are_checked(labels: dict[str, str]) -> None:
    with pytest.raises(SelectorError):
        parse_selector(LabelSelector(labels))


@pytest.mark.parametrize("labels", [{}, {"a": "b"}])
def test_an_absent_selector_matches_nothing_and_an_empty_one_everything(labels: dict[str, str]) -> None:
    absent, empty = parse_selector(None), parse_selector(LabelSelector())
    assert (absent, empty) == (NOTHING, EVERYTHING)
    assert not absent.matches(labels)
    assert empty.matches(labels)
    assert not absent.empty
    assert empty.empty


def test_all_parts_of_a_label_selector_must_hold() -> None:
    selector = parse_selector(LabelSelector({"a": "1", "b": "2"}, (Requirement("c", "DoesNotExist"),)))
    assert not selector.empty
    assert selector.matches({"a": "1", "b": "2"})
    assert not selector.matches({"a": "1"})
    assert not selector.matches({"a": "1", "b": "3"})
    assert not selector.matches({"a": "1", "b": "2", "c": ""})


def test_a_plain_map_is_not_checked() -> None:
    selector = selector_from_map({"bad key": "-5", "b": ""})
    assert selector.matches({"bad key": "-5", "b": "", "c": "d"})
    assert not selector.matches({"bad key": "-5"})
    assert selector_from_map({}) == EVERYTHING


def test_a_selector_narrowed() -> None:
    more = (Requirement("a", "Exists"),)
    assert EVERYTHING.plus(more) == Selector(more)
    assert NOTHING.plus(more) is NOTHING
    assert Selector(more).plus([Requirement("b", "Exists")]).matches({"a": "", "b": ""})


def test_selectors_and_terms_are_hashable_values() -> None:
    requirement = Requirement("c", "In", ("d",))
    one = LabelSelector({"a": "1", "b": "2"}, (requirement,))
    other = LabelSelector({"b": "2", "a": "1"}, (Requirement("c", "In", ("d",)),))
    assert len({one, other, LabelSelector()}) == 2
    assert len({parse_selector(one), parse_selector(other), NOTHING, EVERYTHING}) == 3
    assert len({NodeSelectorTerm((requirement,)), NodeSelectorTerm((requirement,)), NodeSelectorTerm()}) == 2
    assert (
        len({NodeSelector((NodeSelectorTerm(),)), NodeSelector((NodeSelectorTerm(),)), NodeSelector()}) == 2
    )


NAME_IN = Requirement("metadata.name", "In", ("node-1",))
NAME_NOT_IN = Requirement("metadata.name", "NotIn", ("node-1",))


@pytest.mark.parametrize(
    ("fields", "on_node_1", "on_node_2", "without_name"),
    [
        ((NAME_IN,), True, False, True),
        ((NAME_NOT_IN,), False, True, True),
        ((NAME_IN, NAME_NOT_IN), False, False, True),
        ((Requirement("metadata.uid", "In", ("",)),), True, True, True),
        ((Requirement("metadata.uid", "In", ("u",)),), False, False, True),
        ((Requirement("metadata.uid", "NotIn", ("u",)),), True, True, True),
        ((Requirement("bad key", "In", ("",)),), True, True, True),
        ((Requirement("metadata.name", "In", ()),), False, False, False),
        ((Requirement("metadata.name", "In", ("node-1", "node-2")),), False, False, False),
        ((Requirement("metadata.name", "NotIn", ("node-3", "node-4")),), False, False, False),
        ((Requirement("metadata.name", "Exists", ()),), False, False, False),
        ((Requirement("metadata.name", "Exists", ("node-1",)),), False, False, False),
        ((Requirement("metadata.name", "Gt", ("1",)),), False, False, False),
        ((Requirement("metadata.name", "", ("node-1",)),), False, False, False),
    ],
)
def test_match_fields(
    fields: tuple[Requirement, ...], on_node_1: bool, on_node_2: bool, without_name: bool
) -> None:
    term = NodeSelectorTerm((), fields)
    found = (term.matches({}, "node-1"), term.matches({}, "node-2"), term.matches({}, ""))
    assert found == (on_node_1, on_node_2, without_name)


def test_a_field() -> None:
    assert matches_field(NAME_IN, "node-1")
    assert not matches_field(NAME_NOT_IN, "node-1")


def test_a_field_problem_fits_on_one_line() -> None:
    problem = NodeSelectorTerm((), (Requirement("a\nb" * 1000, "In", ()),)).problem() or ""
    assert "exactly one value" in problem
    assert "\n" not in problem
    assert len(problem) < 200


def test_expressions_and_fields_of_a_term_must_all_hold() -> None:
    term = NodeSelectorTerm((Requirement("a", "Exists"), Requirement("b", "Gt", ("5",))), (NAME_IN,))
    assert term.matches({"a": "", "b": "6"}, "node-1")
    assert not term.matches({"a": "", "b": "6"}, "node-2")
    assert not term.matches({"a": "", "b": "5"}, "node-1")
    assert not term.matches({"b": "6"}, "node-1")


def test_an_empty_term_matches_no_node() -> None:
    assert NodeSelectorTerm().empty
    assert NodeSelectorTerm().problem() is None
    assert not NodeSelectorTerm().matches({}, "node")
    assert not NodeSelectorTerm((Requirement("a", "Exists"),)).empty
    assert not NodeSelectorTerm((), (NAME_IN,)).empty


def test_a_node_selector_needs_one_term_that_matches() -> None:
    yes, no = NodeSelectorTerm((Requirement("a", "Exists"),)), NodeSelectorTerm((Requirement("b", "Exists"),))
    invalid = NodeSelectorTerm((Requirement("a", "Exists"), Requirement("a", "In")))
    labels = {"a": ""}
    assert not NodeSelector().matches(labels, "node")
    assert not NodeSelector((NodeSelectorTerm(),)).matches(labels, "node")
    assert not NodeSelector((invalid,)).matches(labels, "node")
    assert not NodeSelector((no, invalid)).matches(labels, "node")
    assert NodeSelector((invalid, no, NodeSelectorTerm(), yes)).matches(labels, "node")


@PROPERTY
@given(st.text("+-0123456789_ a", max_size=24))
def test_integers_agree_with_the_reference(text: str) -> None:
    assert parse_int64(text) == reference_integer(text)


@PROPERTY
@given(
    st.dictionaries(good_keys, good_values, max_size=2),
    st.lists(label_requirements, max_size=3).map(tuple),
    st.lists(label_maps, min_size=1, max_size=4),
)
def test_label_selectors_agree_with_the_reference(
    match_labels: dict[str, str], expressions: tuple[Requirement, ...], maps: list[dict[str, str]]
) -> None:
    selector = LabelSelector(match_labels, expressions)
    if not all(reference_valid(requirement, LABEL_OPERATORS) for requirement in expressions):
        with pytest.raises(SelectorError):
            parse_selector(selector)
        return
    parsed = parse_selector(selector)
    assert parsed.empty is (not match_labels and not expressions)
    for labels in [*maps, match_labels]:
        assert parsed.matches(labels) is (
            all(key in labels and labels[key] == value for key, value in match_labels.items())
            and all(reference_matches(requirement, labels) for requirement in expressions)
        )


@PROPERTY
@given(label_maps, label_maps)
def test_match_labels_agree_with_the_reference(match_labels: dict[str, str], labels: dict[str, str]) -> None:
    valid = all(
        reference_valid(Requirement(key, "In", (value,)), LABEL_OPERATORS)
        for key, value in match_labels.items()
    )
    expected = match_labels.items() <= labels.items()
    assert selector_from_map(match_labels).matches(labels) is expected
    if valid:
        assert parse_selector(LabelSelector(match_labels)).matches(labels) is expected
    else:
        with pytest.raises(SelectorError):
            parse_selector(LabelSelector(match_labels))


@PROPERTY
@given(st.lists(terms, max_size=3).map(tuple), label_maps, st.sampled_from(["node-1", "node-2", ""]))
def test_node_selectors_agree_with_the_reference(
    some: tuple[NodeSelectorTerm, ...], labels: dict[str, str], node_name: str
) -> None:
    expected = [reference_term(term, labels, node_name) for term in some]
    assert [term.matches(labels, node_name) for term in some] == expected
    assert NodeSelector(some).matches(labels, node_name) is any(expected)
