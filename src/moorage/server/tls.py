"""The server's certificates and TLS settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes
from cryptography.x509.oid import NameOID
from OpenSSL import SSL

from moorage.client.self_signed import LOCAL_NAMES as LOCAL_NAMES
from moorage.client.self_signed import is_address
from moorage.client.self_signed import self_signed as self_signed
from moorage.server.authorities import Authorities, certificates_of

MIN_VERSIONS = {
    "VersionTLS10": SSL.TLS1_VERSION,
    "VersionTLS11": SSL.TLS1_1_VERSION,
    "VersionTLS12": SSL.TLS1_2_VERSION,
    "VersionTLS13": SSL.TLS1_3_VERSION,
}
"""What --tls-min-version takes."""

DEFAULT_MIN_VERSION = "VersionTLS12"

CIPHERS = {
    "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256": "ECDHE-ECDSA-AES128-GCM-SHA256",
    "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256": "ECDHE-RSA-AES128-GCM-SHA256",
    "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384": "ECDHE-ECDSA-AES256-GCM-SHA384",
    "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384": "ECDHE-RSA-AES256-GCM-SHA384",
    "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256": "ECDHE-ECDSA-CHACHA20-POLY1305",
    "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305": "ECDHE-ECDSA-CHACHA20-POLY1305",
    "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256": "ECDHE-RSA-CHACHA20-POLY1305",
    "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305": "ECDHE-RSA-CHACHA20-POLY1305",
    "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA": "ECDHE-ECDSA-AES128-SHA",
    "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA": "ECDHE-RSA-AES128-SHA",
    "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA": "ECDHE-ECDSA-AES256-SHA",
    "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA": "ECDHE-RSA-AES256-SHA",
}
"""What --tls-cipher-suites takes and is used unless it is given, in the names of Go and of OpenSSL."""

OTHER_CIPHERS = {
    "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256": "ECDHE-ECDSA-AES128-SHA256",
    "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256": "ECDHE-RSA-AES128-SHA256",
    "TLS_RSA_WITH_AES_128_GCM_SHA256": "AES128-GCM-SHA256",
    "TLS_RSA_WITH_AES_256_GCM_SHA384": "AES256-GCM-SHA384",
    "TLS_RSA_WITH_AES_128_CBC_SHA": "AES128-SHA",
    "TLS_RSA_WITH_AES_256_CBC_SHA": "AES256-SHA",
    "TLS_RSA_WITH_AES_128_CBC_SHA256": "AES128-SHA256",
}
"""What it takes besides, and is too weak to be used unasked."""

CIPHERS_OF_TLS_13 = ("TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256")
"""It takes them, too; TLS 1.3 has them always."""


class TlsError(Exception):
    """Settings with which the server cannot serve; the text says why."""


class KeyPair:
    """A certificate, those that lead to its authority, and its key."""

    def __init__(self, certificate_pem: bytes, key_pem: bytes) -> None:
        """Raises ValueError if they cannot be read or do not belong together."""
        self.chain = certificates_of(certificate_pem)
        try:
            self.key: PrivateKeyTypes = serialization.load_pem_private_key(key_pem, None)
        except TypeError as error:
            raise ValueError("the key is encrypted; give one without a password") from error
        except ValueError as error:
            raise ValueError("there is no private key as PEM, or one that cannot be read") from error
        if self.chain[0].public_key() != self.key.public_key():
            raise ValueError("the key is not that of the certificate")

    def names(self) -> list[str]:
        """The host names it is for."""
        common = self.chain[0].subject.get_attributes_for_oid(NameOID.COMMON_NAME)
        names = [str(each.value) for each in common if not is_address(str(each.value))]
        try:
            found = self.chain[0].extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        except x509.ExtensionNotFound:
            return names
        return names + found.get_values_for_type(x509.DNSName)


@dataclass(frozen=True)
class TlsSettings:
    """What stays the same while the server runs."""

    min_version: str = DEFAULT_MIN_VERSION
    cipher_suites: Sequence[str] = ()
    asks_for_certificates: bool = False
    """Whether callers are asked for a certificate. Any is taken: what it is worth is found out later."""

    def check(self) -> None:
        if self.min_version not in MIN_VERSIONS:
            known = ", ".join(MIN_VERSIONS)
            raise TlsError(f"--tls-min-version: unknown version {self.min_version!r}, use one of {known}")
        for name in self.cipher_suites:
            if name not in CIPHERS and name not in OTHER_CIPHERS and name not in CIPHERS_OF_TLS_13:
                known = ", ".join((*CIPHERS_OF_TLS_13, *CIPHERS))
                raise TlsError(f"--tls-cipher-suites: unknown suite {name!r}, use some of {known}")

    def context(self, pair: KeyPair, hints: Sequence[Authorities] = ()) -> SSL.Context:
        """Serves with a certificate; `hints` tell callers which of theirs to show. May raise ValueError."""
        context = SSL.Context(SSL.TLS_SERVER_METHOD)
        context.set_min_proto_version(MIN_VERSIONS[self.min_version])
        context.set_cipher_list(self._ciphers())
        context.set_options(SSL.OP_NO_COMPRESSION | SSL.OP_NO_RENEGOTIATION)
        # A session that is resumed would not show the whole chain of the client's certificate again.
        context.set_options(SSL.OP_NO_TICKET)
        context.set_session_cache_mode(SSL.SESS_CACHE_OFF)
        context.set_mode(SSL.MODE_RELEASE_BUFFERS)  # connections that say nothing take less memory
        context.set_alpn_select_callback(_choose_http_1)
        try:
            context.use_certificate(pair.chain[0])
            for certificate in pair.chain[1:]:
                context.add_extra_chain_cert(certificate)
            context.use_privatekey(pair.key)  # type: ignore[arg-type]  # a key of another kind is an error
            context.check_privatekey()
        except (SSL.Error, TypeError) as error:
            raise ValueError(f"OpenSSL cannot use the certificate: {error}") from None
        if self.asks_for_certificates:
            context.set_verify(SSL.VERIFY_PEER, lambda *shown: True)
            for authorities in hints:
                for certificate in authorities.certificates:
                    context.add_client_ca(certificate)
        return context

    def _ciphers(self) -> bytes:
        known = {**CIPHERS, **OTHER_CIPHERS}
        wanted = [known[name] for name in self.cipher_suites if name in known] or [*CIPHERS.values()]
        # OpenSSL has no TLS 1.0 and 1.1 at its usual level of security.
        old = MIN_VERSIONS[self.min_version] < SSL.TLS1_2_VERSION
        return ":".join((*dict.fromkeys(wanted), *(("@SECLEVEL=0",) if old else ()))).encode()


def _choose_http_1(connection: SSL.Connection, offered: Sequence[bytes]) -> Any:
    return b"http/1.1" if b"http/1.1" in offered else SSL.NO_OVERLAPPING_PROTOCOLS


class NamedPair:
    """What --tls-sni-cert-key says: files of a certificate and key, and for which hosts they are."""

    def __init__(self, text: str) -> None:
        files, _, names = text.partition(":")
        self.certificate_file, comma, self.key_file = files.partition(",")
        if not comma or not self.certificate_file or not self.key_file:
            raise TlsError(f"--tls-sni-cert-key: {text!r} is not of the form CERT,KEY or CERT,KEY:NAME,NAME")
        self.names = [name.strip() for name in names.split(",") if name.strip()]


class TlsContexts:
    """The contexts that new connections get; older ones keep what they began with."""

    def __init__(self, settings: TlsSettings, pair: KeyPair) -> None:
        self._settings = settings
        self._pair = pair
        self._others: dict[int, tuple[KeyPair, Sequence[str]]] = {}
        self._hints: Sequence[Authorities] = ()
        self._build(pair, self._others, ())

    def use(self, pair: KeyPair) -> None:
        """From now on with this certificate; raises ValueError and changes nothing if that cannot be."""
        self._build(pair, self._others, self._hints)

    def use_for_names(self, place: int, pair: KeyPair, names: Sequence[str]) -> None:
        """The same for hosts of certain names; those of the certificate if none are given."""
        self._build(self._pair, {**self._others, place: (pair, names)}, self._hints)

    def hint(self, *authorities: Authorities | None) -> None:
        """Callers are told that certificates of these are welcome."""
        self._build(self._pair, self._others, [each for each in authorities if each is not None])

    def connection(self, local_address: str) -> SSL.Connection:
        """The TLS side of a connection that somebody has opened to this address."""
        # Who calls an address sends no name.
        context = self._by_name.get(local_address, self._context)
        connection = SSL.Connection(context, None)
        connection.set_accept_state()
        return connection

    def _build(
        self,
        pair: KeyPair,
        others: dict[int, tuple[KeyPair, Sequence[str]]],
        hints: Sequence[Authorities],
    ) -> None:
        context = self._settings.context(pair, hints)
        by_name: dict[str, SSL.Context] = {}
        explicit: dict[str, SSL.Context] = {}
        for place in sorted(others, reverse=True):  # the first given wins
            other, names = others[place]
            its = self._settings.context(other, hints)
            target = explicit if names else by_name
            target.update({name.lower(): its for name in names or other.names()})
        by_name.update(explicit)
        if by_name:
            context.set_tlsext_servername_callback(lambda connection: _choose(connection, by_name))
        self._pair, self._others, self._hints = pair, others, hints
        self._context, self._by_name = context, by_name


def _choose(connection: SSL.Connection, by_name: Mapping[str, SSL.Context]) -> None:
    name = (connection.get_servername() or b"").decode(errors="replace").lower().rstrip(".")
    found = by_name.get(name) or by_name.get(".".join(("*", *name.split(".")[1:])))
    if found is not None:
        connection.set_context(found)
