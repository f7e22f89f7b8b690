"""Creating, changing, deleting and binding, against small servers on loopback."""

from __future__ import annotations

import pytest

from moorage.client import Client
from moorage.client.errors import (
    Conflict,
)
from moorage.client.http import HttpClient
from moorage.client.pod_writer import PodWriter
from tests.client.conversations import NODES, POD, PODS, Recorder, node, ok, talk
from tests.client.loopback import status


def test_writes() -> None:
    made = node("n")
    server = Recorder(*(lambda: ok(done=True) for _ in range(8)))
    thing = {"metadata": {"namespace": "a", "name": "b"}}

    async def conversation(client: HttpClient) -> None:
        assert await client.create(NODES, made) == {"done": True}
        await client.create(PODS, thing)
        await client.create(PODS, {"e": 1}, namespace="a", name="b", subresource="eviction")
        await client.update(PODS, thing, subresource="status")
        await client.patch(PODS, "b", {"x": 1}, namespace="a")
        await client.patch(NODES, "n", [{"op": "remove"}], kind="json", field_manager="me")
        await client.patch(NODES, "n", made, kind="apply", force=True)
        await client.patch(NODES, "n", made, kind="strategic", subresource="status")

    talk(server, conversation)
    pod = "/api/v1/namespaces/a/pods/b"
    assert server.lines == [
        "POST /api/v1/nodes",
        "POST /api/v1/namespaces/a/pods",
        f"POST {pod}/eviction",
        f"PUT {pod}/status",
        f"PATCH {pod}?fieldManager=moorage",
        "PATCH /api/v1/nodes/n?fieldManager=me",
        "PATCH /api/v1/nodes/n?fieldManager=moorage&force=true",
        "PATCH /api/v1/nodes/n/status?fieldManager=moorage",
    ]
    assert [request.headers["Content-Type"] for request in server.requests] == [
        *["application/json"] * 4,
        "application/merge-patch+json",
        "application/json-patch+json",
        "application/apply-patch+yaml",
        "application/strategic-merge-patch+json",
    ]
    assert server.bodies[0] == made and server.bodies[5] == [{"op": "remove"}]


def test_delete() -> None:
    server = Recorder(ok(), ok())

    async def conversation(client: HttpClient) -> None:
        await client.delete(NODES, "n")
        await client.delete(PODS, "b", namespace="a", uid="u", resource_version="7", grace_period_seconds=0)

    talk(server, conversation)
    options = {"apiVersion": "v1", "kind": "DeleteOptions"}
    preconditions = {"uid": "u", "resourceVersion": "7"}
    assert server.bodies == [
        options,
        options | {"gracePeriodSeconds": 0, "preconditions": preconditions},
    ]


def test_bind() -> None:
    server = Recorder(ok(), status(409, "Conflict", "pod b is already assigned"))

    async def conversation(http: HttpClient) -> None:
        client = PodWriter(http)
        scheduler_client: Client = client
        assert scheduler_client is client
        await client.bind(POD, "n")
        with pytest.raises(Conflict, match="already assigned"):
            await client.bind(POD, "n")

    talk(server, conversation)
    assert server.lines == ["POST /api/v1/namespaces/a/pods/b/binding"] * 2
    assert server.bodies[0] == {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"namespace": "a", "name": "b", "uid": "u"},
        "target": {"kind": "Node", "name": "n"},
    }
