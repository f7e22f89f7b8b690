"""Whatever is sent, the answer is never the server's own failure, and nothing that is stored is damaged."""

from __future__ import annotations

import asyncio
import itertools
import json
import logging
import time
from pathlib import Path
from typing import Any

import pytest

from moorage.cluster.access.requests import Answer, Request, Stream
from moorage.cluster.access.users import User
from moorage.cluster.access.write_options import Options
from moorage.cluster.base.store import Document
from moorage.cluster.kinds.catalog import STRATEGIES
from moorage.cluster.objects.decoding import shape
from moorage.cluster.schema.definitions import Definitions
from moorage.cluster.schema.discovery_data import builtin_definitions
from tests.cluster.api_worlds import CONFIG_MAPS, TOKEN, World, config_map, living
from tests.embedded.api_samples import Collection, collections, crd, samples
from tests.embedded.malformed import Generator, Wrong

REQUESTS = 5000
SOAK_ROUNDS = 20
SLOWEST = 5.0  # seconds, on a machine that does other things too
TOO_NEW = 504
FORMS = (
    "application/json",
    "application/yaml",
    "application/json;as=Table;v=v1;g=meta.k8s.io",
    "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
)


@pytest.mark.soak
def test_a_malformed_request_is_refused_and_does_no_damage(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, soak: bool
) -> None:
    for seed in range(SOAK_ROUNDS if soak else 1):
        asyncio.run(_send_all(tmp_path, seed))
        assert [
            record for record in caplog.records if record.exc_info or record.levelno >= logging.ERROR
        ] == []


async def _send_all(folder: Path, seed: int) -> None:
    async with living(folder) as world:
        generator = Generator(seed, await _fill(world), samples(), lambda path: _look(world, path))
        for number in range(REQUESTS):
            request = generator.request()
            problem = await _problem_of(world, request)
            assert not problem, f"seed {seed}, request {number}: {request}: {problem}"
            if number % 3 == 0:
                await asyncio.sleep(0)  # the controllers have their turn
        _check_objects(world, collections(world.get))
        _check_still_working(world)


async def _fill(world: World) -> list[Collection]:
    """Makes objects of every kind; returns where they are."""
    world.create("/api/v1/namespaces", {"metadata": {"name": "team"}})
    world.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", crd())
    await asyncio.sleep(0)
    served = collections(world.get)
    for place in served:
        for document in samples().get(place.kind, ()):
            namespace = document.get("metadata", {}).get("namespace", "default")
            world.ask("POST", place.path(namespace), document)
    assert [place.plural for place in served if "list" in place.verbs and not _all(world, place)] == []
    return served


def _all(world: World, place: Collection) -> list[Document]:
    items: list[Document] = world.get(f"{place.root}/{place.plural}")["items"]
    return items


def _look(world: World, path: str) -> Document | None:
    reply = world.ask("GET", path)
    return reply.document if reply.code == 200 else None


async def _problem_of(world: World, request: Wrong) -> str:
    """What is wrong with the answer; empty if nothing is."""
    headers = {"authorization": f"Bearer {TOKEN}", **request.headers}
    began = time.perf_counter()
    answer = world.cluster.handle(
        Request(
            request.method,
            request.target,
            {name: [text] for name, text in headers.items() if text},
            request.body,
        )
    )
    took = time.perf_counter() - began
    if isinstance(answer, Stream):
        return await _problem_of_stream(answer)
    if took > SLOWEST:
        return f"took {took:.1f} s"
    if not 200 <= answer.status < 500 and answer.status != TOO_NEW:
        return f"{answer.status} {answer.body!r}"
    if answer.content_type == "application/json":
        document = json.loads(answer.body)
        if answer.status >= 400 and (document["kind"], document["code"]) != ("Status", answer.status):
            return f"{answer.status} with {document}"
    return ""


async def _problem_of_stream(stream: Stream) -> str:
    """Looks at the first piece, if there is one at once, and ends the stream."""
    first = asyncio.ensure_future(anext(stream.chunks, b""))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    if not first.done():
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
    elif stream.content_type == "application/json":
        for line in first.result().splitlines():
            event = json.loads(line)
            if event["type"] == "ERROR" and event["object"]["code"] >= 500:
                return str(event)
    await stream.close()
    return ""


def _check_objects(world: World, served: list[Collection]) -> None:
    """All objects can be shown in every form, and keep the rules of their kind."""
    for place, form in itertools.product(served, FORMS):
        if "list" in place.verbs:
            world.done("GET", f"{place.root}/{place.plural}", accept=form)
    definitions = Definitions(builtin_definitions(STRATEGIES))
    for resource in world.store.resources():
        definition = definitions.of_storage(resource)
        for stored in world.store.objects(resource):
            document = stored.document
            metadata = document["metadata"]
            assert (metadata["name"], metadata.get("namespace", "")) == (stored.name, stored.namespace)
            assert metadata["resourceVersion"] == str(stored.revision)
            assert metadata["uid"]
            assert json.loads(stored.body) == document
            if definition is not None:
                again = shape(definition, json.loads(stored.body), Options(validation="Strict"))
                assert _without_nulls(again) == _without_nulls(document), f"{resource}: {document}"


def _without_nulls(value: Any) -> Any:
    """Some fields are written as null where they are not set."""
    if isinstance(value, dict):
        return {name: _without_nulls(inner) for name, inner in value.items() if inner is not None}
    return [_without_nulls(inner) for inner in value] if isinstance(value, list) else value


def _check_still_working(world: World) -> None:
    created = world.create(CONFIG_MAPS, config_map("after", a="b"))
    assert world.get(f"{CONFIG_MAPS}/after") == created
    nobody = User("nobody", groups=("system:authenticated",))
    assert world.ask("GET", CONFIG_MAPS, user=nobody).code == 403
    assert world.ask("DELETE", f"{CONFIG_MAPS}/after").code == 200
    assert world.ask("GET", f"{CONFIG_MAPS}/after").code == 404
    assert isinstance(world.cluster.handle(Request("GET", "/readyz", {}, b"")), Answer)
