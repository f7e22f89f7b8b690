"""The roles and bindings of a new cluster, next to those of kube-apiserver v1.36.4 (bootstrap_roles.json)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from moorage.cluster.access.roles import bootstrap_roles
from moorage.cluster.access.rules import (
    BINDINGS,
    CLUSTER_BINDINGS,
    ROLES,
    aggregated_rules,
    stale_aggregations,
)
from moorage.cluster.access.users import ANONYMOUS, UNAUTHENTICATED, Attributes, User
from moorage.cluster.base.store import Document
from tests.cluster.access.world import CLUSTER_ROLES, World, role, rule, user

RECORDED: dict[str, list[Document]] = json.loads((Path(__file__).parent / "bootstrap_roles.json").read_text())
KINDS = {
    CLUSTER_ROLES: "ClusterRole",
    CLUSTER_BINDINGS: "ClusterRoleBinding",
    ROLES: "Role",
    BINDINGS: "RoleBinding",
}
SCHEDULER = user("system:kube-scheduler")


@pytest.mark.parametrize("resource", KINDS)
def test_they_are_those_of_a_real_server(resource: str) -> None:
    ours = {document["metadata"]["name"]: document for of, document in bootstrap_roles() if of == resource}
    assert sorted(ours) == sorted(document["metadata"]["name"] for document in RECORDED[resource])
    for expected in RECORDED[resource]:
        found = dict(ours[expected["metadata"]["name"]])
        assert found.pop("kind") == KINDS[resource]
        assert found.pop("apiVersion") == "rbac.authorization.k8s.io/v1"
        if "aggregationRule" in found:
            # There a controller fills in the rules, which did not run beside the server.
            expected = {**expected, "rules": found["rules"]}
        assert found == expected


def test_every_call_gives_documents_of_its_own() -> None:
    for _, document in bootstrap_roles():
        for each in document.get("rules", ()):
            each.clear()
        document["metadata"].clear()
    assert bootstrap_roles() == bootstrap_roles()
    assert all(document["metadata"]["name"] for _, document in bootstrap_roles())


def test_aggregated_roles_have_the_rules_of_their_parts() -> None:
    roles = {
        document["metadata"]["name"]: document for _, document in bootstrap_roles() if "rules" in document
    }
    view, edit = roles["system:aggregate-to-view"]["rules"], roles["system:aggregate-to-edit"]["rules"]
    assert roles["view"]["rules"] == view
    assert roles["edit"]["rules"] == edit + view
    assert roles["admin"]["rules"] == edit + view + roles["system:aggregate-to-admin"]["rules"]


@pytest.mark.parametrize(
    ("asking", "attributes", "allowed"),
    [
        (SCHEDULER, Attributes("create", resource="pods", subresource="binding", namespace="a"), True),
        (SCHEDULER, Attributes("patch", resource="pods", subresource="status", namespace="a"), True),
        (SCHEDULER, Attributes("create", resource="pods", namespace="a"), False),
        (SCHEDULER, Attributes("watch", "storage.k8s.io", resource="storageclasses"), True),
        (SCHEDULER, Attributes("list", "scheduling.k8s.io", resource="podgroups"), False),
        (SCHEDULER, Attributes("list", "resource.k8s.io", resource="devicetaintrules"), False),
        (
            SCHEDULER,
            Attributes(
                "update", "coordination.k8s.io", resource="leases", namespace="x", name="kube-scheduler"
            ),
            True,
        ),
        (
            SCHEDULER,
            Attributes("update", "coordination.k8s.io", resource="leases", namespace="x", name="other"),
            False,
        ),
        (
            SCHEDULER,
            Attributes(
                "update", "coordination.k8s.io", resource="leases", namespace="kube-system", name="other"
            ),
            True,
        ),
        (
            SCHEDULER,
            Attributes(
                "get",
                resource="configmaps",
                namespace="kube-system",
                name="extension-apiserver-authentication",
            ),
            True,
        ),
        (SCHEDULER, Attributes("get", resource="configmaps", namespace="kube-system", name="x"), False),
        (
            user("system:serviceaccount:kube-system:kube-scheduler"),
            Attributes("create", "coordination.k8s.io", resource="leases", namespace="kube-system"),
            True,
        ),
        (user("x"), Attributes("create", "authorization.k8s.io", resource="selfsubjectaccessreviews"), True),
        (user("x"), Attributes("get", path="/apis/apps/v1"), True),
        (User(ANONYMOUS, groups=(UNAUTHENTICATED,)), Attributes("get", path="/version"), True),
        (User(ANONYMOUS, groups=(UNAUTHENTICATED,)), Attributes("get", path="/api"), False),
    ],
)
def test_what_they_allow(asking: User, attributes: Attributes, allowed: bool) -> None:
    assert World().authorizer.allows(asking, attributes) is allowed


def test_aggregations_are_brought_up_to_date() -> None:
    world = World()
    assert stale_aggregations(world.store) == []
    extra = rule("example.com", "ships", "get list")
    label = {"rbac.authorization.k8s.io/aggregate-to-view": "true"}
    world.role("ships-view", extra, metadata={"labels": label})
    stale = {stored.name: document for stored, document in stale_aggregations(world.store)}
    assert sorted(stale) == ["admin", "edit", "view"]
    for name, document in stale.items():
        assert extra in document["rules"], name
        world.put(CLUSTER_ROLES, document)
    assert stale_aggregations(world.store) == []


def test_roles_that_select_each_other_or_themselves() -> None:
    def aggregated(name: str, into: str, selects: str) -> Document:
        selectors = {"clusterRoleSelectors": [{"matchLabels": {"into": selects}}]}
        return role(name, aggregationRule=selectors, metadata={"labels": {"into": into}})

    one, two = aggregated("one", "a", "b"), aggregated("two", "b", "a")
    leaf = role("leaf", rule("core", "pods", "get"), metadata={"labels": {"into": "a"}})
    assert aggregated_rules(one, [one, two, leaf]) == leaf["rules"]
    assert aggregated_rules(two, [one, two, leaf]) == leaf["rules"]


@pytest.mark.parametrize(
    "selectors",
    [None, [], [{"matchExpressions": [{"key": "a", "operator": "Near"}]}], [{"matchLabels": {"a": 1}}]],
)
def test_selectors_that_select_nothing(selectors: list[Document] | None) -> None:
    leaf = role("leaf", rule("core", "pods", "get"), metadata={"labels": {"a": "b"}})
    whole = role("whole", aggregationRule={"clusterRoleSelectors": selectors})
    assert aggregated_rules(whole, [whole, leaf]) == []
