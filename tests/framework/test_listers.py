"""Listers as authors use them, and the one way in which everything is asked for by name."""

from __future__ import annotations

import asyncio
import inspect
from typing import Any, ClassVar

import pytest

from moorage import Lister, Node, Object, ObjectMeta
from moorage.api.storage import CSIDriver, PersistentVolume
from moorage.api.workloads import Namespace
from moorage.client.http import HttpClient
from moorage.client.resource_client import ResourceClient
from moorage.framework.runtime.waiting_pods import WaitingPod, WaitingPods
from moorage.testing import FakeHandle, make_node, make_pod


class License(Object, kw_only=True):
    """A resource in namespaces."""

    group: ClassVar[str] = "shop.example.com"
    resource: ClassVar[str] = "licenses"
    kind: ClassVar[str] = "License"


class Nameless(Object, kw_only=True):
    """A class that does not say where its objects live."""


def made(name: str, namespace: str = "shop", uid: str = "") -> License:
    return License(metadata=ObjectMeta(name=name, namespace=namespace, uid=uid))


def test_a_lister_is_a_collection_of_its_objects() -> None:
    handle = FakeHandle([gold := made("gold"), silver := made("silver"), other := made("gold", "other")])
    licenses = handle.lister_of(License)
    assert list(licenses) == [gold, silver, other]
    assert len(licenses) == 3
    assert gold in licenses
    assert made("bronze") not in licenses
    assert list(licenses.list(namespace="other")) == [other]
    handle.remove(silver)
    assert silver not in licenses and len(licenses) == 2


def test_an_object_is_in_a_lister_in_whatever_version() -> None:
    handle = FakeHandle([made("gold", uid="1")])
    licenses = handle.lister_of(License)
    assert made("gold", uid="1") in licenses
    assert made("gold", uid="2") not in licenses, "it was deleted, and another one has its name"
    assert "node" in FakeHandle([make_node()]).lister_of(Node)
    with pytest.raises(TypeError, match="a lister holds objects: give one, or a name, not int"):
        assert 7 in licenses


def test_a_loop_over_a_lister_goes_on_while_objects_come() -> None:
    handle = FakeHandle([made("gold"), made("silver")])
    licenses = handle.lister_of(License)
    for found in licenses:
        handle.add(made(f"{found.name}-2"))
    assert len(licenses) == 4


def test_an_empty_lister_gets_what_is_put_into_it() -> None:
    handle = FakeHandle()
    untyped = handle.lister("example.com", "v1", "prices")
    assert len(untyped) == 0
    handle.services.door.put(price := Object(metadata=ObjectMeta(name="p")), untyped)
    assert list(untyped) == [price]
    handle.services.door.remove(price, untyped)
    assert list(untyped) == []


def test_objects_are_asked_for_by_name_and_namespace() -> None:
    licenses = FakeHandle([gold := made("gold")]).lister_of(License)
    assert licenses.get("gold", namespace="shop") is gold
    assert licenses.get("gold", namespace="other") is None
    ask: Any = licenses.get
    for order in (("gold", "shop"), ("shop", "gold")):
        with pytest.raises(TypeError, match="positional argument"):
            ask(*order)
    for item in ("shop", "gold"):
        with pytest.raises(TypeError, match="positional argument"):
            any_list: Any = licenses.list
            any_list(item)


@pytest.mark.parametrize(
    ("kind", "asked", "problem"),
    [
        (License, {"name": "shop/gold"}, r"licenses live in namespaces: use get\('gold', namespace='shop'\)"),
        (License, {"name": "gold"}, r"licenses live in namespaces: use get\('gold', namespace=\.\.\.\)"),
        (Nameless, {"name": "a/b"}, r"things live in namespaces: use get\('b', namespace='a'\)"),
        (Namespace, {"name": "a", "namespace": "b"}, r"namespaces have no namespaces: use get\('a'\)"),
    ],
)
def test_a_question_that_nothing_can_answer_is_refused(
    kind: type[Object], asked: dict[str, str], problem: str
) -> None:
    lister = FakeHandle().lister(kind.group, "v1", kind.resource or "things", kind)
    with pytest.raises(ValueError, match=problem):
        lister.get(**asked)


def test_names_that_come_from_other_objects_may_be_anything() -> None:
    handle = FakeHandle([License(metadata=ObjectMeta(name="stray"))])
    assert handle.lister_of(License).get("stray", namespace="") is not None
    assert handle.lister_of(License).get("a/b", namespace="shop") is None
    assert handle.lister_of(CSIDriver).get("kubernetes.io/aws-ebs") is None
    assert handle.lister_of(PersistentVolume).get("v", namespace="") is None


def test_a_class_that_says_nothing_may_have_either() -> None:
    handle = FakeHandle()
    for kind in (Object, Nameless):
        lister = handle.lister("example.com", "v1", f"{kind.__name__.lower()}s", kind)
        assert lister.get("x") is None and lister.get("x", namespace="shop") is None


def test_waiting_pods_are_asked_for_in_the_same_way() -> None:
    async def main() -> None:
        waiting_pods = WaitingPods()
        first, second = (WaitingPod(make_pod("p", uid=uid), {"A": 1}) for uid in "12")
        waiting_pods.add(first)
        assert waiting_pods.get("p", namespace="default") is first
        assert waiting_pods.get("p", namespace="other") is None
        assert waiting_pods.with_uid("1") is first and waiting_pods.with_uid("p") is None
        ask: Any = waiting_pods.get
        with pytest.raises(TypeError):
            ask("1")
        waiting_pods.add(second)
        waiting_pods.remove("1")
        assert waiting_pods.get("p", namespace="default") is second
        waiting_pods.remove("2")
        assert waiting_pods.get("p", namespace="default") is None
        first.allow("A")
        second.allow("A")

    asyncio.run(main())


@pytest.mark.parametrize("method", [Lister.get, ResourceClient.get, HttpClient.get, WaitingPods.get])
def test_a_namespace_is_a_keyword_and_comes_after_the_name(method: Any) -> None:
    parameters = inspect.signature(method).parameters
    assert [*parameters].index("name") < [*parameters].index("namespace")
    assert parameters["namespace"].kind is inspect.Parameter.KEYWORD_ONLY
