"""Whoever has the served keys can check the tokens that the server issues."""

from __future__ import annotations

import json
import time

import jwt
import pytest

from moorage.cluster.access.users import User
from tests.cluster.api_worlds import World

TOKEN = "/api/v1/namespaces/default/serviceaccounts/default/token"


def issued(world: World, **spec: object) -> str:
    token: str = world.create(TOKEN, {"spec": spec})["status"]["token"]
    return token


def key_for(world: World, token: str) -> jwt.PyJWK:
    configuration = world.get("/.well-known/openid-configuration")
    path = configuration["jwks_uri"].removeprefix(configuration["issuer"])
    keys = jwt.PyJWKSet.from_dict(json.loads(world.ask("GET", path).document))
    return keys[jwt.get_unverified_header(token)["kid"]]


def test_a_token_is_proved_by_the_served_keys() -> None:
    world = World(clock=time.time).prepared()
    issuer = world.get("/.well-known/openid-configuration")["issuer"]
    token = issued(world, audiences=["vault"], expirationSeconds=600)
    claims = jwt.decode(token, key_for(world, token), algorithms=["ES256"], audience="vault", issuer=issuer)
    assert claims["sub"] == "system:serviceaccount:default:default"
    assert claims["kubernetes.io"]["namespace"] == "default"


def test_a_token_with_another_signature_is_not() -> None:
    world = World(clock=time.time).prepared()
    token = issued(world, audiences=["vault"])
    head, _, rest = token.partition(".")
    with pytest.raises(jwt.InvalidSignatureError):
        changed = f"{head}.{rest[:-4]}AAAA"
        jwt.decode(changed, key_for(world, token), algorithms=["ES256"], audience="vault")


def test_forms_and_rights() -> None:
    world = World().prepared()
    keys = world.cluster.handle(world._request("GET", "/openid/v1/jwks", b"", "", "", None, None, {}))
    assert keys.status == 403  # nobody is told who has not said who it is
    account = User("system:serviceaccount:a:b", groups=("system:serviceaccounts", "system:authenticated"))
    reply = world.ask("GET", "/openid/v1/jwks", user=account)
    assert reply.code == 200
    [key] = json.loads(reply.document)["keys"]
    assert (key["kty"], key["crv"], key["alg"], key["use"]) == ("EC", "P-256", "ES256", "sig")
    found = world.ask("GET", "/.well-known/openid-configuration", headers={"host": "127.0.0.1:6443"})
    assert found.document == {
        "issuer": "https://kubernetes.default.svc.cluster.local",
        "jwks_uri": "https://127.0.0.1:6443/openid/v1/jwks",
        "response_types_supported": ["id_token"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": ["ES256"],
    }
