from __future__ import annotations

from typing import Any

import pytest

from moorage.api.decoding import from_document
from moorage.api.pods import Pod
from moorage.state.affinity_terms import NO_TERMS, Term, anchor_of, terms_of
from moorage.testing import make_pod
from tests.state.worlds import ZONE, Document, affinity, selects, term

BAD: Document = {"matchExpressions": [{"key": "a", "operator": "In"}]}


def with_affinity(**terms: Any) -> Pod:
    return make_pod("p", namespace="own", affinity=affinity(**terms))


def only(item: Document) -> Term:
    (found,) = terms_of(with_affinity(near=[item])).affinity
    return found


@pytest.mark.parametrize(
    ("rest", "namespaces", "elsewhere", "labelled"),
    [
        ({}, {"own"}, False, False),
        ({"namespaces": ["x", "y"]}, {"x", "y"}, False, False),
        ({"namespaceSelector": {}}, set(), True, True),
        ({"namespaceSelector": {"matchLabels": {"team": "t"}}}, set(), False, True),
        ({"namespaces": ["x"], "namespaceSelector": {"matchLabels": {"team": "t"}}}, {"x"}, False, True),
        (
            {"namespaceSelector": {"matchExpressions": [{"key": "team", "operator": "DoesNotExist"}]}},
            set(),
            True,
            False,
        ),
    ],
    ids=["own namespace", "listed", "every namespace", "labelled", "listed or labelled", "not labelled"],
)
def test_namespaces_of_a_term(rest: Document, namespaces: set[str], elsewhere: bool, labelled: bool) -> None:
    found = only(term(ZONE, selects({"app": "a"}), **rest))
    app = {"app": "a"}
    assert found.namespaces == namespaces
    for name in ("own", "x", "y", "other"):
        assert found.matches(name, app, {}) == (name in namespaces or elsewhere)
        assert found.matches(name, app, {"team": "t"}) == (name in namespaces or labelled)
    assert not found.matches("own", {"app": "b"}, {"team": "t"})
    assert found.any_namespace == elsewhere


@pytest.mark.parametrize(
    ("selector", "matching"), [(None, False), ({}, True), ({"matchLabels": {"app": "b"}}, False)]
)
def test_label_selectors_of_a_term(selector: Document | None, matching: bool) -> None:
    assert only(term(ZONE, selector)).matches("own", {"app": "a"}, {}) == matching


def test_match_label_keys_are_left_to_the_api_server() -> None:
    plain, keyed = only(term(ZONE, selects())), only(term(ZONE, selects(), matchLabelKeys=["app"]))
    assert plain == keyed


def test_a_list_with_an_invalid_selector_is_dropped_as_a_whole() -> None:
    good = term(ZONE, selects({"app": "a"}))
    found = terms_of(
        with_affinity(
            near=[good, term(ZONE, BAD)], far=[good], prefer=[(1, good)], avoid=[(2, term(ZONE, BAD))]
        )
    )
    assert (found.affinity, found.preferred_anti_affinity) == ((), ())
    assert len(found.anti_affinity) == len(found.preferred_affinity) == 1
    assert found.errors == ("a: In needs at least one value",) * 2


def test_an_invalid_namespace_selector_counts_as_well() -> None:
    assert terms_of(with_affinity(far=[term(ZONE, selects(), namespaceSelector=BAD)])).errors


def test_pods_without_terms() -> None:
    assert terms_of(make_pod("p")) is NO_TERMS
    assert terms_of(make_pod("p", affinity={"nodeAffinity": {}})) is NO_TERMS
    assert terms_of(make_pod("p", affinity={"podAffinity": {}})) == NO_TERMS
    assert terms_of(from_document(Pod, {})) is NO_TERMS


def test_equal_terms_are_equal_and_hash_alike() -> None:
    one, same = only(term(ZONE, selects({"app": "a"}))), only(term(ZONE, selects({"app": "a"})))
    assert one == same
    assert hash(one) == hash(same)
    assert one != only(term(ZONE, selects({"app": "b"})))
    assert one != only(term("other", selects({"app": "a"})))
    assert one != "a"
    assert one.with_namespaces(frozenset({"x"})).namespaces == {"own", "x"}
    assert repr(one).startswith(f"<Term {ZONE} ['own']")


@pytest.mark.parametrize(
    ("selector", "anchor"),
    [
        ({"matchLabels": {"app": "a"}}, ("app", "a")),
        ({"matchExpressions": [{"key": "app", "operator": "In", "values": ["a"]}]}, ("app", "a")),
        ({"matchExpressions": [{"key": "app", "operator": "In", "values": ["a", "b"]}]}, None),
        ({"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["a"]}]}, None),
        ({"matchExpressions": [{"key": "app", "operator": "Exists"}]}, None),
        ({}, None),
        (None, None),
    ],
)
def test_a_label_that_every_match_has(selector: Document | None, anchor: tuple[str, str] | None) -> None:
    assert anchor_of(only(term(ZONE, selector)).selector) == anchor
