"""Nobody gives more rights than they have; texts are those of kube-apiserver v1.36."""

from __future__ import annotations

import pytest

from moorage.cluster.access.escalation import check_escalation
from moorage.cluster.access.users import MASTERS, User
from moorage.cluster.base.errors import Refusal
from moorage.cluster.base.store import Document
from moorage.cluster.schema.definitions import Definition
from moorage.cluster.schema.model import Schema
from tests.cluster.access.world import API_GROUP, World, binding, recorded_world, role, rule, urls, user

DEFINITIONS = {
    kind: Definition(API_GROUP, "v1", f"{kind.lower()}s", kind, "Cluster" not in kind, Schema())
    for kind in ("Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding")
}
ALICE = user("alice", "more")
CARL = user("carl")
GRANTS = " is attempting to grant RBAC permissions not currently held:\n"
HELD = f'user "alice" (groups=["more" "system:authenticated"]){GRANTS}'
CARLS = f'user "carl" (groups=["system:authenticated"]){GRANTS}'


def refusal_of(
    world: World, asking: User, kind: str, document: Document, old: Document | None = None
) -> Refusal:
    with pytest.raises(Refusal) as refused:
        check_escalation(world.authorizer, asking, DEFINITIONS[kind], document, old)
    return refused.value


def accept(world: World, asking: User, kind: str, document: Document, old: Document | None = None) -> None:
    check_escalation(world.authorizer, asking, DEFINITIONS[kind], document, old)


def local(name: str, *rules: Document) -> Document:
    return role(name, *rules, namespace="harbour")


def bound(kind: str, bound_role: str) -> Document:
    return binding("b", kind, bound_role, "User/zed", namespace="harbour")


@pytest.mark.parametrize(
    ("rules", "missing"),
    [
        (
            [rule("core", "pods secrets", "get list watch")],
            '{APIGroups:[""], Resources:["pods"], Verbs:["watch"]}\n'
            '{APIGroups:[""], Resources:["secrets"], Verbs:["get" "list" "watch"]}',
        ),
        (
            [rule("core apps", "pods deployments/scale", "*"), rule("core", "configmaps", "get", "one two")],
            '{APIGroups:[""], Resources:["configmaps"], ResourceNames:["two"], Verbs:["get"]}\n'
            '{APIGroups:[""], Resources:["deployments/scale"], Verbs:["*"]}\n'
            '{APIGroups:[""], Resources:["pods"], Verbs:["*"]}\n'
            '{APIGroups:["apps"], Resources:["deployments/scale"], Verbs:["*"]}\n'
            '{APIGroups:["apps"], Resources:["pods"], Verbs:["*"]}',
        ),
    ],
)
def test_a_role_with_too_many_rights(rules: list[Document], missing: str) -> None:
    refusal = refusal_of(recorded_world(), ALICE, "Role", local("x", *rules))
    assert refusal.code == 403
    assert refusal.message == f'roles.rbac.authorization.k8s.io "x" is forbidden: {HELD}{missing}'
    assert refusal.details == {"name": "x", "group": API_GROUP, "kind": "roles"}


def test_a_role_with_rights_one_has() -> None:
    world = recorded_world()
    ok = local(
        "ok",
        rule("core", "pods", "get"),
        rule("core", "configmaps", "get", "one"),
        rule("core", "foo/scale", "get"),
    )
    accept(world, ALICE, "Role", ok)
    worse = local("ok", rule("core", "secrets", "get"))
    refusal = refusal_of(world, ALICE, "Role", worse, ok)
    assert refusal.message == (
        f'roles.rbac.authorization.k8s.io "ok" is forbidden: {HELD}'
        '{APIGroups:[""], Resources:["secrets"], Verbs:["get"]}'
    )


def test_what_the_garbage_collector_does_needs_no_rights() -> None:
    old = local("big", rule("*", "*", "*"))
    new = {**old, "metadata": {**old["metadata"], "finalizers": ["a/b"], "resourceVersion": "7"}}
    accept(recorded_world(), ALICE, "Role", new, old)
    labelled = {**old, "metadata": {**old["metadata"], "labels": {"a": "b"}}}
    refusal_of(recorded_world(), ALICE, "Role", labelled, old)


def test_masters_and_those_who_have_everything_may_grant_everything() -> None:
    world = recorded_world()
    big = local("big", rule("*", "*", "*"))
    accept(world, User("root", groups=(MASTERS,)), "Role", big)
    world.bind("owner", "ClusterRole", "cluster-admin", "User/alice", namespace="harbour")
    accept(world, ALICE, "Role", big)


@pytest.mark.parametrize("verb", ["escalate", "*"])
def test_the_right_to_escalate(verb: str) -> None:
    world = recorded_world()
    world.role("escalator", rule(API_GROUP, "roles", verb, "big"), namespace="harbour")
    world.bind("escalator", "Role", "escalator", "User/alice", namespace="harbour")
    big = local("big", rule("*", "*", "*"))
    refusal_of(world, ALICE, "Role", big)  # a new object has no name to ask about
    accept(world, ALICE, "Role", big, local("big"))
    world.role("escalator", rule(API_GROUP, "roles", verb), namespace="harbour")
    accept(world, ALICE, "Role", big)


MONITORING = (
    '{APIGroups:[""], Resources:["nodes/metrics"], Verbs:["get"]}\n'
    '{NonResourceURLs:["/flagz"], Verbs:["get"]}\n'
    '{NonResourceURLs:["/healthz/*"], Verbs:["get"]}\n'
    '{NonResourceURLs:["/livez/*"], Verbs:["get"]}\n'
    '{NonResourceURLs:["/metrics"], Verbs:["get"]}\n'
    '{NonResourceURLs:["/metrics/slis"], Verbs:["get"]}\n'
    '{NonResourceURLs:["/readyz/*"], Verbs:["get"]}\n'
    '{NonResourceURLs:["/statusz"], Verbs:["get"]}'
)


@pytest.mark.parametrize(
    ("kind", "name", "message"),
    [
        (
            "ClusterRole",
            "system:monitoring",
            f'rolebindings.rbac.authorization.k8s.io "b" is forbidden: {HELD}{MONITORING}',
        ),
        (
            "ClusterRole",
            "cluster-admin",
            f'rolebindings.rbac.authorization.k8s.io "b" is forbidden: {HELD}'
            '{APIGroups:["*"], Resources:["*"], Verbs:["*"]}\n{NonResourceURLs:["*"], Verbs:["*"]}',
        ),
        ("ClusterRole", "absent", 'rolebindings.rbac.authorization.k8s.io "absent" not found'),
        ("Role", "absent", 'rolebindings.rbac.authorization.k8s.io "absent" not found'),
        ("Role", "", "Name parameter required."),
    ],
)
def test_a_binding_of_a_role_one_does_not_hold(kind: str, name: str, message: str) -> None:
    assert refusal_of(recorded_world(), ALICE, "RoleBinding", bound(kind, name)).message == message


def test_bindings_that_are_fine() -> None:
    world = recorded_world()
    accept(world, ALICE, "RoleBinding", bound("Role", "reader"))
    accept(world, ALICE, "RoleBinding", bound("Foo", "reader"))  # left to validation
    world.role("binder", rule(API_GROUP, "clusterroles", "bind", "cluster-admin"), namespace="harbour")
    world.bind("binder", "Role", "binder", "User/alice", namespace="harbour")
    accept(world, ALICE, "RoleBinding", bound("ClusterRole", "cluster-admin"))


def test_cluster_roles_and_their_bindings() -> None:
    world = recorded_world()
    world.grant("User/carl", rule(API_GROUP, "clusterroles clusterrolebindings", "create update patch"))
    new = role("f-1", urls("/a /b", "get post"), rule("b a", "y x", "get"))
    assert refusal_of(world, CARL, "ClusterRole", new).message == (
        f'clusterroles.rbac.authorization.k8s.io "f-1" is forbidden: {CARLS}'
        '{APIGroups:["a"], Resources:["x"], Verbs:["get"]}\n'
        '{APIGroups:["a"], Resources:["y"], Verbs:["get"]}\n'
        '{APIGroups:["b"], Resources:["x"], Verbs:["get"]}\n'
        '{APIGroups:["b"], Resources:["y"], Verbs:["get"]}\n'
        '{NonResourceURLs:["/a"], Verbs:["get"]}\n'
        '{NonResourceURLs:["/a"], Verbs:["post"]}\n'
        '{NonResourceURLs:["/b"], Verbs:["get"]}\n'
        '{NonResourceURLs:["/b"], Verbs:["post"]}'
    )
    bound_role = binding("f-4", "ClusterRole", "system:volume-scheduler", "User/zed")
    assert refusal_of(world, CARL, "ClusterRoleBinding", bound_role).message == (
        f'clusterrolebindings.rbac.authorization.k8s.io "f-4" is forbidden: {CARLS}'
        '{APIGroups:[""], Resources:["persistentvolumeclaims"],'
        ' Verbs:["get" "list" "patch" "update" "watch"]}\n'
        '{APIGroups:[""], Resources:["persistentvolumes"], Verbs:["get" "list" "patch" "update" "watch"]}\n'
        '{APIGroups:["storage.k8s.io"], Resources:["storageclasses"], Verbs:["get" "list" "watch"]}'
    )


def test_who_aggregates_has_to_hold_everything() -> None:
    world = recorded_world()
    world.grant("User/carl", rule(API_GROUP, "clusterroles", "create update"))
    selects = {"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]}
    aggregated = role("f-2", aggregationRule=selects)
    why = (
        'clusterroles.rbac.authorization.k8s.io "f-2" is forbidden:'
        " must have cluster-admin privileges to use the aggregationRule"
    )
    assert refusal_of(world, CARL, "ClusterRole", aggregated).message == why
    assert refusal_of(world, CARL, "ClusterRole", role("f-2"), aggregated).message == why
    world.bind("carl", "ClusterRole", "cluster-admin", "User/carl")
    accept(world, CARL, "ClusterRole", aggregated)


def test_a_rule_that_says_too_much_to_compare_is_refused_at_once() -> None:
    words = " ".join(f"w{number}" for number in range(2000))
    refusal = refusal_of(recorded_world(), ALICE, "Role", local("x", rule(words, words, words, words)))
    assert refusal.code == 403


def test_other_resources_are_not_looked_at() -> None:
    pods = Definition("", "v1", "pods", "Pod", True, Schema())
    check_escalation(recorded_world().authorizer, ALICE, pods, {}, None)
