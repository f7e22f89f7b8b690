"""Certificate authorities, and what a certificate of theirs says about its bearer."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.x509.oid import ExtendedKeyUsageOID
from OpenSSL import crypto

Chain = Sequence[x509.Certificate]
"""What a peer showed: its certificate, then those that may lead to its authority."""

_CLIENTS = (ExtendedKeyUsageOID.CLIENT_AUTH, ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE)
_BROKEN_HASHES = (hashes.MD5, hashes.SHA1)


class Untrusted(Exception):
    """A certificate that none of the authorities stands for; the text says why."""


class Authorities:
    """The authorities of a PEM bundle. Each is trusted by itself, whoever signed it."""

    def __init__(self, pem: bytes) -> None:
        """Raises ValueError if there is no certificate in it, or one that cannot be read."""
        self.pem = pem
        self.certificates = certificates_of(pem)
        self._trusted = [crypto.X509.from_cryptography(each) for each in self.certificates]

    def verify(self, shown: Chain, now: datetime | None = None) -> None:
        """Raises Untrusted unless the first certificate is one for clients, valid now, and of theirs."""
        leaf, *others = (crypto.X509.from_cryptography(each) for each in shown)
        try:
            chain = crypto.X509StoreContext(
                self._store(now or datetime.now(UTC)), leaf, others
            ).get_verified_chain()
        except crypto.X509StoreContextError as error:
            raise Untrusted(str(error)) from None
        *links, root = (each.to_cryptography() for each in chain)
        for link in (*links, root):
            _check_usage(link)
        for link in links:
            if isinstance(link.signature_hash_algorithm, _BROKEN_HASHES):
                raise Untrusted(f"signed with {link.signature_hash_algorithm.name}, which is not secure")

    def _store(self, now: datetime) -> crypto.X509Store:
        """One for each question: a store keeps the first time that it is told."""
        store = crypto.X509Store()
        store.set_flags(crypto.X509StoreFlags.PARTIAL_CHAIN)
        store.set_time(now)
        for certificate in self._trusted:
            store.add_cert(certificate)
        return store


def certificates_of(pem: bytes) -> list[x509.Certificate]:
    """Raises ValueError if there is none, or one that cannot be read."""
    try:
        return x509.load_pem_x509_certificates(pem)
    except ValueError as error:
        raise ValueError("there is no certificate as PEM in it, or one that cannot be read") from error


def _check_usage(certificate: x509.Certificate) -> None:
    """A certificate for nothing in particular is one for clients, too."""
    try:
        usage = certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    except x509.ExtensionNotFound:
        return
    except ValueError as error:
        raise Untrusted(f"its extensions cannot be read: {error}") from None
    if not any(purpose in usage for purpose in _CLIENTS):
        raise Untrusted("its key is not for clients")


def describe(certificate: x509.Certificate) -> str:
    """The certificate in a log line: for whom, by whom, until when."""
    subject, issuer = certificate.subject.rfc4514_string(), certificate.issuer.rfc4514_string()
    return f"{subject} by {issuer}, until {certificate.not_valid_after_utc:%Y-%m-%dT%H:%M:%SZ}"
