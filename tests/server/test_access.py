"""Who is let in, and how long an answer is remembered."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from multidict import CIMultiDict

from moorage.server import remembered
from moorage.server.access import Access, Refused
from moorage.server.authentication import ANONYMOUS, Authentication, Credentials, UserInfo
from moorage.server.reviews import ACCESS_REVIEWS, TOKEN_REVIEWS, ApiReviewer

ALICE = UserInfo("alice", ("readers", "system:authenticated"))


class FakeReviewer:
    def __init__(self) -> None:
        self.asked: list[tuple[str, ...]] = []
        self.allowed = True
        self.broken = False

    async def review_token(self, token: str) -> UserInfo | None:
        self.asked.append((token,))
        self._fail()
        return UserInfo("alice", ("readers",)) if token == "good" else None

    async def review_access(self, user: UserInfo, verb: str, path: str) -> bool:
        self.asked.append((user.name, verb, path))
        self._fail()
        return self.allowed

    def _fail(self) -> None:
        if self.broken:
            raise ConnectionError("no route")


class World:
    def __init__(self, token_ttl: float = 10.0, **settings: Any) -> None:
        self.now = 0.0
        self.reviewer = FakeReviewer()
        authentication = Authentication(tokens=self.reviewer, token_ttl=token_ttl, clock=lambda: self.now)
        self.access = Access(authentication, self.reviewer, clock=lambda: self.now, **settings)

    def check(self, path: str, token: str = "good", verb: str = "get") -> UserInfo:
        return ask(self.access, path, f"Bearer {token}", verb)


def ask(asked: Access, path: str, authorization: str = "", verb: str = "get") -> UserInfo:
    headers = CIMultiDict({"authorization": authorization} if authorization else {})
    return asyncio.run(asked.check(Credentials(headers=headers), verb, path))


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/livez"])
def test_health_needs_no_credentials(path: str) -> None:
    assert ask(Access(), path) == ANONYMOUS


@pytest.mark.parametrize("path", ["/metrics", "/readyz/ping", "/healthz/", "/healthzz", "/"])
def test_everything_else_does(path: str) -> None:
    with pytest.raises(Refused) as refused:
        ask(Access(), path)
    assert refused.value.code == 403
    assert refused.value.message == f'forbidden: User "system:anonymous" cannot get path "{path}"'


def test_exempt_paths_can_be_chosen() -> None:
    open_to_all = Access(always_allow_paths=["/metrics*", "/version"])
    for path in ("/metrics", "/metrics/slis", "/version"):
        assert ask(open_to_all, path) == ANONYMOUS
    for path in ("/version/more", "/healthz"):
        with pytest.raises(Refused):
            ask(open_to_all, path)


def test_without_a_reviewer_a_token_says_nothing() -> None:
    with pytest.raises(Refused, match="system:anonymous"):
        ask(Access(), "/metrics", "Bearer good")


def test_the_owner_of_a_token_is_asked_about() -> None:
    world = World()
    assert world.check("/metrics") == ALICE
    assert world.reviewer.asked == [("good",), ("alice", "get", "/metrics")]


@pytest.mark.parametrize("path", ["/metrics", "/healthz"])
def test_a_wrong_token_is_refused_everywhere(path: str) -> None:
    with pytest.raises(Refused, match="Unauthorized") as refused:
        World().check(path, token="bad")
    assert refused.value.code == 401


def test_anonymous_callers_may_be_allowed_by_the_reviewer() -> None:
    assert ask(World().access, "/metrics") == ANONYMOUS


def test_other_kinds_of_credentials_are_nobody() -> None:
    for authorization in ("Basic abc", "Bearer ", "Bearer  good", "good"):
        assert ask(World().access, "/metrics", authorization) == ANONYMOUS


def test_a_token_that_is_not_to_be_remembered_is_reviewed_each_time() -> None:
    world = World(token_ttl=0.0)
    world.check("/metrics")
    world.check("/metrics")
    assert [asked for asked in world.reviewer.asked if len(asked) == 1] == [("good",), ("good",)]


def test_answers_are_remembered_for_their_time() -> None:
    world = World()
    world.check("/metrics")
    world.now = 9.9
    world.check("/metrics")
    assert len(world.reviewer.asked) == 2
    world.now = 10.0
    world.check("/metrics")
    assert len(world.reviewer.asked) == 4


def test_a_refusal_is_remembered_for_its_own_time() -> None:
    world = World(allowed_ttl=100.0, denied_ttl=3.0)
    world.reviewer.allowed = False
    for now, asked in [(0.0, 2), (2.9, 2), (3.0, 3)]:
        world.now = now
        with pytest.raises(Refused, match='User "alice" cannot put path "/x"'):
            world.check("/x", verb="put")
        assert len(world.reviewer.asked) == asked


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remembered, "MOST_REMEMBERED", 2)
    world = World()
    for path in ("/a", "/b", "/c", "/b", "/c", "/a"):
        world.check(path)
    paths = [asked[2] for asked in world.reviewer.asked if len(asked) == 3]
    assert paths == ["/a", "/b", "/c", "/a"]


def test_a_reviewer_that_fails_lets_nobody_in_and_is_asked_again() -> None:
    world = World()
    world.reviewer.broken = True
    with pytest.raises(Refused) as refused:
        world.check("/metrics")
    assert refused.value.code == 401
    with pytest.raises(Refused) as refused:
        ask(world.access, "/metrics")
    assert refused.value.code == 500
    world.reviewer.broken = False
    assert world.check("/metrics") == ALICE


# The API server as reviewer


class FakeClient:
    def __init__(self, status: dict[str, Any]) -> None:
        self.status = status
        self.sent: list[tuple[str, str, dict[str, Any]]] = []

    async def request_json(self, method: str, path: str, body: dict[str, Any]) -> dict[str, Any]:
        self.sent.append((method, path, body))
        return {**body, "status": self.status}


def test_a_token_is_reviewed() -> None:
    user = {"username": "alice", "uid": "1", "groups": ["readers"], "extra": {"scope": ["a", "b"]}}
    client = FakeClient({"authenticated": True, "user": user})
    found = asyncio.run(ApiReviewer(client).review_token("secret"))
    assert found == UserInfo("alice", ("readers",), "1", (("scope", ("a", "b")),))
    [(method, path, body)] = client.sent
    assert (method, path, body["spec"]) == ("POST", TOKEN_REVIEWS, {"token": "secret"})


@pytest.mark.parametrize("status", [{}, {"authenticated": False}, {"authenticated": True, "user": {}}])
def test_a_token_is_not_valid(status: dict[str, Any]) -> None:
    assert asyncio.run(ApiReviewer(FakeClient(status)).review_token("secret")) is None


def test_a_review_with_an_error_says_nothing_about_the_token() -> None:
    with pytest.raises(RuntimeError, match="webhook is down"):
        asyncio.run(ApiReviewer(FakeClient({"error": "webhook is down"})).review_token("secret"))


@pytest.mark.parametrize(
    ("status", "allowed"),
    [
        ({"allowed": True}, True),
        ({"allowed": False}, False),
        ({}, False),
        ({"allowed": True, "denied": True}, False),
    ],
)
def test_access_is_reviewed(status: dict[str, Any], allowed: bool) -> None:
    client = FakeClient(status)
    user = UserInfo("alice", ("readers",), "1", (("scope", ("a",)),))
    assert asyncio.run(ApiReviewer(client).review_access(user, "get", "/metrics")) is allowed
    [(method, path, body)] = client.sent
    assert (method, path) == ("POST", ACCESS_REVIEWS)
    assert body["spec"] == {
        "user": "alice",
        "uid": "1",
        "groups": ["readers"],
        "extra": {"scope": ["a"]},
        "nonResourceAttributes": {"verb": "get", "path": "/metrics"},
    }
