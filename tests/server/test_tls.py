"""The server's certificate."""

from __future__ import annotations

import ssl
from contextlib import suppress
from datetime import UTC, datetime
from ipaddress import ip_address
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from cryptography import x509
from OpenSSL import SSL

from moorage.server.tls import (
    CIPHERS,
    OTHER_CIPHERS,
    KeyPair,
    NamedPair,
    TlsContexts,
    TlsError,
    TlsSettings,
    self_signed,
)
from tests.server.certificates import Authority


def test_a_certificate_is_made_for_localhost() -> None:
    certificate = x509.load_pem_x509_certificate(self_signed(now=datetime(2026, 1, 1, tzinfo=UTC)))
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["localhost"]
    assert names.get_values_for_type(x509.IPAddress) == [ip_address("127.0.0.1"), ip_address("::1")]
    assert certificate.not_valid_after_utc == datetime(2027, 1, 1, tzinfo=UTC)


PEM = self_signed()


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


def pair(file: Path) -> KeyPair:
    return KeyPair(file.read_bytes(), file.read_bytes())


class Shaken(NamedTuple):
    """What came out of a handshake."""

    version: str | None
    cipher: str
    subject: str


def shake_hands(
    contexts: TlsContexts, *, host: str | None = None, address: str = "", **client: Any
) -> Shaken:
    """A handshake in memory; `client` are attributes of the client's context."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    for name, value in client.items():
        setattr(context, name, value)
    to_client, to_server = ssl.MemoryBIO(), ssl.MemoryBIO()
    caller = context.wrap_bio(to_client, to_server, server_hostname=host)
    server = contexts.connection(address)
    for _ in range(10):
        with suppress(ssl.SSLWantReadError):
            caller.do_handshake()
        if to_server.pending:
            server.bio_write(to_server.read())
        with suppress(SSL.WantReadError):
            server.do_handshake()
        with suppress(SSL.WantReadError):
            to_client.write(server.bio_read(2**16))
    shown = caller.getpeercert(binary_form=True)
    assert shown is not None
    cipher = caller.cipher()
    assert cipher is not None
    subject = x509.load_der_x509_certificate(shown).subject.rfc4514_string()
    return Shaken(caller.version(), cipher[0], subject)


def contexts(**settings: Any) -> TlsContexts:
    return TlsContexts(TlsSettings(**settings), KeyPair(PEM, PEM))


def test_the_least_version_is_1_2_unless_told_otherwise() -> None:
    old: Any = {"maximum_version": ssl.TLSVersion.TLSv1_2}
    assert shake_hands(contexts(), **old).version == "TLSv1.2"
    assert shake_hands(contexts()).version == "TLSv1.3"
    with pytest.raises((ssl.SSLError, SSL.Error), match="protocol"):
        shake_hands(contexts(min_version="VersionTLS13"), **old)


def test_cipher_suites_can_be_chosen() -> None:
    chosen = contexts(cipher_suites=["TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384", "TLS_AES_128_GCM_SHA256"])
    found = shake_hands(chosen, maximum_version=ssl.TLSVersion.TLSv1_2)
    assert found.cipher == "ECDHE-ECDSA-AES256-GCM-SHA384"


def test_openssl_knows_every_cipher_suite() -> None:
    for name in (*CIPHERS, *OTHER_CIPHERS):
        contexts(cipher_suites=[name])


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"min_version": "TLS1.3"}, r"--tls-min-version: unknown version 'TLS1\.3', use one of VersionTLS10"),
        ({"cipher_suites": ["AES"]}, r"--tls-cipher-suites: unknown suite 'AES', use some of TLS_AES_128"),
    ],
)
def test_unknown_settings_are_refused(settings: dict[str, Any], problem: str) -> None:
    with pytest.raises(TlsError, match=problem):
        TlsSettings(**settings).check()


def test_key_and_certificate_belong_together(authority: Authority) -> None:
    one, two = authority.client("one").read_bytes(), authority.client("two").read_bytes()
    with pytest.raises(ValueError, match="the key is not that of the certificate"):
        KeyPair(one, two)
    for certificate, key in ((one[:-40], one), (one, b""), (b"", one)):
        with pytest.raises(ValueError, match=r"there is no (certificate|private key) as PEM"):
            KeyPair(certificate, key)


def test_another_certificate_is_for_new_connections(authority: Authority) -> None:
    served = contexts()
    served.use(pair(authority.client("new")))
    assert shake_hands(served).subject == "CN=new"


def test_certificates_for_names(authority: Authority) -> None:
    served = contexts()
    served.use_for_names(0, pair(authority.client("a.test", hosts=["b.test", "*.c.test"])), [])
    served.use_for_names(1, pair(authority.client("d.test", hosts=["b.test"])), [])
    served.use_for_names(2, pair(authority.client("e.test")), ["d.test", "10.0.0.7", "*.explicit.test"])
    own = shake_hands(served).subject
    for host, subject in {
        "a.test": "CN=a.test",
        "B.test": "CN=a.test",
        "x.c.test": "CN=a.test",
        "c.test": own,
        "x.y.c.test": own,
        "d.test": "CN=e.test",
        "x.explicit.test": "CN=e.test",
        "unknown.test": own,
    }.items():
        assert shake_hands(served, host=host).subject == subject, host
    assert shake_hands(served, address="10.0.0.7").subject == "CN=e.test"


def test_how_certificates_for_names_are_written() -> None:
    named = NamedPair("a.crt,a.key:*.foo.test,foo.test")
    assert (named.certificate_file, named.key_file) == ("a.crt", "a.key")
    assert named.names == ["*.foo.test", "foo.test"]
    assert NamedPair("a.crt,a.key").names == []
    for wrong in ("a.crt", "a.crt,", ":x"):
        with pytest.raises(TlsError, match="is not of the form CERT,KEY"):
            NamedPair(wrong)
