"""The client of tests answers as a client of an API server does: results and errors of the same requests."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from moorage import Pod
from moorage.api.pods import Condition
from moorage.client.connection import from_kubeconfig
from moorage.client.errors import ApiError
from moorage.client.http import HttpClient
from moorage.client.pod_writer import PodWriter
from moorage.client.resource_client import ResourceClient
from moorage.client.resources import Resource
from moorage.testing import FakeHandle
from tests.embedded.clusters import Embedded

PODS = Resource.of(Pod)
PLACE = "default"

Told = list[Any]


async def outcome(work: Awaitable[Any], show: Callable[[Any], Any] = lambda answer: None) -> Any:
    """What came back, or the error as a plugin meets it."""
    try:
        return show(await work)
    except ApiError as error:
        message = re.sub(r"in record \(.*?\)", "in record", str(error))
        return (type(error).__name__, error.code, error.reason, message)


def labels(document: dict[str, Any]) -> Any:
    return document["metadata"].get("labels")


def conditions(pod: Pod) -> list[tuple[str, str]]:
    return sorted((each.type, each.status) for each in pod.status.conditions)


async def story(http: HttpClient) -> Told:
    pods, writer = ResourceClient(http, Pod), PodWriter(http)
    document = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "default", "labels": {"a": "1"}},
        "spec": {"containers": [{"name": "main", "image": "i"}], "schedulerName": "nobody"},
    }
    told: Told = [
        await outcome(http.get(PODS, "p", namespace=PLACE)),
        await outcome(http.create(PODS, document), labels),
        await outcome(http.create(PODS, document)),
    ]
    first = await pods.get("p", namespace=PLACE)
    stale = await pods.get("p", namespace=PLACE)
    first.metadata.labels = {"a": "2"}
    told += [
        await outcome(pods.update(first), lambda pod: pod.labels),
        await outcome(pods.update(stale)),
        await outcome(
            http.patch(PODS, "p", {"metadata": {"labels": {"b": "1", "a": None}}}, namespace=PLACE), labels
        ),
        await outcome(
            http.patch(
                PODS,
                "p",
                [{"op": "test", "path": "/metadata/labels/b", "value": "2"}],
                kind="json",
                namespace=PLACE,
            ),
        ),
        await outcome(
            http.patch(
                PODS,
                "p",
                [{"op": "add", "path": "/metadata/labels/c", "value": "3"}],
                kind="json",
                namespace=PLACE,
            ),
            labels,
        ),
        await outcome(http.patch(PODS, "q", {}, namespace=PLACE)),
        await outcome(
            pods.list(label_selector="b in (1, 2),!a", namespace=PLACE), lambda found: [p.name for p in found]
        ),
        await outcome(
            pods.list(label_selector="b!=1", namespace=PLACE), lambda found: [p.name for p in found]
        ),
        await outcome(
            pods.list(field_selector="metadata.name=p,spec.nodeName=", namespace=PLACE),
            lambda found: [p.name for p in found],
        ),
    ]
    pod = await pods.get("p", namespace=PLACE)
    mark = Condition(type="PodScheduled", status="False", reason="Unschedulable", message="no")
    other = Condition(type="example.com/Mine", status="True")
    told.append(await outcome(writer.write_pod_status(pod, condition=mark, nominated_node="n")))
    told.append(await outcome(writer.write_pod_status(pod, condition=other)))
    marked = await pods.get("p", namespace=PLACE)
    told += [conditions(marked), marked.status.nominated_node_name]
    told.append(await outcome(writer.bind(pod, "n")))
    bound = await pods.get("p", namespace=PLACE)
    told += [bound.spec.node_name, conditions(bound), bound.status.nominated_node_name]
    told.append(await outcome(writer.bind(pod, "m")))
    told.append(await outcome(http.delete(PODS, "p", namespace=PLACE, uid="another")))
    told.append(await outcome(http.delete(PODS, "p", namespace=PLACE, resource_version="1000000")))
    told.append(await outcome(http.delete(PODS, "p", namespace=PLACE, grace_period_seconds=0)))
    told.append(await outcome(http.delete(PODS, "p", namespace=PLACE)))
    return told


@pytest.fixture(scope="module")
def expected() -> Told:
    async def main(kubeconfig: str) -> Told:
        async with HttpClient(from_kubeconfig(kubeconfig)) as http:
            return await story(http)

    with Embedded("--nodes=0") as cluster:
        return asyncio.run(main(str(cluster.kubeconfig)))


def test_the_same_requests_have_the_same_answers(expected: Told) -> None:
    found = asyncio.run(story(FakeHandle().client.http))
    assert found == expected
