"""The server's certificate and TLS settings."""

from __future__ import annotations

import ssl
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

MIN_VERSIONS = {
    "VersionTLS10": ssl.TLSVersion.TLSv1,
    "VersionTLS11": ssl.TLSVersion.TLSv1_1,
    "VersionTLS12": ssl.TLSVersion.TLSv1_2,
    "VersionTLS13": ssl.TLSVersion.TLSv1_3,
}
"""What --tls-min-version takes."""

DEFAULT_MIN_VERSION = "VersionTLS12"
LOCAL_NAMES = ("localhost", "127.0.0.1", "::1")
_VALID_FOR = timedelta(days=365)


class TlsError(Exception):
    """Settings with which the server cannot serve; the text says why."""


def server_context(
    cert_file: str = "",
    key_file: str = "",
    *,
    client_ca_file: str = "",
    min_version: str = DEFAULT_MIN_VERSION,
) -> ssl.SSLContext:
    """The settings to serve with; without a certificate one is made for localhost.

    With a client CA, callers may show a certificate; one that this CA did not sign ends the connection.
    """
    if bool(cert_file) != bool(key_file):
        raise TlsError("--tls-cert-file and --tls-private-key-file must be given together")
    if min_version not in MIN_VERSIONS:
        raise TlsError(
            f"--tls-min-version: unknown version {min_version!r}, use one of {', '.join(MIN_VERSIONS)}"
        )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = MIN_VERSIONS[min_version]
    context.set_alpn_protocols(["http/1.1"])
    try:
        if cert_file:
            context.load_cert_chain(cert_file, key_file)
        else:
            _load_from_memory(context, self_signed())
        if client_ca_file:
            context.load_verify_locations(client_ca_file)
            context.verify_mode = ssl.CERT_OPTIONAL
    except (OSError, ValueError) as error:
        files = ", ".join(name for name in (cert_file, key_file, client_ca_file) if name)
        raise TlsError(f"the certificates cannot be used ({files}): {error}") from error
    return context


def self_signed(names: Sequence[str] = LOCAL_NAMES, now: datetime | None = None) -> bytes:
    """A fresh key and a certificate for these host names and addresses, both as PEM."""
    now = now or datetime.now(UTC)
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"{names[0]}@{int(now.timestamp())}"[:64])])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + _VALID_FOR)
        .add_extension(x509.SubjectAlternativeName([_alternative(name) for name in names]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .sign(key, hashes.SHA256())
    )
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    ) + certificate.public_bytes(serialization.Encoding.PEM)


def _alternative(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _load_from_memory(context: ssl.SSLContext, pem: bytes) -> None:
    """The ssl module reads certificates from files only: it gets a private one for that moment."""
    with tempfile.NamedTemporaryFile(prefix="moorage-", suffix=".pem") as file:
        file.write(pem)
        file.flush()
        context.load_cert_chain(Path(file.name))
