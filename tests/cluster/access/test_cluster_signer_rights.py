"""Who may approve certificates, and who may sign them."""

from __future__ import annotations

import pytest

from moorage.cluster.access.users import User
from moorage.cluster.base.store import Document
from tests.cluster.api_worlds import World
from tests.embedded.chart_objects import REQUESTS, signing_requests

SOMEBODY = User("somebody", groups=("system:authenticated",))
MERGE = "application/merge-patch+json"
CONDITIONS = {"status": {"conditions": [{"type": "Approved", "status": "True"}]}}
FAILED = {"status": {"conditions": [{"type": "Failed", "status": "True"}]}}


def world_with(*signers: tuple[str, str]) -> World:
    """A world with a request, and somebody who may write its parts and has these rights on signers."""
    world = World().prepared()
    world.create(REQUESTS, signing_requests()[0])
    group = ["certificates.k8s.io"]
    parts = ["certificatesigningrequests/approval", "certificatesigningrequests/status"]
    rules: list[Document] = [{"apiGroups": group, "resources": parts, "verbs": ["*"]}]
    rules += [
        {"apiGroups": group, "resources": ["signers"], "verbs": [verb], "resourceNames": [name]}
        for verb, name in signers
    ]
    root = "/apis/rbac.authorization.k8s.io/v1"
    world.create(f"{root}/clusterroles", {"metadata": {"name": "r"}, "rules": rules})
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "r"}
    subjects = [{"kind": "User", "name": SOMEBODY.name}]
    binding = {"metadata": {"name": "b"}, "roleRef": role, "subjects": subjects}
    world.create(f"{root}/clusterrolebindings", binding)
    return world


def test_the_right_to_write_the_parts_is_not_enough() -> None:
    world = world_with()
    reply = world.ask("PATCH", f"{REQUESTS}/x/approval", CONDITIONS, content_type=MERGE, user=SOMEBODY)
    assert (reply.code, reply.message) == (
        403,
        'certificatesigningrequests.certificates.k8s.io "x" is forbidden: '
        'user not permitted to approve requests with signerName "example.com/one"',
    )
    reply = world.ask("PATCH", f"{REQUESTS}/x/status", FAILED, content_type=MERGE, user=SOMEBODY)
    assert (reply.code, "not permitted to sign" in reply.message) == (403, True)


@pytest.mark.parametrize("name", ["example.com/one", "example.com/*"])
def test_rights_on_signers(name: str) -> None:
    world = world_with(("approve", name))
    approval = f"{REQUESTS}/x/approval"
    found = world.done("PATCH", approval, CONDITIONS, content_type=MERGE, user=SOMEBODY)
    [condition] = found["status"]["conditions"]
    assert condition["lastUpdateTime"] and condition["lastTransitionTime"]
    assert world.ask("PATCH", f"{REQUESTS}/x/status", FAILED, content_type=MERGE, user=SOMEBODY).code == 403
    nothing: Document = {}  # changes nothing, so nobody minds
    assert world.ask("PATCH", f"{REQUESTS}/x/status", nothing, content_type=MERGE, user=SOMEBODY).code == 200
    world = world_with(("sign", name))
    world.done("PATCH", f"{REQUESTS}/x/status", FAILED, content_type=MERGE, user=SOMEBODY)


def test_nobody_may_ask_to_be_a_master_of_the_cluster() -> None:
    world = World().prepared()
    of_others, of_clients, invalid = signing_requests()[-3:]
    world.create(REQUESTS, of_others)
    reply = world.ask("POST", REQUESTS, of_clients)
    assert (reply.code, reply.message) == (
        403,
        'certificatesigningrequests.certificates.k8s.io "x" is forbidden: '
        "use of kubernetes.io/kube-apiserver-client signer with system:masters group is not allowed",
    )
    assert world.ask("POST", REQUESTS, invalid).code == 422
