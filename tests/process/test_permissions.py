"""What the scheduler must be allowed to do."""

from __future__ import annotations

import asyncio
from typing import Any

from moorage.api.nodes import Node
from moorage.client.errors import ApiError
from moorage.client.resources import Resource
from moorage.config import load
from moorage.framework.handle import Services
from moorage.framework.permissions import Permission
from moorage.framework.runtime.profile import Profile
from moorage.plugins.catalog import in_tree_registry
from moorage.process.permissions import missing_permissions, needed, of_service_account
from moorage.scheduler.profiles import DEFAULT_CONFIGURATION, make_profiles

CONFIG = load(DEFAULT_CONFIGURATION).config
NODES = [Resource.of(Node)]


def profiles(text: str = DEFAULT_CONFIGURATION) -> list[Profile]:
    return list(make_profiles(load(text).config, in_tree_registry(), Services()).values())


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
    found = asyncio.run(missing_permissions(server, NODES, profiles(), CONFIG))  # type: ignore[arg-type]
    return [str(permission) for permission in found]


def test_everything_that_is_used_is_asked_for() -> None:
    assert [str(permission) for permission in needed(NODES, profiles(), CONFIG)] == [
        "list nodes",
        "watch nodes",
        "create pods/binding",
        "patch pods/status",
        "create events.events.k8s.io",
        "patch events.events.k8s.io",
        "create resourceclaims.resource.k8s.io",
        "get resourceclaims.resource.k8s.io",
        "update resourceclaims.resource.k8s.io",
        "delete resourceclaims.resource.k8s.io",
        "update resourceclaims/status.resource.k8s.io",
        "patch resourceclaims/status.resource.k8s.io",
        "update resourceclaims/binding.resource.k8s.io",
        "patch resourceclaims/binding.resource.k8s.io",
        "update pods/finalizers",
        "delete pods",
        "update persistentvolumes",
        "update persistentvolumeclaims",
        "create leases.coordination.k8s.io in namespace kube-system",
        "get leases.coordination.k8s.io named kube-scheduler in namespace kube-system",
        "update leases.coordination.k8s.io named kube-scheduler in namespace kube-system",
    ]


def test_without_an_election_no_lease_is_needed() -> None:
    config = load(DEFAULT_CONFIGURATION + "leaderElection: {leaderElect: false}\n").config
    assert not any("leases" in str(permission) for permission in needed(NODES, profiles(), config))


def test_what_is_refused_is_named() -> None:
    assert missing(Server(set())) == []
    assert missing(Server({("list", "nodes"), ("create", "pods")})) == ["list nodes", "create pods/binding"]


def test_a_server_that_does_not_answer_is_not_taken_for_a_refusal() -> None:
    assert missing(Server(set(), fails=True)) == []


def test_what_no_plugin_does_is_not_needed() -> None:
    text = (
        DEFAULT_CONFIGURATION
        + "profiles: [{plugins: {multiPoint: {disabled: [{name: DefaultPreemption}]}}}]\n"
    )
    found = needed(NODES, profiles(text), load(text).config)
    assert Permission("create", "", "pods", "binding") in found
    assert Permission("delete", "", "pods") not in found


def test_a_service_account_may_do_what_is_needed_and_what_is_used_where_it_is_possible() -> None:
    wanted, given = needed(NODES, profiles(), CONFIG), of_service_account(NODES, profiles(), CONFIG)
    assert set(wanted) < set(given)
    assert {str(permission) for permission in set(given) - set(wanted)} == {
        "get nodes",
        "list leases.coordination.k8s.io named kube-scheduler in namespace kube-system",
        "watch leases.coordination.k8s.io named kube-scheduler in namespace kube-system",
        "create events",
        "patch events",
        "create tokenreviews.authentication.k8s.io",
        "create subjectaccessreviews.authorization.k8s.io",
    }
