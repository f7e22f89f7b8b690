from __future__ import annotations

import pytest

from moorage.cluster.errors import Refusal
from moorage.cluster.requests import Place, Query, place_of


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
        ("/api/v1/namespaces/x/pods/p/log/more", None),
        ("/api/v1/nodes/a/b/c", None),
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


@pytest.mark.parametrize("text", ["limit=x", "limit=1.5", "limit=99999999999999999999", "limit=٣"])
def test_a_number_must_be_one(text: str) -> None:
    with pytest.raises(Refusal) as info:
        Query(text).number("limit")
    assert info.value.code == 400


def test_a_flag_must_be_one() -> None:
    with pytest.raises(Refusal, match="neither true nor false"):
        Query("watch=maybe").flag("watch")
    assert not Query("watch=false").flag("watch")


def test_too_many_parameters() -> None:
    with pytest.raises(Refusal):
        Query("&".join(f"a{number}=1" for number in range(200)))
