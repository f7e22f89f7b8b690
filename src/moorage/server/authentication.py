"""Who calls: by a front proxy's word, by a certificate, by a token, or nobody in particular."""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, Protocol
from urllib.parse import unquote

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.x509.oid import NameOID
from multidict import CIMultiDict, CIMultiDictProxy, MultiMapping

from moorage.server.authorities import Authorities, Chain, Untrusted
from moorage.server.remembered import Remembered

log = logging.getLogger(__name__)

DEFAULT_TTL = 10.0

_ANONYMOUS_NAME = "system:anonymous"
_AUTHENTICATED = "system:authenticated"
_UNAUTHENTICATED = "system:unauthenticated"
_CREDENTIAL_ID = "authentication.kubernetes.io/credential-id"
_UID = x509.ObjectIdentifier("1.3.6.1.4.1.57683.2")


@dataclass(frozen=True)
class UserInfo:
    """A caller. `extra` is what the authenticator added, in the form it is passed on in."""

    name: str
    groups: tuple[str, ...] = ()
    uid: str = ""
    extra: tuple[tuple[str, tuple[str, ...]], ...] = ()


ANONYMOUS = UserInfo(_ANONYMOUS_NAME, (_UNAUTHENTICATED,))


class Credentials(NamedTuple):
    """What a request says about its sender: the certificates of the connection and the headers."""

    certificates: Chain = ()
    headers: MultiMapping[str] = CIMultiDictProxy(CIMultiDict())


class FrontProxyHeaders(NamedTuple):
    """In which headers a front proxy names the user, and which proxies may."""

    username: Sequence[str] = ()
    uid: Sequence[str] = ()
    group: Sequence[str] = ()
    extra_prefix: Sequence[str] = ()
    allowed_names: Sequence[str] = ()
    """The common names of the proxies; empty for all whose certificate is good."""


@dataclass
class ClientTrust:
    """Whose certificates count; changes while the server runs."""

    clients: Authorities | None = None
    """A certificate of theirs names its user."""
    front_proxies: Authorities | None = None
    """Who has a certificate of theirs is believed whom it names in headers."""
    headers: FrontProxyHeaders = field(default_factory=FrontProxyHeaders)


class TokenReviewer(Protocol):
    async def review_token(self, token: str) -> UserInfo | None:
        """The owner of a token, or None if it is not valid; raises what it likes if it cannot say."""


class NotAuthenticated(Exception):
    """Credentials were shown and none of them is good; the text is for the log."""


class Authentication:
    """Finds out who calls. The first good credential counts; bad ones beside it do no harm.

    Without a reviewer tokens say nothing.
    """

    def __init__(
        self,
        trust: ClientTrust | None = None,
        tokens: TokenReviewer | None = None,
        *,
        token_ttl: float = DEFAULT_TTL,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._trust = trust or ClientTrust()
        self._tokens = tokens
        self._token_ttl = token_ttl
        self._owners: Remembered[bytes, UserInfo | None] = Remembered(clock)

    async def user(self, credentials: Credentials) -> UserInfo:
        """The caller; raises NotAuthenticated."""
        problems: list[str] = []
        for ask in (self._by_front_proxy, self._by_certificate):
            try:
                user = ask(credentials)
            except Untrusted as error:
                problems.append(f"its certificate: {error}")
            else:
                if user is not None:
                    return _authenticated(user)
        try:
            user = await self._by_token(credentials)
        except Exception as error:
            problems.append(f"its token: {error}")
        else:
            if user is not None:
                return _authenticated(user)
        if problems:
            raise NotAuthenticated("; ".join(dict.fromkeys(problems)))
        return ANONYMOUS

    def _by_front_proxy(self, credentials: Credentials) -> UserInfo | None:
        trust, shown = self._trust, credentials.certificates
        if not shown or trust.front_proxies is None:
            return None
        trust.front_proxies.verify(shown)
        name = _common_name(shown[0])
        if trust.headers.allowed_names and name not in trust.headers.allowed_names:
            raise Untrusted(f"{name!r} is no front proxy")
        return _named_in_headers(credentials.headers, trust.headers)

    def _by_certificate(self, credentials: Credentials) -> UserInfo | None:
        shown = credentials.certificates
        if not shown or self._trust.clients is None:
            return None
        self._trust.clients.verify(shown)
        return user_of_certificate(shown[0])

    async def _by_token(self, credentials: Credentials) -> UserInfo | None:
        kind, _, rest = credentials.headers.get("Authorization", "").strip().partition(" ")
        token = rest.partition(" ")[0]
        if self._tokens is None or kind.lower() != "bearer" or not token:
            return None
        # The digest stands for the token, so that no secret stays in memory.
        digest = hashlib.sha256(token.encode(errors="surrogateescape")).digest()
        if digest in self._owners:
            owner = self._owners[digest]
        else:
            owner = await self._tokens.review_token(token)
            self._owners.put(digest, owner, self._token_ttl)
        if owner is None:
            raise ValueError("not valid")
        return owner


def user_of_certificate(certificate: x509.Certificate) -> UserInfo | None:
    """The common name is the user, the organisations are its groups; None without a name."""
    name = _common_name(certificate)
    if not name:
        return None
    subject = certificate.subject
    groups = tuple(_text(each) for each in subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME))
    uids = [_text(each) for each in subject.get_attributes_for_oid(_UID)]
    if len(uids) > 1 or uids == [""]:
        raise Untrusted("it must have one UID that is not empty, or none")
    fingerprint = certificate.fingerprint(hashes.SHA256()).hex()
    extra = ((_CREDENTIAL_ID, (f"X509SHA256={fingerprint}",)),)
    return UserInfo(name, groups, uids[0] if uids else "", extra)


def _common_name(certificate: x509.Certificate) -> str:
    names = certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    return _text(names[-1]) if names else ""


def _text(attribute: x509.NameAttribute[str | bytes]) -> str:
    value = attribute.value
    return value if isinstance(value, str) else value.decode(errors="replace")


def _named_in_headers(headers: MultiMapping[str], names: FrontProxyHeaders) -> UserInfo | None:
    user = next((value for name in names.username if (value := headers.get(name, ""))), "")
    if not user:
        return None
    uid = next((value for name in names.uid if (value := headers.get(name, ""))), "")
    groups = tuple(value for name in names.group for value in headers.getall(name, []) if value)
    extra: dict[str, list[str]] = {}
    for prefix in names.extra_prefix:
        for header, value in headers.items():
            if header.lower().startswith(prefix.lower()):
                extra.setdefault(unquote(header[len(prefix) :].lower()), []).append(value)
    return UserInfo(user, groups, uid, tuple((key, tuple(values)) for key, values in sorted(extra.items())))


def _authenticated(user: UserInfo) -> UserInfo:
    if user.name == _ANONYMOUS_NAME or {_AUTHENTICATED, _UNAUTHENTICATED} & {*user.groups}:
        return user
    return replace(user, groups=(*user.groups, _AUTHENTICATED))
