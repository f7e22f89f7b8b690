"""Certificates for tests: an authority and what it signs."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID, ObjectIdentifier


class Authority:
    """Signs certificates; its own is in `file`."""

    def __init__(self, folder: Path, name: str = "test authority") -> None:
        folder.mkdir(exist_ok=True)
        self._folder = folder
        self._below: dict[str, tuple[x509.Name, ec.EllipticCurvePrivateKey]] = {}
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        certificate = self._signed(self._name, self._key.public_key(), is_authority=True)
        self.file = folder / "ca.pem"
        self.file.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))

    def authority(self, name: str) -> Path:
        """A file with the certificate of an authority below this one, which can then sign."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        certificate = self._signed(subject, key.public_key(), is_authority=True)
        self._below[name] = (subject, key)
        file = self._folder / f"{name}.pem"
        file.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
        return file

    def client(
        self,
        name: str,
        *groups: str,
        by: str = "",
        usage: ObjectIdentifier | None = None,
        expired: bool = False,
        hosts: Sequence[str] = (),
        file: str = "",
    ) -> Path:
        """A file with key and certificate of a user in groups; `by` names the authority below that signs."""
        key = ec.generate_private_key(ec.SECP256R1())
        attributes = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
        common = [x509.NameAttribute(NameOID.COMMON_NAME, name)] if name else []
        certificate = self._signed(
            x509.Name([*attributes, *common]),
            key.public_key(),
            is_authority=False,
            by=by,
            usage=usage,
            expired=expired,
            hosts=hosts,
        )
        path = self._folder / f"{file or name}.pem"
        path.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            )
            + certificate.public_bytes(serialization.Encoding.PEM)
        )
        return path

    def _signed(
        self,
        subject: x509.Name,
        key: ec.EllipticCurvePublicKey,
        *,
        is_authority: bool,
        by: str = "",
        usage: ObjectIdentifier | None = None,
        expired: bool = False,
        hosts: Sequence[str] = (),
    ) -> x509.Certificate:
        now = datetime.now(UTC)
        issuer, signing = self._below[by] if by else (self._name, self._key)
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(issuer)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(hours=1))
            .not_valid_after(now + timedelta(minutes=-1 if expired else 60))
            .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
        )
        if usage is not None:
            builder = builder.add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
        if hosts:
            names = x509.SubjectAlternativeName([x509.DNSName(host) for host in hosts])
            builder = builder.add_extension(names, critical=False)
        return builder.sign(signing, hashes.SHA256())
