"""Typed reads and writes of the objects of one class."""

from __future__ import annotations

import asyncio
from typing import Any

from moorage import ObjectMeta
from moorage.api.decoding import decode, from_document
from moorage.client.http import HttpClient
from moorage.client.resource_client import ResourceClient, document_of
from tests.api.licenses import License, LicenseSpec, Seat, Tier

HEAD = {"apiVersion": "shop.example.com/v1", "kind": "License"}
META: dict[str, Any] = {"name": "gold", "namespace": "shop"}
READ: dict[str, Any] = {
    **HEAD,
    "metadata": {
        **META,
        "resourceVersion": "7",
        "finalizers": ["keep"],
        "ownerReferences": [{"kind": "Order", "name": "o", "uid": "u", "blockOwnerDeletion": True}],
    },
    "spec": {
        "seats": 5,
        "tier": "gold",
        "region": "eu",
        "unknown": 1,
        "holders": [{"userName": "a", "x": 1}],
    },
    "status": {"used": 2},
}


def test_a_new_object_says_what_it_is() -> None:
    item = License(metadata=ObjectMeta(**META), spec=LicenseSpec(seats=3, holder=Seat("me")))
    spec = {"seats": 3, "holder": {"userName": "me"}}
    assert document_of(item) == {**HEAD, "metadata": META, "spec": spec, "status": {}}


def test_what_was_not_changed_is_written_as_it_was_read() -> None:
    assert document_of(from_document(License, READ)) == READ
    item = from_document(License, READ)
    item.spec.seats = 6
    item.spec.region = None
    item.spec.tier = Tier.SILVER
    item.metadata.labels = {"a": "b"}
    expected = {
        **READ,
        "metadata": {**READ["metadata"], "labels": {"a": "b"}},
        "spec": {"seats": 6, "tier": "silver", "unknown": 1, "holders": [{"userName": "a", "x": 1}]},
    }
    assert document_of(item) == expected
    assert READ["spec"]["seats"] == 5, "what was read stays"


def test_a_list_that_was_changed_is_written_anew() -> None:
    item = from_document(License, READ)
    item.spec.holders.append(Seat("b", since="now"))
    holders = [{"userName": "a"}, {"userName": "b", "since": "now"}]
    assert document_of(item)["spec"]["holders"] == holders


class Recording(HttpClient):
    """Answers every write with what was written."""

    def __init__(self) -> None:
        self.asked: list[Any] = []

    async def create(self, resource: Any, document: Any, **options: Any) -> dict[str, Any]:
        self.asked.append(("create", resource.plural, options))
        return dict(document)

    async def update(self, resource: Any, document: Any, **options: Any) -> dict[str, Any]:
        self.asked.append(("update", resource.plural, options))
        return dict(document)

    async def patch(self, resource: Any, name: str, patch: Any, **options: Any) -> dict[str, Any]:
        self.asked.append(("patch", name, options))
        return {**READ, **patch}

    async def delete(self, resource: Any, name: str, **options: Any) -> None:
        self.asked.append(("delete", name, options))


def test_what_is_written_comes_back_typed() -> None:
    http = Recording()
    client = ResourceClient(http, License)
    item = from_document(License, READ)
    item.spec.seats = 9

    async def everything() -> None:
        assert (await client.create(item)).spec.seats == 9
        assert (await client.update(item)).spec.tier is Tier.GOLD
        assert (await client.update_status(item)).status.used == 2
        patched = await client.patch("gold", {"spec": {"seats": 1}}, namespace="shop")
        assert (type(patched), patched.spec.seats) == (License, 1)
        await client.delete("gold", namespace="shop")

    asyncio.run(everything())
    assert http.asked == [
        ("create", "licenses", {}),
        ("update", "licenses", {}),
        ("update", "licenses", {"subresource": "status"}),
        ("patch", "gold", {"namespace": "shop", "kind": "merge", "subresource": ""}),
        ("delete", "gold", {"namespace": "shop"}),
    ]


def test_an_object_from_bytes_can_be_written_too() -> None:
    item = decode(License, b'{"metadata": {"name": "a"}, "spec": {"seats": 1, "extra": true}}')
    item.spec.seats = 2
    assert document_of(item) == {**HEAD, "metadata": {"name": "a"}, "spec": {"seats": 2, "extra": True}}
