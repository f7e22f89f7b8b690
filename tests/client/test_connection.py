"""Kubeconfigs of all forms, pods, and what kube-scheduler's flags mean."""

from __future__ import annotations

import asyncio
import base64
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from moorage.client.connection import ConnectionConfig, Impersonation, find, from_kubeconfig, in_cluster
from moorage.client.credentials import ClientCertificate, Identity
from moorage.client.errors import ConfigurationError

PEM = b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
KEY = b"-----BEGIN PRIVATE KEY-----\nBBBB\n-----END PRIVATE KEY-----\n"
PEM_DATA = base64.b64encode(PEM).decode()
KEY_DATA = base64.b64encode(KEY).decode()
V1 = "client.authentication.k8s.io/v1"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home without a kubeconfig, outside of any cluster."""
    for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "ca.crt").write_bytes(PEM)
    (tmp_path / "user.crt").write_bytes(PEM)
    (tmp_path / "user.key").write_bytes(KEY)
    return tmp_path


def document(cluster: dict[str, Any] | None = None, user: dict[str, Any] | None = None) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": {"server": "https://api:6443", **(cluster or {})}}],
        "users": [{"name": "u", "user": user}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
    }


def write(file: Path, content: dict[str, Any]) -> str:
    file.write_text(yaml.safe_dump(content))
    return str(file)


def identity(config: ConnectionConfig) -> Identity:
    return asyncio.run(config.credentials().identity())


CLUSTERS: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({}, {"server": "https://api:6443", "insecure": False, "ca_data": b"", "ca_file": ""}),
    ({"server": "https://api/k8s/clusters/c-1/"}, {"server": "https://api/k8s/clusters/c-1"}),
    ({"server": "api:6443"}, {"server": "http://api:6443"}),
    ({"server": "api:6443", "certificate-authority": "ca.crt"}, {"server": "https://api:6443"}),
    ({"certificate-authority-data": PEM_DATA}, {"ca_data": PEM}),
    (
        {"certificate-authority-data": PEM_DATA, "certificate-authority": "no"},
        {"ca_data": PEM, "ca_file": ""},
    ),
    ({"insecure-skip-tls-verify": True}, {"insecure": True}),
    ({"tls-server-name": "api.internal"}, {"tls_server_name": "api.internal"}),
    ({"proxy-url": "http://proxy:3128"}, {"proxy_url": "http://proxy:3128"}),
    ({"proxy-url": None, "extensions": None}, {"proxy_url": ""}),
]


@pytest.mark.parametrize(("cluster", "expected"), CLUSTERS)
def test_clusters(folder: Path, cluster: dict[str, Any], expected: dict[str, Any]) -> None:
    config = from_kubeconfig(write(folder / "config", document(cluster)))
    assert {name: getattr(config, name) for name in expected} == expected


USERS: list[tuple[dict[str, Any] | None, Identity]] = [
    (None, Identity()),
    ({}, Identity()),
    ({"token": "abc"}, Identity("Bearer abc")),
    ({"tokenFile": "token"}, Identity("Bearer from-file")),
    ({"tokenFile": "token", "token": "abc"}, Identity("Bearer from-file")),
    ({"username": "me", "password": "s:e"}, Identity("Basic bWU6czpl")),
    (
        {"client-certificate-data": PEM_DATA, "client-key-data": KEY_DATA},
        Identity(certificate=ClientCertificate(PEM, KEY)),
    ),
    (
        {"client-certificate": "user.crt", "client-key": "user.key", "token": "abc"},
        Identity("Bearer abc", ClientCertificate(PEM, KEY)),
    ),
    (
        {"client-certificate-data": PEM_DATA, "client-key": "user.key"},
        Identity(certificate=ClientCertificate(PEM, KEY)),
    ),
]


@pytest.mark.parametrize(("user", "expected"), USERS)
def test_users(folder: Path, user: dict[str, Any] | None, expected: Identity) -> None:
    (folder / "token").write_text("from-file\n")
    assert identity(from_kubeconfig(write(folder / "config", document(user=user)))) == expected


def test_impersonation(folder: Path) -> None:
    user = {"as": "jane", "as-uid": "1", "as-groups": ["dev"], "as-user-extra": {"why": ["test"]}}
    config = from_kubeconfig(write(folder / "config", document(user=user)))
    assert config.impersonate == Impersonation("jane", "1", ("dev",), {"why": ["test"]})


def test_exec_plugin(folder: Path) -> None:
    given = {
        "apiVersion": V1,
        "command": "./bin/login",
        "args": None,
        "env": [{"name": "A", "value": "b"}],
        "interactiveMode": "IfAvailable",
        "provideClusterInfo": True,
    }
    extension = {"name": "client.authentication.k8s.io/exec", "extension": {"audience": "a"}}
    cluster = {"certificate-authority": "ca.crt", "extensions": [extension]}
    plugin = from_kubeconfig(write(folder / "config", document(cluster, {"exec": given}))).exec
    assert plugin is not None
    assert (plugin.command, plugin.args, plugin.env) == (str(folder / "bin" / "login"), (), {"A": "b"})
    assert plugin.cluster == {
        "server": "https://api:6443",
        "certificate-authority-data": PEM_DATA,
        "config": {"audience": "a"},
    }


def test_command_without_a_folder_is_looked_up(folder: Path) -> None:
    given = {"apiVersion": V1.replace("v1", "v1beta1"), "command": "login"}
    plugin = from_kubeconfig(write(folder / "config", document(user={"exec": given}))).exec
    assert plugin is not None and (plugin.command, plugin.cluster) == ("login", None)


def test_secrets_are_not_shown(folder: Path) -> None:
    user = {"token": "abc-secret", "client-certificate-data": PEM_DATA, "client-key-data": KEY_DATA}
    config = from_kubeconfig(write(folder / "config", document(user=user)))
    assert "secret" not in repr(config) and "BBBB" not in repr(config)
    assert "secret" not in repr(identity(config)) and "BBBB" not in repr(config.certificate)


def test_contexts_and_namespaces(folder: Path) -> None:
    content = document()
    content["contexts"].append({"name": "y", "context": {"cluster": "d", "namespace": "apps"}})
    content["clusters"].append({"name": "d", "cluster": {"server": "https://other"}})
    path = write(folder / "config", content)
    assert from_kubeconfig(path).namespace == "default"
    other = from_kubeconfig(path, "y")
    assert (other.server, other.namespace) == ("https://other", "apps")


def test_json_is_read_too(folder: Path) -> None:
    (folder / "config").write_text(json.dumps(document()))
    assert from_kubeconfig(str(folder / "config")).server == "https://api:6443"


def test_default_file(folder: Path) -> None:
    (folder / ".kube").mkdir()
    write(folder / ".kube" / "config", document({"certificate-authority": "../ca.crt"}))
    assert from_kubeconfig().ca_file == str(folder / "ca.crt")


def test_several_files_are_merged(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("one", "two"):
        (folder / name).mkdir()
        (folder / name / "ca.crt").write_bytes(PEM)
    first = {"current-context": "x", "users": [{"name": "u", "user": {"token": "first"}}], "clusters": None}
    second = document({"certificate-authority": "ca.crt"}, {"token": "second"})
    second["current-context"] = "unknown"
    write(folder / "one" / "config", first)
    write(folder / "two" / "config", second)
    listed = [folder / "one" / "config", folder / "absent", folder / "two" / "config"]
    monkeypatch.setenv("KUBECONFIG", ":".join(map(str, listed)))
    config = from_kubeconfig()
    assert config.ca_file == str(folder / "two" / "ca.crt")  # seen from the file that names it
    assert identity(config).authorization == "Bearer first"  # what comes first is kept


def without(part: str) -> dict[str, Any]:
    return {name: value for name, value in document().items() if name != part}


EXEC = {"apiVersion": V1, "command": "login", "interactiveMode": "Never"}
BAD: list[tuple[dict[str, Any], str]] = [
    (document({"server": ""}), 'clusters "c": server: is missing; write the API server\'s URL there'),
    (
        document({"server": "ftp://x"}),
        'clusters "c": server: "ftp://x" is not a server; write https://HOST:P',
    ),
    (document({"server": "https://x:99999"}), '"https://x:99999" is not a server'),
    (document({"server": 7}), "clusters[0].cluster.server: Expected `str`, got `int`; correct this value"),
    (document({"certificate-authority": "no.crt"}), 'clusters "c": certificate-authority: cannot read '),
    (document({"certificate-authority-data": "?"}), "certificate-authority-data: is not base64; encode the"),
    (document({"certificate-authority-data": "aGk="}), "certificate-authority-data: is not PEM; encode the"),
    (
        document({"certificate-authority-data": PEM_DATA, "insecure-skip-tls-verify": True}),
        "insecure-skip-tls-verify: cannot be true beside a certificate authority; remove one",
    ),
    (document({"proxy-url": "socks5://p"}), 'proxy-url: "socks5://p" is not supported; give an http'),
    (document(user={"token": "a", "username": "b"}), 'users "u": username: cannot be used beside a token'),
    (
        document(user={"client-key-data": KEY_DATA}),
        "client-certificate: is missing; a client certificate and",
    ),
    (document(user={"client-certificate": "user.crt"}), "client-key: is missing; a client certificate and"),
    (
        document(user={"auth-provider": {"name": "oidc"}}),
        "auth-provider: is no longer supported by Kubernetes",
    ),
    (document(user={"as-groups": ["a"]}), "as: is missing; as-uid"),
    (document(user={"exec": EXEC | {"command": ""}}), "exec.command: is missing; name the program"),
    (document(user={"exec": EXEC | {"apiVersion": "v2"}}), 'exec.apiVersion: is "v2"; it must be one of'),
    (
        document(user={"exec": EXEC | {"interactiveMode": "Always"}}),
        "exec.interactiveMode: is Always, and nob",
    ),
    (
        document(user={"exec": EXEC | {"interactiveMode": ""}}),
        "exec.interactiveMode: must be Never or IfAvai",
    ),
    (without("current-context"), "current-context: no context is chosen; set it to one of x"),
    (document() | {"current-context": "z"}, 'current-context: there is no context "z"; choose one of x'),
    (without("clusters"), 'contexts "x": cluster: there is no cluster "c"; choose one of (there are none)'),
    (without("users"), 'contexts "x": user: there is no user "u"; choose one of (there are none)'),
    (document() | {"kind": "Pod"}, 'kind: is "Pod"; a kubeconfig has the kind "Config"'),
]


@pytest.mark.parametrize(("content", "expected"), BAD)
def test_what_is_wrong_is_said_in_one_line(folder: Path, content: dict[str, Any], expected: str) -> None:
    path = write(folder / "config", content)
    with pytest.raises(ConfigurationError) as caught:
        from_kubeconfig(path)
    text = str(caught.value)
    assert text.startswith(f"{path}: ") and expected in text and "\n" not in text


def test_bad_files(folder: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"absent: there is no such file; give the path"):
        from_kubeconfig(str(folder / "absent"))
    with pytest.raises(ConfigurationError, match="cannot be read: Is a directory"):
        from_kubeconfig(str(folder))
    (folder / "config").write_text("a: [1\nb: {")
    with pytest.raises(ConfigurationError, match=r"config: line 2: not valid YAML: "):
        from_kubeconfig(str(folder / "config"))
    (folder / "config").write_text("just text")
    with pytest.raises(ConfigurationError, match=r"config: the whole file: Expected `object`, got `str`"):
        from_kubeconfig(str(folder / "config"))
    with pytest.raises(ConfigurationError, match=r"no configuration has been provided: there is no .*config"):
        from_kubeconfig()


def pod(folder: Path, **given: str) -> Path:
    account = folder / "account"
    account.mkdir()
    for name, content in given.items():
        (account / name.replace("_", ".")).write_text(content)
    return account


def test_in_cluster(folder: Path) -> None:
    account = pod(folder, token="secret\n", ca_crt=PEM.decode(), namespace="kube-system")
    environ = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "443"}
    config = in_cluster(str(account), environ)
    assert (config.server, config.namespace) == ("https://10.0.0.1:443", "kube-system")
    assert config.ca_file == str(account / "ca.crt")
    assert identity(config).authorization == "Bearer secret"
    assert in_cluster(str(account), environ | {"KUBERNETES_SERVICE_HOST": "fd00::1"}).server == (
        "https://[fd00::1]:443"
    )


def test_in_cluster_without_a_token(folder: Path) -> None:
    environ = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "443"}
    with pytest.raises(ConfigurationError, match="token: cannot be read: No such file"):
        in_cluster(str(pod(folder)), environ)


def test_find(folder: Path) -> None:
    path = write(folder / "config", document({"certificate-authority": "ca.crt"}, {"token": "abc"}))
    assert find(path).server == "https://api:6443"
    overridden = find(path, "other:1234")
    assert (overridden.server, overridden.token) == ("https://other:1234", "abc")
    assert find(master="http://localhost:8080") == ConnectionConfig("http://localhost:8080")
    with pytest.raises(ConfigurationError, match="--master"):
        find(master="https://")


def test_find_does_not_look_at_the_users_own_kubeconfig(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", write(folder / "config", document()))
    with pytest.raises(ConfigurationError, match="no configuration has been provided") as caught:
        find()
    assert "KUBERNETES_SERVICE_HOST" in str(caught.value) and "\n" not in str(caught.value)
