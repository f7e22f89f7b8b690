"""Who a caller is, by certificate or by the word of a front proxy; the rest is in test_access."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
from multidict import CIMultiDict

from moorage.server.authentication import (
    ANONYMOUS,
    Authentication,
    ClientTrust,
    Credentials,
    FrontProxyHeaders,
    NotAuthenticated,
    UserInfo,
    user_of_certificate,
)
from moorage.server.authorities import Authorities, Untrusted
from tests.server.certificates import Authority

HEADERS = FrontProxyHeaders(
    username=["X-Other-User", "X-Remote-User"],
    uid=["X-Remote-Uid"],
    group=["X-Remote-Group"],
    extra_prefix=["X-Remote-Extra-"],
    allowed_names=["proxy"],
)


class Tokens:
    async def review_token(self, token: str) -> UserInfo | None:
        return UserInfo("bearer") if token == "good" else None


@pytest.fixture
def clients(tmp_path: Path) -> Authority:
    return Authority(tmp_path / "clients", "clients")


@pytest.fixture
def proxies(tmp_path: Path) -> Authority:
    return Authority(tmp_path / "proxies", "proxies")


def chain(file: Path) -> list[x509.Certificate]:
    return x509.load_pem_x509_certificates(file.read_bytes())


def who(trust: ClientTrust, shown: Path | None = None, **headers: str) -> UserInfo:
    given = CIMultiDict({name.replace("_", "-"): value for name, value in headers.items()})
    credentials = Credentials(chain(shown) if shown else (), given)
    return asyncio.run(Authentication(trust, Tokens()).user(credentials))


def authorities(*of: Authority) -> Authorities:
    return Authorities(b"".join(each.file.read_bytes() for each in of))


def test_a_certificate_names_user_and_groups(clients: Authority) -> None:
    file = clients.client("admin", "ops", "dev")
    user = who(ClientTrust(authorities(clients)), file)
    assert (user.name, user.groups, user.uid) == ("admin", ("ops", "dev", "system:authenticated"), "")
    [(key, [value])] = user.extra
    assert key == "authentication.kubernetes.io/credential-id"
    assert value == f"X509SHA256={chain(file)[0].fingerprint(hashes.SHA256()).hex()}"


def test_several_authorities_may_count(clients: Authority, proxies: Authority) -> None:
    trust = ClientTrust(authorities(clients, proxies))
    assert who(trust, clients.client("one")).name == "one"
    assert who(trust, proxies.client("two")).name == "two"


def test_a_certificate_counts_only_where_an_authority_is_known(clients: Authority) -> None:
    assert who(ClientTrust(), clients.client("admin", "system:masters")) == ANONYMOUS


def test_a_strangers_certificate_is_no_harm_beside_a_token(clients: Authority, proxies: Authority) -> None:
    trust, file = ClientTrust(authorities(clients)), proxies.client("admin")
    assert who(trust, file, Authorization="Bearer good").name == "bearer"
    with pytest.raises(NotAuthenticated, match="unable to get local issuer certificate"):
        who(trust, file)
    with pytest.raises(NotAuthenticated, match=r"its certificate: .*; its token: not valid"):
        who(trust, file, Authorization="Bearer bad")


def test_a_good_certificate_makes_a_bad_token_harmless(clients: Authority) -> None:
    user = who(ClientTrust(authorities(clients)), clients.client("bob"), Authorization="Bearer bad")
    assert user.name == "bob"


def test_the_certificate_must_be_for_clients(clients: Authority) -> None:
    known = authorities(clients)
    known.verify(chain(clients.client("a", usage=ExtendedKeyUsageOID.CLIENT_AUTH)))
    known.verify(chain(clients.client("b", usage=ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE)))
    with pytest.raises(Untrusted, match="its key is not for clients"):
        known.verify(chain(clients.client("c", usage=ExtendedKeyUsageOID.SERVER_AUTH)))


def test_the_certificate_must_be_valid_now(clients: Authority) -> None:
    known, shown = authorities(clients), chain(clients.client("a"))
    known.verify(shown)
    with pytest.raises(Untrusted, match="certificate has expired"):
        known.verify(shown, datetime.now(UTC) + timedelta(hours=2))
    with pytest.raises(Untrusted, match="certificate is not yet valid"):
        known.verify(shown, datetime.now(UTC) - timedelta(hours=2))
    known.verify(shown)  # the time of one question is not that of the next


def test_an_authority_below_another_is_trusted_by_itself(clients: Authority) -> None:
    """A bundle may hold an intermediate authority without its root."""
    below = chain(clients.authority("below"))
    leaf = chain(clients.client("alice", by="below"))
    with pytest.raises(Untrusted):
        authorities(clients).verify(leaf)
    authorities(clients).verify([*leaf, *below])
    Authorities(below[0].public_bytes(Encoding.PEM)).verify(leaf)


def test_a_bundle_must_hold_a_certificate() -> None:
    for pem in (b"", b"-----BEGIN CERTIFICATE-----\nMIIB"):
        with pytest.raises(ValueError, match="there is no certificate as PEM in it"):
            Authorities(pem)


def test_the_uid_of_a_certificate() -> None:
    uid = x509.ObjectIdentifier("1.3.6.1.4.1.57683.2")
    name = x509.NameAttribute(NameOID.COMMON_NAME, "alice")
    one, two = (x509.NameAttribute(uid, value) for value in ("1", "2"))
    assert (found := user_of_certificate(self_signed(name, one))) is not None
    assert found.uid == "1"
    with pytest.raises(Untrusted, match="one UID"):
        user_of_certificate(self_signed(name, one, two))


def self_signed(*subject: x509.NameAttribute[str]) -> x509.Certificate:
    key, name, now = ec.generate_private_key(ec.SECP256R1()), x509.Name(subject), datetime.now(UTC)
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    builder = builder.serial_number(1).not_valid_before(now).not_valid_after(now + timedelta(hours=1))
    return builder.sign(key, hashes.SHA256())


# Front proxies


def by_proxy(clients: Authority, proxies: Authority, name: str, **headers: str) -> UserInfo:
    return who(
        ClientTrust(authorities(clients), authorities(proxies), HEADERS), proxies.client(name), **headers
    )


def test_a_front_proxy_names_the_user(clients: Authority, proxies: Authority) -> None:
    user = by_proxy(
        clients,
        proxies,
        "proxy",
        X_Remote_User="alice",
        X_Remote_Uid="7",
        X_Remote_Group="readers",
        X_Remote_Extra_Acme_2fscope="all",
        X_Other_User="",
    )
    assert user == UserInfo("alice", ("readers", "system:authenticated"), "7", (("acme-2fscope", ("all",)),))


def test_headers_are_read_as_they_come(clients: Authority, proxies: Authority) -> None:
    trust = ClientTrust(None, authorities(proxies), HEADERS)
    headers = CIMultiDict(
        [
            ("x-remote-user", "alice"),
            ("x-remote-group", "a"),
            ("X-REMOTE-GROUP", "b"),
            ("x-remote-group", ""),
            ("X-Remote-Extra-Acme%2FScope", "one"),
            ("x-remote-extra-acme%2fscope", "two"),
        ]
    )
    credentials = Credentials(chain(proxies.client("proxy")), headers)
    user = asyncio.run(Authentication(trust).user(credentials))
    assert user.groups == ("a", "b", "system:authenticated")
    assert user.extra == (("acme/scope", ("one", "two")),)


def test_only_front_proxies_are_believed(clients: Authority, proxies: Authority) -> None:
    with pytest.raises(NotAuthenticated, match="'other' is no front proxy"):
        by_proxy(clients, proxies, "other", X_Remote_User="alice")
    trust = ClientTrust(authorities(clients), authorities(proxies), HEADERS)
    assert who(trust, clients.client("bob"), X_Remote_User="alice").name == "bob"
    assert who(trust, None, X_Remote_User="alice") == ANONYMOUS


def test_a_front_proxy_that_names_nobody_is_nobody(clients: Authority, proxies: Authority) -> None:
    with pytest.raises(NotAuthenticated):
        by_proxy(clients, proxies, "proxy")
    trust = ClientTrust(None, authorities(proxies), HEADERS)
    assert who(trust, proxies.client("proxy")) == ANONYMOUS


def test_a_front_proxy_may_name_nobody_in_particular(clients: Authority, proxies: Authority) -> None:
    user = by_proxy(clients, proxies, "proxy", X_Remote_User="system:anonymous")
    assert user == UserInfo("system:anonymous")
