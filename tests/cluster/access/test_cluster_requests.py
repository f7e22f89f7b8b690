from __future__ import annotations

import pytest

from moorage.cluster.access.requests import Place, Query, place_of
from moorage.cluster.base.errors import Refusal


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ("/api/v1/nodes", Place("", "v1", plural="nodes")),
        ("/api/v1/nodes/a", Place("", "v1", plural="nodes", name="a")),
        ("/api/v1/namespaces", Place("", "v1", plural="namespaces")),
        ("/api/v1/namespaces/x", Place("", "v1", plural="namespaces", name="x")),
        ("/api/v1/namespaces/x/status", Place("", "v1", plural="namespaces", name="x", subresource="status")),
        ("/api/v1/namespaces/x/pods", Place("", "v1", "x", "pods")),
        ("/api/v1/namespaces/x/pods/p/log", Place("", "v1", "x", "pods", "p", "log")),
        ("/apis/apps/v1/namespaces/x/deployments/d/", Place("apps", "v1", "x", "deployments", "d")),
        ("/apis/a.b/v1/things/a%2Fb", Place("a.b", "v1", plural="things", name="a/b")),
        ("/api/v1", Place("", "v1")),
        ("/api", None),
        ("/apis/apps", None),
        ("/version", None),
        ("/", None),
        ("/api/v1//nodes", None),
        ("/api/v1/namespaces/x/pods/p/log/more", Place("", "v1", "x", "pods", "p", "log", beyond=True)),
        ("/api/v1/nodes/a/b/c", Place("", "v1", "", "nodes", "a", "b", beyond=True)),
    ],
)
def test_paths(path: str, place: Place | None) -> None:
    assert place_of(path) == place


def test_query() -> None:
    query = Query("watch=1&limit=500&labelSelector=a%3Db&labelSelector=c&dryRun=All&force")
    assert query.flag("watch")
    assert query.flag("force")
    assert not query.flag("absent")
    assert query.number("limit") == 500
    assert query.number("absent") is None
    assert query.text("labelSelector") == "a=b"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("limit=x", "invalid syntax"),
        ("limit=", "invalid syntax"),
        ("limit=1.5", "invalid syntax"),
        ("limit=1_0", "invalid syntax"),
        ("limit=+1", "invalid syntax"),
        ("limit=٣", "invalid syntax"),
        ("limit=99999999999999999999", "value out of range"),
        ("limit=" + "9" * 5000, "value out of range"),
    ],
)
def test_a_number_must_be_one(text: str, why: str) -> None:
    with pytest.raises(Refusal, match=why) as info:
        Query(text).number("limit")
    assert info.value.code == 400


@pytest.mark.parametrize(
    ("text", "set_"),
    [("", True), ("1", True), ("maybe", True), ("f", True), ("0", False), ("false", False), ("False", False)],
)
def test_flags(text: str, set_: bool) -> None:
    assert Query(f"watch={text}").flag("watch") is set_


def test_too_many_parameters() -> None:
    with pytest.raises(Refusal):
        Query("&".join(f"a{number}=1" for number in range(200)))
