"""The server's certificate."""

from __future__ import annotations

import ssl
import tempfile
from datetime import UTC, datetime
from ipaddress import ip_address
from pathlib import Path

import pytest
from cryptography import x509

from moorage.server.tls import TlsError, self_signed, server_context
from tests.server.certificates import Authority


def test_a_certificate_is_made_for_localhost() -> None:
    certificate = x509.load_pem_x509_certificate(self_signed(now=datetime(2026, 1, 1, tzinfo=UTC)))
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["localhost"]
    assert names.get_values_for_type(x509.IPAddress) == [ip_address("127.0.0.1"), ip_address("::1")]
    assert certificate.not_valid_after_utc == datetime(2027, 1, 1, tzinfo=UTC)


def test_no_file_with_the_key_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    server_context()
    assert list(tmp_path.iterdir()) == []


def test_the_least_version_is_1_2_unless_told_otherwise() -> None:
    assert server_context().minimum_version is ssl.TLSVersion.TLSv1_2
    assert server_context(min_version="VersionTLS13").minimum_version is ssl.TLSVersion.TLSv1_3


def test_an_unknown_version_is_refused() -> None:
    with pytest.raises(
        TlsError, match=r"--tls-min-version: unknown version 'TLS1\.3', use one of VersionTLS10"
    ):
        server_context(min_version="TLS1.3")


def test_certificate_and_key_go_together() -> None:
    with pytest.raises(TlsError, match="must be given together"):
        server_context("cert.pem")


def test_files_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    missing = str(tmp_path / "missing.pem")
    with pytest.raises(TlsError, match=r"missing\.pem.*No such file"):
        server_context(missing, missing)


def test_given_files_are_used(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    file = str(authority.client("server"))
    context = server_context(file, file, client_ca_file=str(authority.file))
    assert context.verify_mode is ssl.CERT_OPTIONAL


def test_without_a_client_ca_no_certificate_is_asked_for() -> None:
    assert server_context().verify_mode is ssl.CERT_NONE
