"""Who may make a request is asked before anything else; texts are those of a real API server (v1.36.4)."""

from __future__ import annotations

from typing import Any

import pytest

from moorage.cluster.access.users import AUTHENTICATED, User
from tests.cluster.api_worlds import World

KIM = User("kim", groups=(AUTHENTICATED,))
ROLES = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
TOKENS = "/api/v1/namespaces/default/serviceaccounts/default/token"


@pytest.fixture
def world() -> World:
    return World().prepared()


@pytest.mark.parametrize(
    ("method", "path", "text"),
    [
        ("POST", "/foo", 'forbidden: User "kim" cannot post path "/foo"'),
        ("PUT", "/version", 'forbidden: User "kim" cannot put path "/version"'),
        ("OPTIONS", "/foo", 'forbidden: User "kim" cannot options path "/foo"'),
        (
            "HEAD",
            "/api/v1/nodes",
            'nodes is forbidden: User "kim" cannot list resource "nodes" in API group ""'
            " at the cluster scope",
        ),
        (
            "OPTIONS",
            "/api/v1/pods",
            'pods is forbidden: User "kim" cannot  resource "pods" in API group "" at the cluster scope',
        ),
        (
            "GET",
            "/api/v1/nodes/n/proxy/a/b",
            'nodes "n" is forbidden: User "kim" cannot get resource "nodes/proxy" in API group ""'
            " at the cluster scope",
        ),
        (
            "GET",
            "/apis/foo.com/v1/namespaces/x/bars/y/z/and/more",
            'bars.foo.com "y" is forbidden: User "kim" cannot get resource "bars/z" in API group "foo.com"'
            ' in the namespace "x"',
        ),
    ],
)
def test_what_may_not_be_asked(world: World, method: str, path: str, text: str) -> None:
    reply = world.ask(method, path, user=KIM)
    assert (reply.code, reply.message) == (403, text)


@pytest.mark.parametrize(
    ("method", "path", "code"),
    [
        ("OPTIONS", "/api/v1/pods", 405),
        ("HEAD", "/api/v1/pods", 405),
        ("HEAD", "/api/v1/namespaces/default/pods/x/status", 405),
        ("GET", "/api/v1/nodes/n/proxy/a/b", 404),
        ("POST", "/api/v1/pods", 405),
        ("POST", "/api/v1/bindings", 404),
        ("POST", "/apis/authorization.k8s.io/v1/localsubjectaccessreviews", 404),
    ],
)
def test_what_nobody_can_do_is_told_to_those_who_may(world: World, method: str, path: str, code: int) -> None:
    assert world.ask(method, path, {}).code == code


def test_a_role_names_the_methods_of_addresses_that_are_no_resources(world: World) -> None:
    metadata = {"name": "poster"}
    world.create(ROLES, {"metadata": metadata, "rules": [{"nonResourceURLs": ["/foo"], "verbs": ["post"]}]})
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "poster"}
    subject = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "kim"}
    binding = {"metadata": metadata, "roleRef": reference, "subjects": [subject]}
    world.create(ROLES.replace("roles", "rolebindings"), binding)

    assert world.ask("POST", "/foo", user=KIM).code == 404
    assert world.ask("GET", "/foo", user=KIM).code == 403


@pytest.mark.parametrize(
    ("selector", "inside", "problem"),
    [
        (
            {"matchExpressions": [{"key": "a", "operator": "Foo"}]},
            ".matchExpressions[0].operator",
            'Invalid value: "Foo": not a valid selector operator',
        ),
        (
            {"matchExpressions": [{"key": "a", "operator": "In"}]},
            ".matchExpressions[0].values",
            "Required value: must be specified when `operator` is 'In' or 'NotIn'",
        ),
    ],
)
def test_a_selector_of_roles_that_cannot_be_used(
    world: World, selector: Any, inside: str, problem: str
) -> None:
    rule = {"clusterRoleSelectors": [selector]}
    reply = world.ask("POST", ROLES, {"metadata": {"name": "a"}, "aggregationRule": rule})

    field = "aggregationRule.clusterRoleSelectors[0]"
    told = [(cause["field"], cause["message"]) for cause in reply.document["details"]["causes"]]
    assert told == [
        (f"{field}{inside}", problem),
        (field, "Invalid value: null: invalid label selector."),
    ]


def test_what_a_token_is_bound_to_has_a_name(world: World) -> None:
    reply = world.ask("POST", TOKENS, {"spec": {"boundObjectRef": {"kind": "Secret"}}})
    assert (reply.code, reply.message) == (400, "Name parameter required.")
