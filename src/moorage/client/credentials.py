"""Who is asking: tokens, passwords and certificates, kept current."""

from __future__ import annotations

import base64
import ssl
import time
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import msgspec

from moorage.client.errors import ConfigurationError

FILE_SECONDS = 60.0  # how long the content of a file is believed


class ClientCertificate(msgspec.Struct, frozen=True):
    """A certificate with its key, both as PEM."""

    certificate: bytes
    key: bytes

    def __repr__(self) -> str:
        return "ClientCertificate(...)"


class Identity(msgspec.Struct, frozen=True):
    """What is shown to the server (the Authorization header, a client certificate), and what to ask of it."""

    authorization: str = ""
    certificate: ClientCertificate | None = None
    authorities: bytes = b""
    """Whom to believe that the server is the one; empty for what the connection's configuration says."""

    def __repr__(self) -> str:
        return "Identity(...)"


class Credentials(Protocol):
    def at_hand(self) -> Identity | None:
        """What `identity` would return, if it need not be waited for."""

    async def identity(self) -> Identity:
        """What to show now. The same object as before means that nothing has changed."""

    def rejected(self, identity: Identity) -> bool:
        """Notes that the server did not accept it; true if another one may be had."""


def bearer(token: str) -> str:
    return f"Bearer {token}"


def basic(username: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{username}:{password}".encode()).decode()


class FixedCredentials:
    """Credentials that never change."""

    def __init__(self, identity: Identity) -> None:
        self._identity = identity

    def at_hand(self) -> Identity:
        return self._identity

    async def identity(self) -> Identity:
        return self._identity

    def rejected(self, identity: Identity) -> bool:
        return False


class FileCredentials:
    """Files with a token, a certificate or the server's authorities, replaced from time to time.

    The files are read again at most once a minute, or when the server rejects what was read.
    `fixed` is what the files do not give. A file that cannot be read leaves the last good content in place.
    """

    def __init__(
        self,
        fixed: Identity = Identity(),  # noqa: B008 - frozen
        *,
        token_file: str = "",
        certificate_files: tuple[str, str] | None = None,
        ca_file: str = "",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._token_file = token_file
        self._certificate_files = certificate_files
        self._ca_file = ca_file
        self._clock = clock
        self._identity = fixed
        self._read_at: float | None = None

    async def identity(self) -> Identity:
        return self.at_hand()

    def at_hand(self) -> Identity:
        now = self._clock()
        if self._read_at is None or now - self._read_at >= FILE_SECONDS:
            self._read(now)
        return self._identity

    def rejected(self, identity: Identity) -> bool:
        if identity == self._identity:
            self._read(self._clock())
        return identity != self._identity

    def _read(self, now: float) -> None:
        try:
            found = self._content()
        except (OSError, UnicodeDecodeError, ConfigurationError) as error:
            if self._read_at is None:
                raise ConfigurationError(f"credentials cannot be read: {error}") from None
            found = self._identity
        self._read_at = now
        if found != self._identity:
            self._identity = found

    def _content(self) -> Identity:
        authorization, certificate = self._identity.authorization, self._identity.certificate
        if self._token_file:
            token = Path(self._token_file).read_text().strip()
            if not token:
                raise ConfigurationError(f"{self._token_file} is empty; it must hold a token")
            authorization = bearer(token)
        if self._certificate_files:
            certificate = ClientCertificate(*(Path(name).read_bytes() for name in self._certificate_files))
        return Identity(authorization, certificate, self._authorities())

    def _authorities(self) -> bytes:
        """What the connection began with is judged where it is used; something new has to be usable."""
        before = self._identity.authorities
        if not self._ca_file:
            return before
        found = Path(self._ca_file).read_bytes()
        if self._read_at is not None and found != before:
            try:
                ssl.create_default_context(cadata=found.decode())
            except (ssl.SSLError, ValueError) as error:
                raise ConfigurationError(f"{self._ca_file}: not a certificate authority: {error}") from None
        return found
