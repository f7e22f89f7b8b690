"""A bind whose answer is lost: the pod may be bound or not, and that is found out."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from moorage.client.connection import ConnectionConfig
from moorage.client.errors import (
    ApiError,
    Conflict,
    Forbidden,
    InternalError,
    NotFound,
    ServerTimeout,
    ServiceUnavailable,
    TimedOut,
    Unreachable,
)
from moorage.client.http import HttpClient
from moorage.client.pod_writer import PodWriter
from moorage.testing import make_pod

POD = make_pod("p", uid="the-uid")
LOST = Unreachable(0, "", "connection reset")


def seen(node: str, uid: str = "the-uid") -> bytes:
    return msgspec.json.encode(make_pod("p", uid=uid, node=node).raw)


class Script:
    """Stands for the session: one answer per request."""

    def __init__(self, *answers: bytes | Exception) -> None:
        self.answers = list(answers)
        self.asked: list[str] = []
        self.slept: list[float] = []

    async def send(self, method: str, path: str, *arguments: Any, **keywords: Any) -> bytes:
        self.asked.append(method)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)


def bind(*answers: bytes | Exception) -> Script:
    async def run() -> Script:
        script = Script(*answers)
        client = HttpClient(ConnectionConfig("http://127.0.0.1:1"), sleep=script.sleep, random=lambda: 0.0)
        client._session = script  # type: ignore[assignment]
        await PodWriter(client).bind(POD, "n1")
        assert script.answers == []
        return script

    return asyncio.run(run())


def test_an_answer_is_believed() -> None:
    assert bind(b"{}").asked == ["POST"]
    with pytest.raises(Conflict):
        bind(Conflict(409, "Conflict", "already assigned"))
    with pytest.raises(Forbidden):
        bind(Forbidden(403, "Forbidden", "no"))


@pytest.mark.parametrize("lost", [LOST, TimedOut(0, "", "no answer in time")])
def test_without_an_answer_a_bound_pod_counts_as_bound(lost: ApiError) -> None:
    assert bind(lost, seen("n1")).asked == ["POST", "GET"]


@pytest.mark.parametrize("found", [seen("n2"), seen("n1", uid="another"), NotFound(404, "", "gone")])
def test_without_an_answer_a_pod_that_is_elsewhere_or_gone_counts_as_not_bound(
    found: bytes | Exception,
) -> None:
    with pytest.raises(Unreachable, match="connection reset"):
        bind(LOST, found)


@pytest.mark.parametrize("lost", [LOST, TimedOut(0, "", "no answer in time"), ServerTimeout(504, "", "late")])
def test_a_bind_that_may_be_on_its_way_is_repeated_to_the_same_node(lost: ApiError) -> None:
    assert bind(lost, seen(""), b"{}").asked == ["POST", "GET", "POST"]
    already = Conflict(409, "Conflict", "already assigned")
    assert bind(lost, seen(""), already, seen("n1")).asked == ["POST", "GET"] * 2
    with pytest.raises(type(lost)):
        bind(lost, seen(""), lost, seen(""), lost, seen(""))


@pytest.mark.parametrize("trouble", [InternalError(500, "", "etcd"), ServiceUnavailable(503, "", "starting")])
def test_a_server_in_trouble_is_asked_whether_it_did_it_all_the_same(trouble: ApiError) -> None:
    assert bind(trouble, seen("n1")).asked == ["POST", "GET"]
    with pytest.raises(type(trouble)):
        bind(trouble, seen(""))


def test_it_is_asked_until_the_server_answers() -> None:
    down = ServiceUnavailable(503, "", "starting")
    script = bind(LOST, LOST, down, LOST, LOST, LOST, LOST, LOST, seen("n1"))
    assert script.asked == ["POST", *["GET"] * 8]
    assert script.slept == pytest.approx([0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5.0])


def test_a_server_that_does_not_let_it_look_ends_the_asking() -> None:
    with pytest.raises(Forbidden):
        bind(LOST, Forbidden(403, "Forbidden", "no"))
