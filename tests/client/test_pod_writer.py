"""Binds do not wait behind late writes."""

from __future__ import annotations

import asyncio

from moorage.api.pods import Condition
from moorage.client.connection import ConnectionConfig
from moorage.client.http import HttpClient
from moorage.client.pod_writer import PodWriter
from moorage.testing import make_pod
from tests.client.test_bind import Script

POD = make_pod("p")
CONFIG = ConnectionConfig("http://127.0.0.1:1")


def test_the_status_of_pods_goes_through_the_other_client() -> None:
    async def run() -> tuple[list[str], list[str]]:
        late = HttpClient(CONFIG)
        http = HttpClient(CONFIG)
        client = PodWriter(http, late=late)
        slow, quick = Script(b"{}"), Script(b"{}", b"{}")
        late._session, http._session = slow, quick  # type: ignore[assignment]
        await client.write_pod_status(POD, condition=Condition(type="PodScheduled", status="False"))
        await client.bind(POD, "n")
        await client.delete_pod(POD)
        return slow.asked, quick.asked

    assert asyncio.run(run()) == (["PATCH"], ["POST", "DELETE"])
