"""Tokens by which the API server knows who makes a request."""

from __future__ import annotations

import base64
import binascii
import hashlib
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, NamedTuple

import msgspec
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature, encode_dss_signature

from moorage.cluster.access.accounts import account_groups, account_username
from moorage.cluster.access.users import AUTHENTICATED, User
from moorage.cluster.base.quoting import quoted_list
from moorage.cluster.base.store import Document, Store

LEEWAY = 60.0
"""Seconds by which the clocks of who issues and who checks a token may differ."""

_MOST_VERIFIED = 4096
_LONGEST = 16_384
_SHA256 = ec.ECDSA(hashes.SHA256())
_EXTRA = "authentication.kubernetes.io"

Reference = tuple[str, str]
"""The name and the uid of an object."""


class Rejected(Exception):
    """A token that proves nothing; the text says why."""


class Proof(NamedTuple):
    """Who a token is for, and which of the audiences in question it is good for."""

    user: User
    audiences: tuple[str, ...]


class _Object(msgspec.Struct):
    name: str = ""
    uid: str = ""


class _Bound(msgspec.Struct):
    namespace: str = ""
    serviceaccount: _Object = msgspec.field(default_factory=_Object)
    pod: _Object | None = None
    secret: _Object | None = None
    node: _Object | None = None


class _Claims(msgspec.Struct):
    """What a token of a service account says."""

    iss: str = ""
    aud: list[str] = []
    exp: float = 0
    nbf: float = 0
    jti: str = ""
    bound: _Bound = msgspec.field(name="kubernetes.io", default_factory=_Bound)


class _Verified(NamedTuple):
    """The claims of a token whose signature is right, and the user they make."""

    claims: _Claims
    user: User


_read_claims = msgspec.json.Decoder(_Claims).decode
_read_header = msgspec.json.Decoder(dict[str, Any]).decode


def generate_key() -> bytes:
    """A new key to sign tokens with, to be kept as long as they are to count."""
    return ec.generate_private_key(ec.SECP256R1()).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


class Tokens:
    """Fixed tokens, and signed ones (JWTs) for service accounts.

    Signatures are checked once per token; that it has not expired and that what it is bound to still exists
    is looked at each time.
    """

    def __init__(self, key: bytes | None, issuer: str, clock: Callable[[], float]) -> None:
        private = serialization.load_pem_private_key(key or generate_key(), password=None)
        if not isinstance(private, ec.EllipticCurvePrivateKey) or private.key_size != 256:
            raise ValueError("the key for service account tokens must be an ECDSA key on the curve P-256")
        self.issuer = issuer
        self._clock = clock
        self._private = private
        self._public = private.public_key()
        der = self._public.public_bytes(
            serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
        )
        self._key_id = _encoded(hashlib.sha256(der).digest())
        self._header = _encoded(msgspec.json.encode({"alg": "ES256", "kid": self._key_id}))
        self._fixed: dict[str, User] = {}
        self._verified: dict[str, _Verified] = {}

    def add(self, token: str, user: User) -> None:
        """Has a token that never expires count as this user."""
        groups = dict.fromkeys((*user.groups, AUTHENTICATED))
        self._fixed[token] = replace(user, groups=tuple(groups))

    def issue(
        self,
        namespace: str,
        name: str,
        uid: str,
        *,
        seconds: int,
        audiences: Sequence[str] = (),
        pod: Reference | None = None,
        node: Reference | None = None,
        secret: Reference | None = None,
    ) -> tuple[str, float]:
        """A token for a service account, and when it expires.

        It counts as long as the pod, or else the node or the secret, that it is bound to exists.
        """
        now = int(self._clock())
        bound: Document = {"namespace": namespace, "serviceaccount": {"name": name, "uid": uid}}
        for kind, reference in (("pod", pod), ("node", node), ("secret", secret)):
            if reference is not None:
                bound[kind] = {
                    key: value for key, value in zip(("name", "uid"), reference, strict=True) if value
                }
        claims = {
            "aud": list(audiences) or [self.issuer],
            "exp": now + seconds,
            "iat": now,
            "iss": self.issuer,
            "jti": str(uuid.uuid4()),
            "kubernetes.io": bound,
            "nbf": now,
            "sub": account_username(namespace, name),
        }
        signed = f"{self._header}.{_encoded(msgspec.json.encode(claims, order='sorted'))}"
        r, s = decode_dss_signature(self._private.sign(signed.encode(), _SHA256))
        signature = _encoded(r.to_bytes(32, "big") + s.to_bytes(32, "big"))
        return f"{signed}.{signature}", float(now + seconds)

    def user_of(self, token: str, store: Store) -> User | None:
        """Who makes requests with this token; None if it is not, or no longer, good."""
        fixed = self._fixed.get(token)
        if fixed is not None:
            return fixed
        try:
            return self.prove(token, store).user
        except Rejected:
            return None

    def prove(self, token: str, store: Store, audiences: Sequence[str] = ()) -> Proof:
        """What the token proves to these audiences, the API server if there are none. Raises Rejected."""
        wanted = tuple(audiences) or (self.issuer,)
        fixed = self._fixed.get(token)
        if fixed is not None:
            if self.issuer not in wanted:
                raise Rejected("")
            return Proof(fixed, (self.issuer,))
        verified = self._verified.get(token)
        if verified is None:
            verified = self._verify(token)
        claims = verified.claims
        shared = tuple(each for each in wanted if each in claims.aud)
        if not shared:
            raise Rejected(
                f"token audiences {quoted_list(claims.aud)} is invalid"
                f" for the target audiences {quoted_list(wanted)}"
            )
        now = self._clock()
        if now - LEEWAY > claims.exp:
            raise Rejected("service account token has expired")
        if now + LEEWAY < claims.nbf:
            raise Rejected("service account token is not valid yet")
        _check_bound(claims.bound, store, now - LEEWAY)
        return Proof(verified.user, shared)

    def _verify(self, token: str) -> _Verified:
        parts = token.split(".")
        if len(parts) != 3 or len(token) > _LONGEST or not token.isascii():
            raise Rejected("")
        try:
            header = _read_header(_decoded(parts[0]))
            claims = _read_claims(_decoded(parts[1]))
            signature = _decoded(parts[2])
        except (binascii.Error, msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            raise Rejected("") from None
        if claims.iss != self.issuer:
            raise Rejected("")
        if header.get("kid", self._key_id) != self._key_id:
            raise Rejected("invalid signature, no keys found")
        r, s = int.from_bytes(signature[:32], "big"), int.from_bytes(signature[32:], "big")
        try:
            if header.get("alg") != "ES256" or len(signature) != 64:
                raise InvalidSignature
            self._public.verify(encode_dss_signature(r, s), f"{parts[0]}.{parts[1]}".encode(), _SHA256)
        except InvalidSignature:
            raise Rejected("go-jose/go-jose: error in cryptographic primitive") from None
        if len(self._verified) >= _MOST_VERIFIED:
            del self._verified[next(iter(self._verified))]
        verified = self._verified[token] = _Verified(claims, _user(claims))
        return verified


def _user(claims: _Claims) -> User:
    bound = claims.bound
    extra: dict[str, tuple[str, ...]] = {}
    if claims.jti:
        extra[f"{_EXTRA}/credential-id"] = (f"JTI={claims.jti}",)
    for kind, reference in (("node", bound.node), ("pod", bound.pod)):
        if reference is not None and reference.name:
            extra[f"{_EXTRA}/{kind}-name"] = (reference.name,)
            if reference.uid:
                extra[f"{_EXTRA}/{kind}-uid"] = (reference.uid,)
    account = bound.serviceaccount
    groups = (*account_groups(bound.namespace), AUTHENTICATED)
    return User(account_username(bound.namespace, account.name), account.uid, groups, extra)


def _check_bound(bound: _Bound, store: Store, before: float) -> None:
    """Raises Rejected unless all is still there that the token depends on."""
    account = bound.serviceaccount
    stored = store.get("serviceaccounts", bound.namespace, account.name)
    if stored is None:
        raise Rejected(f'serviceaccounts "{account.name}" not found')
    metadata = stored.document["metadata"]
    if metadata.get("uid") != account.uid:
        raise Rejected(f"service account UID ({metadata.get('uid')}) does not match claim ({account.uid})")
    if _gone(metadata, before):
        raise Rejected(f"service account {bound.namespace}/{account.name} has been deleted")
    if bound.secret is not None:
        _check_reference(store, "secret", bound.namespace, bound.secret, before)
    if bound.pod is not None:
        _check_reference(store, "pod", bound.namespace, bound.pod, before)
    elif bound.node is not None:
        _check_reference(store, "node", "", bound.node, before)


def _check_reference(store: Store, kind: str, namespace: str, reference: _Object, before: float) -> None:
    stored = store.get(f"{kind}s", namespace, reference.name)
    if stored is None or _gone(stored.document["metadata"], before):
        raise Rejected("service account token has been invalidated")
    uid = stored.document["metadata"].get("uid")
    if uid != reference.uid:
        raise Rejected(
            f"{kind} UID ({uid}) does not match service account {kind} ref claim ({reference.uid})"
        )


def _gone(metadata: Mapping[str, Any], before: float) -> bool:
    deleted = metadata.get("deletionTimestamp")
    return deleted is not None and datetime.fromisoformat(deleted).timestamp() < before


def _encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def _decoded(text: str) -> bytes:
    return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
