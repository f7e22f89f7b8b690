"""Tokens by which the API server knows who makes a request."""

from __future__ import annotations

import base64
import hashlib
import uuid
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import msgspec
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from moorage.cluster.access.users import AUTHENTICATED, User, account_groups, account_username
from moorage.cluster.base.go_text import quoted_list
from moorage.cluster.base.store import Document, Store, Stored
from moorage.cluster.base.times import Clock, seconds_of

LEEWAY = 60.0
"""Seconds by which the clocks of who issues and who checks a token may differ."""

_MOST_VERIFIED = 4096
_LONGEST = 16_384
_ALGORITHM = "ES256"
_EXTRA = "authentication.kubernetes.io"

Reference = tuple[str, str]
"""The name and the uid of an object."""


class Rejected(Exception):
    """A token that proves nothing; the text says why."""


class Proof(NamedTuple):
    """Who a token is for, and which of the audiences in question it is good for."""

    user: User
    audiences: tuple[str, ...]


class _Object(msgspec.Struct, omit_defaults=True):
    name: str = ""
    uid: str = ""


class _Bound(msgspec.Struct, omit_defaults=True):
    namespace: str = ""
    serviceaccount: _Object = msgspec.field(default_factory=_Object)
    pod: _Object | None = None
    secret: _Object | None = None
    node: _Object | None = None


class _Claims(msgspec.Struct):
    """What a token of a service account says."""

    iss: str = ""
    sub: str = ""
    aud: list[str] = []
    iat: float = 0
    nbf: float = 0
    exp: float = 0
    jti: str = ""
    bound: _Bound = msgspec.field(name="kubernetes.io", default_factory=_Bound)


_read_claims = msgspec.json.Decoder(_Claims).decode


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

    def __init__(self, key: bytes | None, issuer: str, clock: Clock) -> None:
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
        digest = base64.urlsafe_b64encode(hashlib.sha256(der).digest())
        self._key_id = digest.decode().rstrip("=")
        self._fixed: dict[str, User] = {}
        self._verified: dict[str, tuple[_Claims, User]] = {}

    @property
    def algorithm(self) -> str:
        return _ALGORITHM

    def public_key(self) -> Document:
        """The key that tokens can be checked with, as a JSON Web Key."""
        numbers = self._public.public_numbers()
        x, y = (
            base64.urlsafe_b64encode(number.to_bytes(32, "big")).decode().rstrip("=")
            for number in (numbers.x, numbers.y)
        )
        key = {"use": "sig", "kty": "EC", "kid": self._key_id, "crv": "P-256", "alg": _ALGORITHM}
        return {**key, "x": x, "y": y}

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
        **bound: Reference,
    ) -> tuple[str, float]:
        """A token for a service account, and when it expires.

        It counts as long as the `pod`, or else the `node` or the `secret`, that it is bound to exists.
        """
        import jwt  # not before the first token: it takes a moment

        now = int(self._clock())
        objects = {kind: _Object(*reference) for kind, reference in bound.items()}
        claims = _Claims(
            iss=self.issuer,
            sub=account_username(namespace, name),
            aud=list(audiences) or [self.issuer],
            iat=now,
            nbf=now,
            exp=now + seconds,
            jti=str(uuid.uuid4()),
            bound=_Bound(namespace, _Object(name, uid), **objects),
        )
        header = {"kid": self._key_id, "typ": None}
        token = jwt.PyJWS().encode(msgspec.json.encode(claims), self._private, _ALGORITHM, header)
        return token, float(now + seconds)

    def user_of(self, token: str, store: Store) -> User | None:
        """Who makes requests with this token; None if it is not, or no longer, good."""
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
        claims, user = self._verified.get(token) or self._verify(token)
        shared = tuple(each for each in wanted if each in claims.aud)
        if not shared:
            of_token, of_target = quoted_list(claims.aud), quoted_list(wanted)
            raise Rejected(f"token audiences {of_token} is invalid for the target audiences {of_target}")
        now = self._clock()
        if now - LEEWAY > claims.exp:
            raise Rejected("service account token has expired")
        if now + LEEWAY < claims.nbf:
            raise Rejected("service account token is not valid yet")
        _check_bound(claims.bound, store, now - LEEWAY)
        return Proof(user, shared)

    def _verify(self, token: str) -> tuple[_Claims, User]:
        """The claims of a token whose signature is right, and the user they make."""
        import jwt

        if len(token) > _LONGEST or not token.isascii():
            raise Rejected("")
        jws = jwt.PyJWS()
        try:
            unproven = jws.decode_complete(token, options={"verify_signature": False})
            claims = _read_claims(unproven["payload"])
        except (jwt.PyJWTError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            raise Rejected("") from None
        if claims.iss != self.issuer:
            raise Rejected("")
        if unproven["header"].get("kid", self._key_id) != self._key_id:
            raise Rejected("invalid signature, no keys found")
        try:
            jws.decode(token, self._public, [_ALGORITHM])
        except jwt.PyJWTError:
            raise Rejected("go-jose/go-jose: error in cryptographic primitive") from None
        if len(self._verified) >= _MOST_VERIFIED:
            del self._verified[next(iter(self._verified))]
        verified = self._verified[token] = claims, _user(claims)
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
    if stored.uid != account.uid:
        raise Rejected(f"service account UID ({stored.uid}) does not match claim ({account.uid})")
    if _gone(stored, before):
        raise Rejected(f"service account {bound.namespace}/{account.name} has been deleted")
    node = bound.node if bound.pod is None else None
    for kind, reference in (("secret", bound.secret), ("pod", bound.pod), ("node", node)):
        if reference is None:
            continue
        stored = store.get(f"{kind}s", "" if kind == "node" else bound.namespace, reference.name)
        if stored is None or _gone(stored, before):
            raise Rejected("service account token has been invalidated")
        if stored.uid != reference.uid:
            claim = f"service account {kind} ref claim ({reference.uid})"
            raise Rejected(f"{kind} UID ({stored.uid}) does not match {claim}")


def _gone(stored: Stored, before: float) -> bool:
    return stored.is_deleted and seconds_of(stored.document["metadata"]["deletionTimestamp"]) < before
