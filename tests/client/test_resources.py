"""Where objects live."""

from __future__ import annotations

from typing import ClassVar

import pytest

from moorage.api.coordination import Lease
from moorage.api.meta import Object
from moorage.api.nodes import Node
from moorage.api.pods import Pod
from moorage.client.resources import Resource


class Widget(Object, kw_only=True):
    group: ClassVar[str] = "shop.example.com"
    version: ClassVar[str] = "v2"
    kind: ClassVar[str] = "Widget"
    resource: ClassVar[str] = "widgets"

    color: str = ""


@pytest.mark.parametrize(
    ("resource", "where", "path"),
    [
        (Resource.of(Pod), (), "/api/v1/pods"),
        (Resource.of(Pod), ("a",), "/api/v1/namespaces/a/pods"),
        (Resource.of(Pod), ("a", "b"), "/api/v1/namespaces/a/pods/b"),
        (Resource.of(Pod), ("a", "b", "binding"), "/api/v1/namespaces/a/pods/b/binding"),
        (Resource.of(Pod), ("a", "../b?c"), "/api/v1/namespaces/a/pods/..%2Fb%3Fc"),
        (Resource.of(Node), ("", "n"), "/api/v1/nodes/n"),
        (Resource.of(Lease), ("a", "b"), "/apis/coordination.k8s.io/v1/namespaces/a/leases/b"),
        (Resource.of(Widget), ("a",), "/apis/shop.example.com/v2/namespaces/a/widgets"),
        (Resource("g", "v1", "things", "Thing", False, Object), ("", "t"), "/apis/g/v1/things/t"),
    ],
)
def test_paths(resource: Resource[Object], where: tuple[str, ...], path: str) -> None:
    assert resource.path(*where) == path


def test_resources_show_what_they_are() -> None:
    assert str(Resource.of(Pod)) == "pods"
    assert str(Resource.of(Lease)) == "leases.coordination.k8s.io"
    assert Resource.of(Widget).api_version == "shop.example.com/v2"
    with pytest.raises(ValueError, match="Pod b: objects of this kind need a namespace"):
        Resource.of(Pod).path(name="b")
    with pytest.raises(TypeError, match="Object does not say where its objects live"):
        Resource.of(Object)


def test_a_namespace_for_a_kind_without_namespaces_is_refused() -> None:
    """It would have been ignored: a list of all objects where those of a namespace are meant."""
    for arguments in (("default",), ("default", "a")):
        with pytest.raises(ValueError, match="Node: objects of this kind have no namespace"):
            Resource.of(Node).path(*arguments)
