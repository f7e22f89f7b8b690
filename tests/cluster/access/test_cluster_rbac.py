"""Decisions by roles and bindings; texts are those of kube-apiserver v1.36."""

from __future__ import annotations

import pytest

from moorage.cluster.access.rbac import Authorizer
from moorage.cluster.access.rules import BINDINGS, CLUSTER_BINDINGS, ROLES
from moorage.cluster.access.users import MASTERS, Attributes, User, forbidden_refusal
from tests.cluster.access.world import CLUSTER_ROLES, World, recorded_world, rule, urls, user

ALICE = user("alice")
DORA = user("dora")
ABSENT = (
    '[clusterrole.rbac.authorization.k8s.io "absent" not found,'
    ' role.rbac.authorization.k8s.io "absent" not found]'
)


def within(verb: str, resource: str, name: str = "", *, group: str = "", sub: str = "") -> Attributes:
    return Attributes(verb, group, "v1", resource, sub, "harbour", name)


REFUSALS = [
    (
        within("list", "secrets"),
        'secrets is forbidden: User "alice" cannot list resource "secrets" in API group ""'
        ' in the namespace "harbour"',
        {"kind": "secrets"},
    ),
    (
        within("get", "pods", "x", sub="status"),
        'pods "x" is forbidden: User "alice" cannot get resource "pods/status" in API group ""'
        ' in the namespace "harbour"',
        {"name": "x", "kind": "pods"},
    ),
    (
        Attributes("list", "", "v1", "nodes"),
        'nodes is forbidden: User "alice" cannot list resource "nodes" in API group "" at the cluster scope',
        {"kind": "nodes"},
    ),
    (
        within("get", "deployments", "x", group="apps", sub="scale"),
        'deployments.apps "x" is forbidden: User "alice" cannot get resource "deployments/scale"'
        ' in API group "apps" in the namespace "harbour"',
        {"name": "x", "group": "apps", "kind": "deployments"},
    ),
    (
        Attributes("get", "", "v1", "namespaces", "", "harbour", "harbour"),
        'namespaces "harbour" is forbidden: User "alice" cannot get resource "namespaces" in API group ""'
        ' in the namespace "harbour"',
        {"name": "harbour", "kind": "namespaces"},
    ),
    (Attributes("get", path="/metrics"), 'forbidden: User "alice" cannot get path "/metrics"', {}),
    (
        Attributes("get", path="/foo/bar<x>"),
        'forbidden: User "alice" cannot get path "/foo/bar&lt;x&gt;"',
        {},
    ),
    (
        within("get", "secrets", "a<b>&c"),
        'secrets "a<b>&c" is forbidden: User "alice" cannot get resource "secrets" in API group ""'
        ' in the namespace "harbour"',
        {"name": "a<b>&c", "kind": "secrets"},
    ),
    (
        within("get", "configmaps", "two"),
        'configmaps "two" is forbidden: User "alice" cannot get resource "configmaps" in API group ""'
        ' in the namespace "harbour"',
        {"name": "two", "kind": "configmaps"},
    ),
]


@pytest.mark.parametrize(("attributes", "message", "details"), REFUSALS)
def test_a_refusal_reads_as_on_a_real_server(
    attributes: Attributes, message: str, details: dict[str, str]
) -> None:
    authorizer = recorded_world().authorizer
    assert not authorizer.allows(ALICE, attributes)
    refusal = authorizer.forbidden_refusal(ALICE, attributes)
    assert (refusal.code, refusal.reason) == (403, "Forbidden")
    assert refusal.message == message
    assert refusal.details == details


def test_odd_names_are_escaped_in_a_refusal() -> None:
    refusal = forbidden_refusal(User('we"ird\\ \x7fü\t\u200b'), Attributes("get", path="/x"))
    assert refusal.message == 'forbidden: User "we\\"ird\\\\ \\x7fü\\t\\u200b" cannot get path "/x"'


def test_bindings_to_absent_roles_are_named_in_a_refusal() -> None:
    authorizer = recorded_world().authorizer
    assert authorizer.forbidden_refusal(DORA, within("list", "secrets")).message == (
        'secrets is forbidden: User "dora" cannot list resource "secrets" in API group ""'
        f' in the namespace "harbour": RBAC: {ABSENT}'
    )


@pytest.mark.parametrize(
    ("asking", "attributes", "reason"),
    [
        (ALICE, within("get", "pods", "p"), 'RoleBinding "reader/harbour" of Role "reader" to User "alice"'),
        (
            user("x", "team"),
            within("get", "pods"),
            'RoleBinding "reader/harbour" of Role "reader" to Group "team"',
        ),
        (
            user("system:serviceaccount:harbour:bob"),
            within("list", "pods"),
            'RoleBinding "reader/harbour" of Role "reader" to ServiceAccount "bob/harbour"',
        ),
        (
            user("system:kube-scheduler"),
            Attributes("list", resource="nodes"),
            'ClusterRoleBinding "system:kube-scheduler" of ClusterRole "system:kube-scheduler"'
            ' to User "system:kube-scheduler"',
        ),
        (
            user("x"),
            Attributes("get", path="/api"),
            'ClusterRoleBinding "system:discovery" of ClusterRole "system:discovery"'
            ' to Group "system:authenticated"',
        ),
    ],
)
def test_what_is_allowed_says_why(asking: User, attributes: Attributes, reason: str) -> None:
    assert recorded_world().authorizer.decide(asking, attributes) == (True, f"RBAC: allowed by {reason}")


@pytest.mark.parametrize(
    ("attributes", "allowed"),
    [
        (within("get", "replicationcontrollers", "x", sub="scale"), True),
        (within("get", "replicationcontrollers", "x", sub="status"), False),
        (within("get", "deployments", "x", group="apps", sub="scale"), False),
        (within("delete", "configmaps", "one"), True),
        (within("list", "configmaps"), False),
        (within("create", "configmaps"), False),
        (Attributes("get", "", "v1", "pods", "", "default", "p"), False),
        (Attributes("list", "", "v1", "pods"), False),
    ],
)
def test_rules_with_names_and_subresources(attributes: Attributes, allowed: bool) -> None:
    assert recorded_world().authorizer.allows(ALICE, attributes) is allowed


@pytest.mark.parametrize(
    ("paths", "path", "allowed"),
    [
        ("/logs/*", "/logs/", True),
        ("/logs/*", "/logs/a/b", True),
        ("/logs/*", "/logs", False),
        ("/logs*", "/logs2", True),
        ("*", "/anything", True),
        ("/a /b", "/b", True),
        ("/a", "/a/", False),
        ("", "", False),
    ],
)
def test_paths(paths: str, path: str, allowed: bool) -> None:
    world = World(bootstrap=False)
    world.grant("User/alice", urls(paths, "get"))
    assert world.authorizer.allows(ALICE, Attributes("get", path=path)) is allowed
    assert not world.authorizer.allows(ALICE, Attributes("post", path=path))


def test_a_star_is_no_path_for_resources_nor_the_other_way_round() -> None:
    world = World(bootstrap=False)
    world.grant("User/alice", rule("*", "*", "*"))
    world.grant("User/carl", urls("*", "*"), name="paths")
    assert world.authorizer.allows(ALICE, Attributes("x", "y", "z", "a", "b", "c", "d"))
    assert not world.authorizer.allows(ALICE, Attributes("get", path="/api"))
    assert not world.authorizer.allows(user("carl"), Attributes("get", resource="pods"))


def test_masters_may_do_everything_even_without_roles() -> None:
    authorizer = World(bootstrap=False).authorizer
    assert authorizer.decide(User("root", groups=(MASTERS,)), Attributes("x", path="/")) == (True, "")


def test_a_cluster_binding_of_an_account_needs_its_namespace() -> None:
    world = World(bootstrap=False)
    world.role("all", rule("*", "*", "*"))
    document = {
        "metadata": {"name": "all"},
        "roleRef": {"kind": "ClusterRole", "name": "all"},
        "subjects": [{"kind": "ServiceAccount", "name": "bob"}],
    }
    world.put(CLUSTER_BINDINGS, document)
    world.put(BINDINGS, {**document, "metadata": {"name": "all", "namespace": "here"}})
    bob, pods = user("system:serviceaccount:here:bob"), Attributes("get", resource="pods", namespace="here")
    assert world.authorizer.decide(bob, pods) == (
        True,
        'RBAC: allowed by RoleBinding "all/here" of ClusterRole "all" to ServiceAccount "bob/here"',
    )
    assert not world.authorizer.allows(bob, pods._replace(namespace=""))
    assert not world.authorizer.allows(user("system:serviceaccount::bob"), pods)


class TestChanges:
    """What was decided before does not count after roles or bindings have changed."""

    pods = Attributes("get", resource="pods", namespace="here")

    def test_a_binding_comes_changes_and_goes(self) -> None:
        world = World(bootstrap=False)
        world.role("pods", rule("core", "pods", "get"), namespace="here")
        assert not world.authorizer.allows(ALICE, self.pods)
        world.bind("pods", "Role", "pods", "User/alice", "User/carl", namespace="here")
        assert world.authorizer.allows(ALICE, self.pods)
        world.bind("pods", "Role", "pods", "User/carl", namespace="here")
        assert not world.authorizer.allows(ALICE, self.pods)
        assert world.authorizer.allows(user("carl"), self.pods)
        world.delete(BINDINGS, "here", "pods")
        assert not world.authorizer.allows(user("carl"), self.pods)

    def test_a_role_comes_changes_and_goes(self) -> None:
        world = World(bootstrap=False)
        world.bind("pods", "Role", "pods", "User/alice", namespace="here")
        missing = 'RBAC: role.rbac.authorization.k8s.io "pods" not found'
        assert world.authorizer.decide(ALICE, self.pods) == (False, missing)
        world.role("pods", rule("core", "pods", "get"), namespace="here")
        assert world.authorizer.allows(ALICE, self.pods)
        world.role("pods", rule("core", "pods", "list"), namespace="here")
        assert world.authorizer.decide(ALICE, self.pods) == (False, "")
        world.delete(ROLES, "here", "pods")
        assert world.authorizer.decide(ALICE, self.pods) == (False, missing)

    def test_what_is_there_at_the_start_counts(self) -> None:
        world = World(bootstrap=False)
        world.grant("Group/devs", rule("core", "pods", "get"))
        assert Authorizer(world.store).allows(user("x", "devs"), self.pods)

    def test_what_is_put_back_before_the_first_question_counts(self) -> None:
        old = World(bootstrap=False)
        old.grant("Group/devs", rule("core", "pods", "get"))
        world = World(bootstrap=False)
        for resource in (CLUSTER_ROLES, CLUSTER_BINDINGS):
            for stored in old.store.objects(resource):
                world.store.restore(resource, "", stored.name, stored.document)
        world.bind("other", "ClusterRole", "granted", "User/alice")
        assert world.authorizer.allows(user("x", "devs"), self.pods)
        assert world.authorizer.allows(ALICE, self.pods)

    def test_an_aggregated_role_follows_its_parts(self) -> None:
        world = World(bootstrap=False)
        selects = {"clusterRoleSelectors": [{"matchLabels": {"into": "whole"}}]}
        nested = {"clusterRoleSelectors": [{"matchExpressions": [{"key": "deep", "operator": "Exists"}]}]}
        world.role("whole", rule("core", "nodes", "get"), aggregationRule=selects)
        world.role("middle", aggregationRule=nested, metadata={"labels": {"into": "whole", "deep": "x"}})
        world.bind("whole", "ClusterRole", "whole", "User/alice")
        assert not world.authorizer.allows(ALICE, self.pods)
        assert not world.authorizer.allows(ALICE, Attributes("get", resource="nodes"))
        world.role("part", rule("core", "pods", "get"), metadata={"labels": {"deep": "y"}})
        assert world.authorizer.allows(ALICE, self.pods)
        world.role("part", rule("core", "pods", "get"))
        assert not world.authorizer.allows(ALICE, self.pods)
        world.role("part", rule("core", "pods", "get"), metadata={"labels": {"into": "whole"}})
        assert world.authorizer.allows(ALICE, self.pods)
        world.delete(CLUSTER_ROLES, "", "part")
        assert not world.authorizer.allows(ALICE, self.pods)


def test_many_different_questions_do_not_pile_up() -> None:
    world = World()
    for number in range(10_000):
        world.authorizer.allows(ALICE, Attributes("get", resource=f"r{number}", name=f"n{number}"))
        world.authorizer.allows(user(f"u{number}"), Attributes("get", resource="pods"))
    assert len(world.authorizer._grants) <= 4096
    assert all(len(grants._answers) <= 4096 for grants in world.authorizer._grants.values())
