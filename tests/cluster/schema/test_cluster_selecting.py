"""Selectors in addresses; messages and what is accepted are those of kube-apiserver v1.36."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage.api.selectors import EVERYTHING
from moorage.cluster.base.errors import Refusal
from moorage.cluster.schema.definitions import Definition, Strategy
from moorage.cluster.schema.model import Schema
from moorage.cluster.schema.selecting import check_fields, field_selector, label_selector

LABELS = {"a": "b", "n": "7", "empty": ""}
NAME_RULE = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
    "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
VALUE_RULE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must "
    "start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used "
    "for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)
OPERATORS = "expected: in, notin, =, ==, !=, gt, lt"
NOT_A_REQUIREMENT = "unable to parse requirement: "


@pytest.mark.parametrize(
    ("text", "matches"),
    [
        ("", True),
        ("  ", True),
        ("a=b", True),
        ("a==b", True),
        (" a = b ", True),
        ("a=c", False),
        ("a!=b", False),
        ("a!=c", True),
        ("z!=c", True),
        ("a in (b,c)", True),
        ("a in(x)", False),
        ("a notin (b)", False),
        ("z notin (b)", True),
        ("a", True),
        ("z", False),
        ("!a", False),
        ("! z", True),
        ("n>5", True),
        ("n> 7", False),
        ("n<8", True),
        ("a>5", False),
        ("empty=", True),
        ("empty=,a", True),
        ("empty in ()", True),
        ("empty in (,)", True),
        ("empty in (x,,y)", True),
        ("empty in (x,)", True),
        ("a in (,b)", True),
        ("a=b,n=7,!z", True),
        ("a=b,n=8", False),
        ("in", False),
        ("in!=notin", True),
        ("notin notin (in)", True),
        ("a=\t", False),
    ],
)
def test_label_selectors(text: str, matches: bool) -> None:
    assert label_selector(text).matches(LABELS) is matches


def test_no_label_selector_selects_everything() -> None:
    assert label_selector("") is EVERYTHING


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (",a", "found ',', expected: !, identifier, or 'end of string'"),
        ("(a)", "found '(', expected: !, identifier, or 'end of string'"),
        ("a,", "found '', expected: identifier after ','"),
        ("a,,b", "found ',', expected: identifier after ','"),
        ("a=b=c", "found '=', expected: ',' or 'end of string'"),
        ("!a=b", "found '=', expected: ',' or 'end of string'"),
        ("a=b c", "found 'c', expected: ',' or 'end of string'"),
        ("a b", f"{NOT_A_REQUIREMENT}found 'b', {OPERATORS}"),
        ("a!b", f"{NOT_A_REQUIREMENT}found '!', {OPERATORS}"),
        ("a)", f"{NOT_A_REQUIREMENT}found ')', {OPERATORS}"),
        ("a\0b", f"{NOT_A_REQUIREMENT}found 'b', {OPERATORS}"),
        ("a in x", f"{NOT_A_REQUIREMENT}found 'x' expected: '('"),
        ("a in (x", f"{NOT_A_REQUIREMENT}found '', expected: ',' or ')'"),
        ("a in (x y)", f"{NOT_A_REQUIREMENT}found 'y', expected: ',' or ')'"),
        ("a in (x,=)", f"{NOT_A_REQUIREMENT}found '=', expected: ',', or identifier"),
        ("a in (!)", f"{NOT_A_REQUIREMENT}found '!', expected: ',', ')' or identifier"),
        ("a===b", f"{NOT_A_REQUIREMENT}found '=', expected: identifier"),
        ("a>=5", f"{NOT_A_REQUIREMENT}found '=', expected: identifier"),
        ("!", f"{NOT_A_REQUIREMENT}found '', expected: identifier"),
        ("!!a", f"{NOT_A_REQUIREMENT}found '!', expected: identifier"),
        ("a~b", f'{NOT_A_REQUIREMENT}<nil>: Invalid value: "a~b": {NAME_RULE}'),
        ("/a=b", f'{NOT_A_REQUIREMENT}<nil>: Invalid value: "/a": prefix part must be non-empty'),
        ("a=-x", f'{NOT_A_REQUIREMENT}values[0][a]: Invalid value: "-x": {VALUE_RULE}'),
        ("a in (b,c,-d)", f'{NOT_A_REQUIREMENT}values[0][a]: Invalid value: "-d": {VALUE_RULE}'),
        (
            "a in (-x,y-)",
            f'{NOT_A_REQUIREMENT}[values[0][a]: Invalid value: "-x": {VALUE_RULE}, '
            f'values[1][a]: Invalid value: "y-": {VALUE_RULE}]',
        ),
        (
            "a>x",
            f'{NOT_A_REQUIREMENT}values[0]: Invalid value: "x": '
            "for 'Gt', 'Lt' operators, the value must be an integer",
        ),
    ],
)
def test_label_selectors_that_cannot_be_read(text: str, message: str) -> None:
    with pytest.raises(Refusal) as refusal:
        label_selector(text)

    assert (refusal.value.code, refusal.value.reason) == (400, "BadRequest")
    assert refusal.value.message == message


FIELDS = {"metadata.name": "x", "spec.nodeName": "a,b=c\\", "empty": ""}


@pytest.mark.parametrize(
    ("text", "matches"),
    [
        ("", True),
        (",", True),
        ("=", True),
        ("!=", True),
        ("metadata.name=x", True),
        ("metadata.name==x,", True),
        ("metadata.name!=x", False),
        ("metadata.name=x,metadata.name=y", False),
        ("metadata.name=x,empty=", True),
        ("absent=", True),
        ("absent!=", False),
        (r"spec.nodeName=a\,b\=c\\", True),
    ],
)
def test_field_selectors(text: str, matches: bool) -> None:
    assert field_selector(text).matches(FIELDS) is matches


def test_what_a_field_selector_asks_for() -> None:
    selector = field_selector("spec.nodeName!=n,metadata.name=x,metadata.name!=y")

    assert selector.names() == {"spec.nodeName", "metadata.name"}
    assert selector.requires("metadata.name") == "x"
    assert selector.requires("spec.nodeName") is None
    assert not selector.empty
    assert field_selector("").empty
    assert field_selector("=").empty


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("metadata.name", "invalid selector: 'metadata.name'; can't understand 'metadata.name'"),
        ("a=b,z", "invalid selector: 'a=b,z'; can't understand 'z'"),
        (" ", "invalid selector: ' '; can't understand ' '"),
        ("spec.nodeName=a=b", "invalid field selector: unescaped character in value: 61"),
        (r"spec.nodeName=a\b", r"invalid field selector: invalid escape sequence: \b"),
        ("spec.nodeName=a\\", "invalid field selector: invalid escape sequence: \\"),
        ("metadata.name=é\\é", "invalid field selector: invalid escape sequence: \\é"),
    ],
)
def test_field_selectors_that_cannot_be_read(text: str, message: str) -> None:
    with pytest.raises(Refusal) as refusal:
        field_selector(text)

    assert (refusal.value.code, refusal.value.reason, refusal.value.message) == (400, "BadRequest", message)


class _Fields(Strategy):
    def __init__(self, *names: str) -> None:
        self._names = names

    def selectable_fields(self, document: dict[str, Any]) -> dict[str, str]:
        return dict.fromkeys(self._names, "")


def _definition(
    plural: str, kind: str, strategy: Strategy, group: str = "", namespaced: bool = True, custom: bool = False
) -> Definition:
    return Definition(group, "v1", plural, kind, namespaced, Schema(), strategy=strategy, custom=custom)


PODS = _definition("pods", "Pod", _Fields("spec.nodeName", "status.phase"))
NODES = _definition("nodes", "Node", _Fields("spec.unschedulable"), namespaced=False)
CONFIG_MAPS = _definition("configmaps", "ConfigMap", Strategy())
CLASSES = _definition("storageclasses", "StorageClass", Strategy(), "storage.k8s.io", namespaced=False)
SLICES = _definition(
    "resourceslices", "ResourceSlice", _Fields("spec.driver"), "resource.k8s.io", namespaced=False
)
THINGS = _definition("things", "Thing", Strategy(), "example.com", custom=True)


@pytest.mark.parametrize(
    ("definition", "text", "message"),
    [
        (PODS, "spec.nodeName=x,status.phase!=y,metadata.name=x,metadata.namespace=z", ""),
        (PODS, "spec.foo=x", "field label not supported: spec.foo"),
        (PODS, "status.phase=Running,spec.foo=1,spec.bar=2", "field label not supported: spec.bar"),
        (PODS, "!=x", "field label not supported: "),
        (NODES, "spec.unschedulable=true", ""),
        (NODES, "metadata.namespace=x", "field label not supported: metadata.namespace"),
        (CONFIG_MAPS, "metadata.name=x,metadata.namespace=y", ""),
        (
            CONFIG_MAPS,
            "spec.foo=x",
            '"spec.foo" is not a known field selector: only "metadata.name", "metadata.namespace"',
        ),
        (CLASSES, "metadata.namespace=y", ""),
        (SLICES, "spec.driver=x", ""),
        (
            SLICES,
            "spec.foo=x",
            "field label not supported for resource.k8s.io/v1, Kind=ResourceSlice: spec.foo",
        ),
        (THINGS, "metadata.namespace=x", ""),
        (THINGS, "spec.foo=x", "field label not supported: spec.foo"),
    ],
)
def test_fields_a_kind_does_not_have(definition: Definition, text: str, message: str) -> None:
    selector = field_selector(text)
    if not message:
        check_fields(selector, definition)
        return
    with pytest.raises(Refusal) as refusal:
        check_fields(selector, definition)
    assert (refusal.value.code, refusal.value.message) == (400, message)


@given(st.text() | st.lists(st.sampled_from([*"ab=!(),<> \\\0", "in", "notin"])).map("".join))
def test_every_text_is_read_or_refused(text: str) -> None:
    for read in (label_selector, field_selector):
        try:
            read(text).matches({"a": "b"})
        except Refusal as refusal:
            assert refusal.code == 400
