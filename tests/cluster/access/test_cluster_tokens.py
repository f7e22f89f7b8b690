"""Tokens: what is in them, and for how long they count. Texts are those of kube-apiserver v1.36."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from hypothesis import given, settings
from hypothesis import strategies as st

from moorage.cluster.access.tokens import Rejected, Tokens, generate_key
from moorage.cluster.access.users import MASTERS, User
from tests.cluster.access.world import ISSUER, KEY, World

UID = "94216d69-0d19-49d2-8032-f96dcb92e614"


def decoded(part: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    return found


def encoded(content: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(content).encode()).decode().rstrip("=")


def world_with_bob() -> World:
    world = World(bootstrap=False)
    world.account("bob", UID)
    return world


def bobs_token(world: World, **more: Any) -> str:
    return world.tokens.issue("harbour", "bob", UID, **{"seconds": 3600, **more})[0]


def why(world: World, token: str, *audiences: str) -> str:
    with pytest.raises(Rejected) as rejected:
        world.tokens.prove(token, world.store, audiences)
    assert world.tokens.user_of(token, world.store) is None or audiences
    return str(rejected.value)


def test_the_claims_are_the_usual_ones() -> None:
    world = world_with_bob()
    token, expires = world.tokens.issue("harbour", "bob", UID, seconds=3600)
    header, claims = map(decoded, token.split(".")[:2])
    assert header.keys() == {"alg", "kid"}
    assert header["alg"] == "ES256"
    jti = claims.pop("jti")
    assert claims == {
        "aud": [ISSUER],
        "exp": 1_794_787_421,
        "iat": 1_794_783_821,
        "iss": ISSUER,
        "kubernetes.io": {"namespace": "harbour", "serviceaccount": {"name": "bob", "uid": UID}},
        "nbf": 1_794_783_821,
        "sub": "system:serviceaccount:harbour:bob",
    }
    assert expires == 1_794_787_421
    assert world.tokens.user_of(token, world.store) == User(
        "system:serviceaccount:harbour:bob",
        UID,
        ("system:serviceaccounts", "system:serviceaccounts:harbour", "system:authenticated"),
        {"authentication.kubernetes.io/credential-id": (f"JTI={jti}",)},
    )


def test_a_token_of_a_pod_says_which_one_and_where_it_is() -> None:
    world = world_with_bob()
    world.put("pods", {"metadata": {"name": "p1", "namespace": "harbour", "uid": "pod-uid"}})
    token = bobs_token(world, pod=("p1", "pod-uid"), node=("n1", ""))
    assert decoded(token.split(".")[1])["kubernetes.io"] == {
        "namespace": "harbour",
        "node": {"name": "n1"},
        "pod": {"name": "p1", "uid": "pod-uid"},
        "serviceaccount": {"name": "bob", "uid": UID},
    }
    user = world.tokens.user_of(token, world.store)
    assert user is not None
    extra = {key.rpartition("/")[2]: values for key, values in user.extra.items()}
    del extra["credential-id"]
    assert extra == {"node-name": ("n1",), "pod-name": ("p1",), "pod-uid": ("pod-uid",)}


def test_a_key_that_is_kept_makes_tokens_outlive_a_restart() -> None:
    world = world_with_bob()
    again = Tokens(KEY, ISSUER, lambda: world.now)
    assert again.user_of(bobs_token(world), world.store) is not None
    stranger = Tokens(None, ISSUER, lambda: world.now)
    assert stranger.user_of(bobs_token(world), world.store) is None
    assert generate_key() != generate_key()


def test_a_fixed_token() -> None:
    world = world_with_bob()
    world.tokens.add("secret", User("admin", "admin", (MASTERS,)))
    admin = User("admin", "admin", ("system:masters", "system:authenticated"))
    assert world.tokens.user_of("secret", world.store) == admin
    assert world.tokens.prove("secret", world.store) == (admin, (ISSUER,))
    assert why(world, "secret", "elsewhere") == ""


def test_expiry_counts_for_tokens_that_were_good_before() -> None:
    world = world_with_bob()
    token = bobs_token(world, seconds=600)
    assert world.tokens.user_of(token, world.store)
    world.now += 659
    assert world.tokens.user_of(token, world.store)
    world.now += 2
    assert why(world, token) == "service account token has expired"
    world.now -= 1000
    assert why(world, token) == "service account token is not valid yet"


def test_the_account_has_to_exist() -> None:
    world = world_with_bob()
    token = bobs_token(world)
    assert world.tokens.user_of(token, world.store)
    world.delete("serviceaccounts", "harbour", "bob")
    assert why(world, token) == 'serviceaccounts "bob" not found'
    world.account("bob", "another")
    assert why(world, token) == f"service account UID (another) does not match claim ({UID})"


@pytest.mark.parametrize(("kind", "namespace"), [("pod", "harbour"), ("secret", "harbour"), ("node", "")])
def test_what_the_token_is_bound_to_has_to_exist(kind: str, namespace: str) -> None:
    world = world_with_bob()
    place = {"namespace": namespace} if namespace else {}
    world.put(f"{kind}s", {"metadata": {"name": "it", "uid": "1", **place}})
    token = bobs_token(world, **{kind: ("it", "1")})
    assert world.tokens.user_of(token, world.store)
    terminating = {"name": "it", "uid": "1", **place, "deletionTimestamp": "2026-11-15T22:23:41Z"}
    world.put(f"{kind}s", {"metadata": terminating})  # at 1_794_781_421
    assert why(world, token) == "service account token has been invalidated"
    world.put(f"{kind}s", {"metadata": {**terminating, "deletionTimestamp": "2036-11-15T22:23:41Z"}})
    assert world.tokens.user_of(token, world.store)
    world.delete(f"{kind}s", namespace, "it")
    assert why(world, token) == "service account token has been invalidated"
    world.put(f"{kind}s", {"metadata": {"name": "it", "uid": "2", **place}})
    assert why(world, token) == f"{kind} UID (2) does not match service account {kind} ref claim (1)"


def test_audiences() -> None:
    world = world_with_bob()
    token = bobs_token(world, audiences=["x", "y"])
    assert why(world, token) == (
        f'token audiences ["x" "y"] is invalid for the target audiences ["{ISSUER}"]'
    )
    assert world.tokens.prove(token, world.store, ["y", "z", "x"]).audiences == ("y", "x")


def test_a_token_that_was_tampered_with() -> None:
    world = world_with_bob()
    header, payload, signature = bobs_token(world).split(".")
    claims = decoded(payload)
    broken = "go-jose/go-jose: error in cryptographic primitive"
    assert why(world, f"{header}.{payload}.{signature[:-10]}AAAAAAAAAA") == broken
    assert why(world, f"{header}.{encoded({**claims, 'exp': 2**40})}.{signature}") == broken
    assert why(world, f"{encoded({'alg': 'none'})}.{payload}.") == broken
    assert why(world, f"{encoded({'alg': 'HS256'})}.{payload}.{signature}") == broken
    assert why(world, f"{header}.{payload}.{'A' * 86}") == broken
    other_key = encoded({"alg": "ES256", "kid": "other"})
    assert why(world, f"{other_key}.{payload}.{signature}") == "invalid signature, no keys found"
    assert why(world, f"{header}.{encoded({**claims, 'iss': 'x'})}.{signature}") == ""


@settings(max_examples=200, deadline=None)
@given(
    st.one_of(
        st.text(max_size=40),
        st.lists(st.text(alphabet="abcAB-_=+/{}ü\x00", max_size=12), min_size=3, max_size=3).map(".".join),
        st.tuples(
            st.recursive(st.none() | st.integers() | st.text(), st.lists),
            st.dictionaries(st.text(), st.integers()),
        ).map(
            lambda parts: (
                f"{encoded({'alg': 'ES256'})}.{encoded({'iss': ISSUER, 'aud': parts[0], **parts[1]})}.AAAA"
            )
        ),
    )
)
def test_anything_else_is_rejected(token: str) -> None:
    world = world_with_bob()
    assert world.tokens.user_of(token, world.store) is None


def test_only_good_tokens_are_remembered_and_not_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("moorage.cluster.access.tokens._MOST_VERIFIED", 3)
    world = world_with_bob()
    tokens = [bobs_token(world) for _ in range(10)]
    for token in tokens:
        assert world.tokens.user_of(f"{token[:-4]}AAAA", world.store) is None
    assert not world.tokens._verified
    for token in (*tokens, *tokens):
        assert world.tokens.user_of(token, world.store)
    assert sorted(world.tokens._verified) == sorted(tokens[-3:])


def test_the_key_has_to_be_one_for_es256() -> None:
    wide = ec.generate_private_key(ec.SECP384R1()).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    with pytest.raises(ValueError, match="P-256"):
        Tokens(wide, ISSUER, lambda: 0.0)
