"""Who may give devices to claims; the texts are those that kube-apiserver v1.36 has."""

from __future__ import annotations

from typing import Any

from moorage.cluster.access.users import User
from moorage.cluster.base.store import Document
from moorage.cluster.embedded import ADMIN
from tests.cluster.api_worlds import Reply, World

GROUP = "/apis/resource.k8s.io/v1/namespaces/default"
CLAIM = f"{GROUP}/resourceclaims/c"
ROLES = "/apis/rbac.authorization.k8s.io/v1"
MERGE = "application/merge-patch+json"

JANE = User("jane", groups=("system:authenticated",))
DRIVER = User(
    "system:serviceaccount:default:driver",
    groups=("system:authenticated",),
    extra={"authentication.kubernetes.io/node-name": ("n1",)},
)
ON_N1 = {
    "nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}]
}


def result(**more: Any) -> Document:
    return {"request": "gpu", "driver": "gpu.example.com", "pool": "p", "device": "d", **more}


ALLOCATION = {"devices": {"results": [result()]}, "nodeSelector": ON_N1}
TOLD = [{"driver": "gpu.example.com", "pool": "p", "device": "d"}]


def world_with(*rules: Document, **exactly: Any) -> World:
    world = World().prepared()
    wanted = {"name": "gpu", "exactly": {"deviceClassName": "gpu", **exactly}}
    claim = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": "c"},
        "spec": {"devices": {"requests": [wanted]}},
    }
    world.create(f"{GROUP}/resourceclaims", claim)
    base = {"apiGroups": ["resource.k8s.io"], "verbs": ["get", "patch", "update"]}
    writing = base | {"resources": ["resourceclaims", "resourceclaims/status"]}
    role = {"kind": "ClusterRole", "metadata": {"name": "r"}, "rules": [writing, *(base | r for r in rules)]}
    world.create(f"{ROLES}/clusterroles", {"apiVersion": "rbac.authorization.k8s.io/v1", **role})
    group = "rbac.authorization.k8s.io"
    binding = {
        "apiVersion": f"{group}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "r"},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": "r"},
        "subjects": [
            {"apiGroup": group, "kind": "User", "name": "jane"},
            {"kind": "ServiceAccount", "name": "driver", "namespace": "default"},
        ],
    }
    world.create(f"{ROLES}/clusterrolebindings", binding)
    return world


def patch(world: World, user: User = ADMIN, **status: Any) -> Reply:
    return world.ask("PATCH", f"{CLAIM}/status", {"status": status}, content_type=MERGE, user=user)


def test_devices_are_given_by_those_who_may_bind() -> None:
    world = world_with()
    refused = patch(world, JANE, allocation=ALLOCATION)
    assert refused.code == 422
    assert refused.message == (
        'ResourceClaim.resource.k8s.io "c" is invalid: status.allocation: Forbidden: changing '
        'status.allocation or status.reservedFor requires resource="resourceclaims/binding", verb="patch" '
        'permission: resourceclaims.resource.k8s.io is forbidden: User "jane" cannot patch resource '
        '"resourceclaims/binding" in API group "resource.k8s.io" at the cluster scope'
    )
    assert patch(world, allocation=ALLOCATION).code == 200
    stored = world.get(CLAIM)
    stored["status"]["reservedFor"] = [{"resource": "pods", "name": "p", "uid": "1"}]
    refused = world.ask("PUT", f"{CLAIM}/status", stored, user=JANE)
    assert 'resource="resourceclaims/binding", verb="update" permission' in refused.message
    assert patch(world, JANE, allocation=None).code == 422


def test_the_right_to_bind() -> None:
    world = world_with({"resources": ["resourceclaims/binding"]})
    assert patch(world, JANE, allocation=ALLOCATION).code == 200
    consumer = {"resource": "pods", "name": "p", "uid": "1"}
    assert patch(world, JANE, reservedFor=[consumer]).code == 200
    assert patch(world, JANE, allocation=None, reservedFor=None).code == 200


def test_what_is_told_of_devices_is_told_by_their_drivers() -> None:
    right = {"resources": ["resourceclaims/driver"], "resourceNames": ["gpu.example.com"]}
    for verbs, jane, driver in (
        (["update"], 422, 422),
        (["associated-node:patch"], 422, 200),
        (["arbitrary-node:patch"], 200, 200),
    ):
        for user, code in ((JANE, jane), (DRIVER, driver)):
            world = world_with({**right, "verbs": verbs})
            assert patch(world, allocation=ALLOCATION).code == 200
            assert patch(world, user, devices=TOLD).code == code, (verbs, user)
    refused = patch(world_with({**right, "verbs": ["x"]}), DRIVER, allocation=ALLOCATION, devices=TOLD)
    assert (
        'status.devices: Forbidden: changing status.devices requires resource="resourceclaims/driver", '
        'verb="[associated-node:patch arbitrary-node:patch]" permission: resourceclaims.resource.k8s.io '
        '"gpu.example.com" is forbidden: User "system:serviceaccount:default:driver" cannot '
        'associated-node:patch resource "resourceclaims/driver" in API group "resource.k8s.io" in the '
        'namespace "default"'
    ) in refused.message


def test_a_scheduler_that_loses_what_drivers_told_is_refused() -> None:
    world = world_with({"resources": ["resourceclaims/binding"]})
    assert patch(world, allocation=ALLOCATION, devices=TOLD).code == 200
    stored = world.get(CLAIM)
    del stored["status"]["devices"]
    refused = world.ask("PUT", f"{CLAIM}/status", stored, user=JANE)
    assert 'requires resource="resourceclaims/driver", verb="[arbitrary-node:update]"' in refused.message
    del stored["status"]["allocation"]
    assert world.ask("PUT", f"{CLAIM}/status", stored, user=JANE).code == 200, "nothing is left to tell of"


def test_devices_that_others_use_need_a_label() -> None:
    world = world_with()
    requests = [{"name": "a", "exactly": {"deviceClassName": "gpu", "adminAccess": True}}]
    spec: Document = {"devices": {"requests": requests}}
    text = (
        "spec.devices.requests[0].adminAccess: Forbidden: admin access to devices requires the "
        "`resource.kubernetes.io/admin-access: true` label on the containing namespace"
    )
    for kind, content in (("ResourceClaim", spec), ("ResourceClaimTemplate", {"spec": spec})):
        document = {
            "apiVersion": "resource.k8s.io/v1",
            "kind": kind,
            "metadata": {"name": "admin"},
            "spec": content,
        }
        path = f"{GROUP}/{kind.lower()}s"
        assert text in world.ask("POST", path, document).message
        label: Document = {"metadata": {"labels": {"resource.kubernetes.io/admin-access": "true"}}}
        world.done("PATCH", "/api/v1/namespaces/default", label, content_type=MERGE)
        assert world.ask("POST", path, document).code == 201
        label = {"metadata": {"labels": {"resource.kubernetes.io/admin-access": None}}}
        world.done("PATCH", "/api/v1/namespaces/default", label, content_type=MERGE)
    given = {"devices": {"results": [result(adminAccess=True)]}}
    refused = patch(world, allocation=given)
    assert "status.allocation.devices.results[0].adminAccess: Forbidden: admin access" in refused.message


def test_a_spec_that_cannot_change_is_not_judged_again() -> None:
    world = world_with()
    wrong = {"spec": {"devices": {"requests": [{"name": "Not_A_Name"}]}}}
    refused = world.ask("PATCH", CLAIM, wrong, content_type=MERGE)
    [cause] = refused.document["details"]["causes"]
    assert (cause["field"], cause["reason"]) == ("spec", "FieldValueInvalid")
    assert cause["message"].endswith("field is immutable")
