"""TokenRequest, for `kubectl create token`; answers are those of kube-apiserver v1.36."""

from __future__ import annotations

from typing import Any

import pytest

from moorage.cluster.access.token_requests import token_request
from moorage.cluster.base.errors import Refusal
from moorage.cluster.base.store import Document
from tests.cluster.access.world import ISSUER, World


def ask(world: World, spec: Document | None = None, *, of: str = "bob", **more: Any) -> Document:
    account = world.store.get("serviceaccounts", "harbour", of)
    assert account is not None
    document = {"kind": "TokenRequest", "apiVersion": "authentication.k8s.io/v1", **more}
    if spec is not None:
        document["spec"] = spec
    return token_request(document, account.document, tokens=world.tokens, store=world.store, now=world.now)


@pytest.fixture
def world() -> World:
    found = World(bootstrap=False)
    found.account("bob", "bobs-uid")
    found.account("eve")
    pod = {"name": "p1", "namespace": "harbour", "uid": "pod-uid"}
    found.put("pods", {"metadata": pod, "spec": {"serviceAccountName": "bob", "nodeName": "n-x"}})
    return found


@pytest.mark.parametrize("spec", [None, {}, {"expirationSeconds": None, "audiences": []}])
def test_a_token_for_an_hour(world: World, spec: Document | None) -> None:
    answer = ask(world, spec, metadata={"creationTimestamp": None, "labels": {"a": "b"}})
    token = answer["status"].pop("token")
    assert answer == {
        "kind": "TokenRequest",
        "apiVersion": "authentication.k8s.io/v1",
        "metadata": {
            "name": "bob",
            "namespace": "harbour",
            "uid": "bobs-uid",
            "creationTimestamp": "2026-11-15T23:03:41Z",
            "labels": {"a": "b"},
        },
        "spec": {"audiences": [ISSUER], "expirationSeconds": 3600, "boundObjectRef": None},
        "status": {"expirationTimestamp": "2026-11-16T00:03:41Z"},
    }
    user = world.tokens.user_of(token, world.store)
    assert user is not None
    assert user.name == "system:serviceaccount:harbour:bob"


def test_audiences_and_time_are_as_asked_for(world: World) -> None:
    answer = ask(world, {"audiences": ["a", "b"], "expirationSeconds": 600})
    assert answer["status"]["expirationTimestamp"] == "2026-11-15T23:13:41Z"
    assert world.tokens.prove(answer["status"]["token"], world.store, ["b"]).audiences == ("b",)
    assert world.tokens.user_of(answer["status"]["token"], world.store) is None


def test_a_token_bound_to_a_pod(world: World) -> None:
    reference = {"kind": "Pod", "apiVersion": "v1", "name": "p1"}
    token = ask(world, {"boundObjectRef": reference})["status"]["token"]
    user = world.tokens.user_of(token, world.store)
    assert user is not None
    assert user.extra["authentication.kubernetes.io/pod-name"] == ("p1",)
    assert user.extra["authentication.kubernetes.io/node-name"] == ("n-x",)
    world.delete("pods", "harbour", "p1")
    assert world.tokens.user_of(token, world.store) is None


@pytest.mark.parametrize(
    ("spec", "more", "code", "message"),
    [
        (
            {"expirationSeconds": 599},
            {},
            422,
            'TokenRequest.authentication.k8s.io "" is invalid: spec.expirationSeconds: Invalid value: 599:'
            " may not specify a duration less than 10 minutes",
        ),
        (
            {"expirationSeconds": 2**32 + 1},
            {},
            422,
            'TokenRequest.authentication.k8s.io "" is invalid: spec.expirationSeconds:'
            " Invalid value: 4294967297: may not specify a duration larger than 2^32 seconds",
        ),
        (
            {},
            {"metadata": {"name": "other"}},
            422,
            'TokenRequest.authentication.k8s.io "bob" is invalid: metadata.name: Invalid value: "other":'
            " must match the service account name if specified",
        ),
        (
            {},
            {"metadata": {"namespace": "other"}},
            400,
            "the namespace of the provided object does not match the namespace sent on the request",
        ),
        (
            {},
            {"metadata": {"uid": "x"}},
            409,
            'Operation cannot be fulfilled on TokenRequest.authentication.k8s.io "bob": the UID in the token'
            " request (x) does not match the UID of the service account (bobs-uid)",
        ),
        (
            {"boundObjectRef": {"kind": "Pod", "apiVersion": "v1", "name": "no"}},
            {},
            404,
            'pods "no" not found',
        ),
        (
            {"boundObjectRef": {"kind": "Secret", "apiVersion": "v1", "name": "no"}},
            {},
            404,
            'secrets "no" not found',
        ),
        (
            {"boundObjectRef": {"kind": "Node", "apiVersion": "v1", "name": "no"}},
            {},
            404,
            'nodes "no" not found',
        ),
        (
            {"boundObjectRef": {"kind": "Foo", "apiVersion": "apps/v1", "name": "no"}},
            {},
            400,
            "cannot bind token to object of type apps/v1, Kind=Foo",
        ),
        ({"boundObjectRef": {}}, {}, 400, "cannot bind token to object of type /, Kind="),
        (
            {"boundObjectRef": {"kind": "Pod", "apiVersion": "v1", "name": "p1", "uid": "x"}},
            {},
            409,
            'Operation cannot be fulfilled on Pod "p1": the UID in the bound object reference (x) does not'
            " match the UID in record. The object might have been deleted and then recreated",
        ),
        (
            {"boundObjectRef": {"kind": "Pod", "apiVersion": "v1", "name": "p1"}},
            {"of": "eve"},
            400,
            'cannot bind token for serviceaccount "eve" to pod running with different serviceaccount name.',
        ),
    ],
)
def test_refusals(world: World, spec: Document, more: dict[str, Any], code: int, message: str) -> None:
    with pytest.raises(Refusal) as refused:
        ask(world, spec, **more)
    assert (refused.value.code, refused.value.message) == (code, message)
