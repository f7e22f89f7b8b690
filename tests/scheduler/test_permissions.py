"""What the scheduler must be allowed to do."""

from __future__ import annotations

import asyncio
from typing import Any

from moorage.api.nodes import Node
from moorage.client.errors import ApiError
from moorage.client.resources import Resource
from moorage.config import load
from moorage.scheduler.permissions import missing_permissions, needed
from moorage.scheduler.profiles import DEFAULT_CONFIGURATION

CONFIG = load(DEFAULT_CONFIGURATION).config
NODES = [Resource.of(Node)]


class Server:
    """Answers reviews; `refuses` is a set of (verb, resource)."""

    def __init__(self, refuses: set[tuple[str, str]], fails: bool = False) -> None:
        self.refuses = refuses
        self.fails = fails

    async def request_json(self, method: str, path: str, body: dict[str, Any]) -> Any:
        if self.fails:
            raise ApiError(0, "", "no answer")
        asked = body["spec"]["resourceAttributes"]
        return {"status": {"allowed": (asked["verb"], asked["resource"]) not in self.refuses}}


def missing(server: Server) -> list[str]:
    found = asyncio.run(missing_permissions(server, NODES, CONFIG))  # type: ignore[arg-type]
    return [str(permission) for permission in found]


def test_everything_that_is_used_is_asked_for() -> None:
    assert [str(permission) for permission in needed(NODES, CONFIG)] == [
        "list nodes",
        "watch nodes",
        "create pods/binding",
        "patch pods/status",
        "delete pods",
        "create events.events.k8s.io",
        "patch events.events.k8s.io",
        "create leases.coordination.k8s.io in namespace kube-system",
        "get leases.coordination.k8s.io named kube-scheduler in namespace kube-system",
        "update leases.coordination.k8s.io named kube-scheduler in namespace kube-system",
    ]


def test_without_an_election_no_lease_is_needed() -> None:
    config = load(DEFAULT_CONFIGURATION + "leaderElection: {leaderElect: false}\n").config
    assert not any("leases" in str(permission) for permission in needed(NODES, config))


def test_what_is_refused_is_named() -> None:
    assert missing(Server(set())) == []
    assert missing(Server({("list", "nodes"), ("create", "pods")})) == ["list nodes", "create pods/binding"]


def test_a_server_that_does_not_answer_is_not_taken_for_a_refusal() -> None:
    assert missing(Server(set(), fails=True)) == []
