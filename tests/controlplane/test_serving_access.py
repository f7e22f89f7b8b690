"""Who is let in with which credentials: the same as by kube-scheduler, request by request."""

import contextlib
import http.client
import json
import ssl
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from cryptography import x509
from cryptography.x509.oid import ExtendedKeyUsageOID

from tests.controlplane.programs import programs_for
from tests.controlplane.schedulers import Answer, moorage
from tests.controlplane.servers import HOST, ControlPlane, Program, free_ports, wait_for
from tests.server.certificates import Authority

READER = "reader"
FILE_FLAGS = ("tls-cert-file", "tls-private-key-file", "client-ca-file")
PATHS = ("/healthz", "/readyz/ping", "/metrics", "/configz", "/debug/pprof/", "/nothing")
PROXY_HEADERS = {
    "X-Remote-User": READER,
    "X-Remote-Group": "some",
    "X-Remote-Extra-Scopes": "all",
}


class World(NamedTuple):
    plane: ControlPlane
    certificates: dict[str, Path | None]
    tokens: dict[str, str]
    own_ca: Path
    front_proxy_ca: Path


@pytest.fixture(scope="module")
def world(pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """A cluster with an authority for clients and one for front proxies, and everybody's certificates."""
    folder = tmp_path_factory.mktemp("access")
    cluster, own, proxies, stranger = (
        Authority(folder / name, name) for name in ("cluster", "own", "proxies", "stranger")
    )
    flags = (
        f"--client-ca-file={cluster.file}",
        f"--requestheader-client-ca-file={proxies.file}",
        "--requestheader-allowed-names=front-proxy",
        "--requestheader-username-headers=X-Remote-User",
        "--requestheader-group-headers=X-Remote-Group",
        "--requestheader-extra-headers-prefix=X-Remote-Extra-",
    )
    certificates = {
        "none": None,
        "a reader of the cluster": cluster.client(READER, "readers"),
        "an admin of the cluster": cluster.client("admin", "system:masters"),
        "of the cluster, for servers": cluster.client(
            "server", "system:masters", usage=ExtendedKeyUsageOID.SERVER_AUTH
        ),
        "of the cluster, for clients": cluster.client(
            "client", "system:masters", usage=ExtendedKeyUsageOID.CLIENT_AUTH
        ),
        "of the cluster, expired": cluster.client("expired", "system:masters", expired=True),
        "of the cluster, nameless": cluster.client("", "system:masters", file="nameless"),
        "of the given authority": own.client("admin", "system:masters"),
        "of a stranger": stranger.client("admin", "system:masters"),
        "a front proxy": proxies.client("front-proxy"),
        "no front proxy by name": proxies.client("other-proxy"),
    }
    with ControlPlane(programs_for(pytestconfig), apiserver_flags=flags) as plane:
        plane.kubectl("create", "clusterrole", READER, "--verb=get", "--non-resource-url=/metrics")
        plane.kubectl("create", "clusterrolebinding", READER, f"--clusterrole={READER}", f"--user={READER}")
        tokens = {"none": "", "good": plane.admin_token, "bad": "wrong"}
        yield World(plane, certificates, tokens, own.file, proxies.file)


class Asker:
    """A client with a connection for each certificate."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._connections: dict[Path | None, http.client.HTTPSConnection] = {}

    def ask(
        self,
        path: str,
        certificate: Path | None = None,
        token: str = "",
        headers: dict[str, str] | None = None,
    ) -> Answer:
        if certificate not in self._connections:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
            if certificate is not None:
                context.load_cert_chain(certificate)
            connection = http.client.HTTPSConnection(HOST, self._port, timeout=30, context=context)
            self._connections[certificate] = connection
        shown = {"Authorization": f"Bearer {token}"} if token else {}
        self._connections[certificate].request("GET", path, headers={**(headers or {}), **shown})
        answer = self._connections[certificate].getresponse()
        return Answer(answer.status, answer.read().decode())

    def close(self) -> None:
        for connection in self._connections.values():
            connection.close()


@contextlib.contextmanager
def both(world: World, *flags: str) -> Iterator[tuple[Asker, Asker]]:
    """kube-scheduler and Moorage with the same flags."""
    [port] = free_ports(1)
    with (
        moorage(world.plane, *flags, serve=True, ready=False) as ours,
        world.plane.kube_scheduler(f"--secure-port={port}", *flags) as theirs,
    ):
        ours.wait_ready()
        wait_for("readiness", lambda: _is_ready(port, theirs), seconds=60)
        with contextlib.closing(Asker(port)) as kube, contextlib.closing(Asker(ours.port)) as own:
            yield kube, own


def _is_ready(port: int, program: Program) -> bool:
    program.check_running()
    with contextlib.suppress(OSError), contextlib.closing(Asker(port)) as asker:
        return asker.ask("/readyz").status == 200
    return False


def outcome(answer: Answer) -> tuple[int, Any]:
    """The status, and of a refusal what it says; what a page holds is not compared."""
    if answer.status < 400:
        return answer.status, None
    return answer.status, json.loads(answer.text) if answer.text.startswith("{") else answer.text


FLAGS = {
    "as the cluster says": (),
    "clients given": ("--client-ca-file={own}",),
    "front proxies given": (
        "--authentication-skip-lookup",
        "--requestheader-client-ca-file={proxies}",
        "--requestheader-username-headers=X-Name,X-Remote-User",
    ),
}


@pytest.mark.parametrize("flags", FLAGS.values(), ids=FLAGS)
def test_everybody_gets_the_answer_of_kube_scheduler(flags: tuple[str, ...], world: World) -> None:
    flags = tuple(flag.format(own=world.own_ca, proxies=world.front_proxy_ca) for flag in flags)
    cases = list(product(world.certificates, world.tokens, PATHS, ({}, PROXY_HEADERS)))
    with both(world, *flags) as (theirs, ours):
        expected, found = (
            {
                (certificate, token, path, bool(headers)): outcome(
                    asker.ask(path, world.certificates[certificate], world.tokens[token], headers)
                )
                for certificate, token, path, headers in cases
            }
            for asker in (theirs, ours)
        )
    assert found == expected
    assert {status for status, _ in found.values()} == {200, 401, 403, 404}


def test_certificates_are_followed_as_they_change(world: World, tmp_path: Path) -> None:
    """Those it serves with, and whose count for clients; connections that are open stay so."""
    first, second = (Authority(tmp_path / name, name) for name in ("first", "second"))
    files = [tmp_path / name for name in ("tls.crt", "tls.key", "ca.crt")]
    flags = [f"--{flag}={file}" for flag, file in zip(FILE_FLAGS, files, strict=True)]

    def put(authority: Authority) -> None:
        pem = authority.client("server").read_bytes()
        for file, content in zip(files, (pem, pem, authority.file.read_bytes()), strict=True):
            file.write_bytes(content)

    def served() -> str:
        pem = ssl.get_server_certificate((HOST, ours.port))
        return x509.load_pem_x509_certificate(pem.encode()).issuer.rfc4514_string()

    put(first)
    with moorage(world.plane, *flags, serve=True) as ours, contextlib.closing(Asker(ours.port)) as asker:
        old, new = (each.client("admin", "system:masters") for each in (first, second))
        assert (served(), asker.ask("/configz", old).status) == ("CN=first", 200)
        assert asker.ask("/configz", new).status == 401
        files[1].write_bytes(b"half")
        ours.wait_until("a complaint", lambda: "Changed files cannot be used" in ours.log_text())
        assert served() == "CN=first"
        put(second)
        ours.wait_until("the new certificate", lambda: served() == "CN=second")
        ours.wait_until("the new authority", lambda: asker.ask("/configz", new).status == 200)
        assert asker.ask("/configz", old).status == 401


def test_what_the_cluster_says_is_followed(world: World, tmp_path: Path) -> None:
    plane, name = world.plane, "extension-apiserver-authentication"
    authority = Authority(tmp_path)
    before = json.loads(plane.kubectl("get", "configmap", name, "-n", "kube-system", "-o", "json"))["data"]
    after = {"client-ca-file": authority.file.read_text(), "requestheader-allowed-names": '["other-proxy"]'}

    def patch(data: dict[str, str]) -> None:
        plane.kubectl("patch", "configmap", name, "-n", "kube-system", "-p", json.dumps({"data": data}))

    def proxied(certificate: str) -> int:
        return asker.ask("/metrics", world.certificates[certificate], headers=PROXY_HEADERS).status

    with moorage(plane, serve=True) as ours, contextlib.closing(Asker(ours.port)) as asker:
        admin = authority.client("admin", "system:masters")
        assert asker.ask("/configz", admin).status == 401
        assert (proxied("a front proxy"), proxied("no front proxy by name")) == (200, 401)
        try:
            patch(after)
            ours.wait_until("the new authority", lambda: asker.ask("/configz", admin).status == 200)
            assert (proxied("a front proxy"), proxied("no front proxy by name")) == (401, 200)
            patch({"client-ca-file": "broken"})
            ours.wait_until("a complaint", lambda: "A part of a config map cannot be used" in ours.log_text())
            assert asker.ask("/configz", admin).status == 200
        finally:
            patch(before)


def test_a_cluster_that_does_not_say_whose_certificates_count(world: World, tmp_path: Path) -> None:
    plane = world.plane
    plane.kubectl("create", "serviceaccount", "nobody")
    kubeconfig = plane.kubeconfig_of(plane.token("nobody", "default"), tmp_path / "kubeconfig")
    asking = f"--authentication-kubeconfig={kubeconfig}"
    strict = "--authentication-tolerate-lookup-failure=false"
    with moorage(plane, asking, strict, serve=True, ready=False) as ours:
        assert ours.exit_code(30) == 1
        assert "create rolebinding -n kube-system" in ours.log_text()
    with moorage(plane, asking, serve=True) as ours:
        assert "The cluster does not say whose certificates count" in ours.log_text()
