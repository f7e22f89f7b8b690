"""Where the API server is and how to get in: from a kubeconfig or from inside a cluster."""

from __future__ import annotations

import base64
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from moorage.client import kubeconfig as files
from moorage.client.credentials import (
    ClientCertificate,
    Credentials,
    FileCredentials,
    FixedCredentials,
    Identity,
    basic,
    bearer,
)
from moorage.client.errors import ConfigurationError
from moorage.client.exec_plugin import VERSIONS, ExecCredentials, ExecPlugin
from moorage.client.local import LocalServer
from moorage.client.observer import ClientObserver

SERVICE_ACCOUNT_FOLDER = "/var/run/secrets/kubernetes.io/serviceaccount"
FOLDER_VARIABLE = "KUBERNETES_SERVICE_ACCOUNT_FOLDER"
_EXEC_EXTENSION = "client.authentication.k8s.io/exec"


@dataclass(frozen=True)
class Impersonation:
    """The user that requests are made for, other than the one that makes them."""

    user: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: dict[str, list[str]] = field(default_factory=dict)


@dataclass(frozen=True)
class ConnectionConfig:
    """All that is needed to connect. Without a CA the system's certificate authorities are trusted."""

    server: str
    ca_data: bytes = field(default=b"", repr=False)
    ca_file: str = ""
    insecure: bool = False
    tls_server_name: str = ""
    proxy_url: str = ""
    namespace: str = "default"
    token: str = field(default="", repr=False)
    token_file: str = ""
    username: str = ""
    password: str = field(default="", repr=False)
    certificate: ClientCertificate | None = field(default=None, repr=False)
    certificate_files: tuple[str, str] | None = None
    exec: ExecPlugin | None = None
    impersonate: Impersonation | None = None
    local: LocalServer | None = None
    """A server in this process, which is asked directly; then nothing of the above counts."""

    def credentials(self, observer: ClientObserver | None = None) -> Credentials:
        """New credentials; each client has its own."""
        authorization = ""
        if self.token:
            authorization = bearer(self.token)
        elif self.username:
            authorization = basic(self.username, self.password)
        fixed = Identity(authorization, self.certificate)
        if self.exec is not None and not authorization and not self.token_file:
            return ExecCredentials(self.exec, fixed, observer=observer)
        if self.token_file or self.certificate_files or self.ca_file:
            return FileCredentials(
                fixed,
                token_file=self.token_file,
                certificate_files=self.certificate_files,
                ca_file=self.ca_file,
            )
        return FixedCredentials(fixed)


def find(kubeconfig: str = "", master: str = "") -> ConnectionConfig:
    """The connection kube-scheduler would make of `--kubeconfig` and `--master`."""
    if kubeconfig:
        config = from_kubeconfig(kubeconfig)
        return replace(config, server=_server(master, "--master", tls=_has_tls(config))) if master else config
    if master:
        return ConnectionConfig(_server(master, "--master", tls=False))
    try:
        return in_cluster()
    except ConfigurationError as error:
        raise ConfigurationError(
            "invalid configuration: no configuration has been provided; "
            f"give --kubeconfig or --master, or run in a pod ({error})"
        ) from None


def in_cluster(folder: str = "", environ: Mapping[str, str] = os.environ) -> ConnectionConfig:
    """The connection of a pod, with the token of its service account.

    The embedded cluster runs pods without file systems of their own: it names the folder in a variable.
    """
    folder = folder or environ.get(FOLDER_VARIABLE) or SERVICE_ACCOUNT_FOLDER
    host, port = environ.get("KUBERNETES_SERVICE_HOST"), environ.get("KUBERNETES_SERVICE_PORT")
    if not host or not port:
        raise ConfigurationError(
            "KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set; a pod has them"
        )
    token, ca, namespace = (Path(folder) / name for name in ("token", "ca.crt", "namespace"))
    try:
        token.read_bytes()
    except OSError as error:
        raise ConfigurationError(
            f"{token}: cannot be read: {error.strerror}; the pod needs automountServiceAccountToken"
        ) from None
    return ConnectionConfig(
        server=f"https://{f'[{host}]' if ':' in host else host}:{port}",
        ca_file=str(ca) if ca.exists() else "",
        token_file=str(token),
        namespace=(namespace.read_text().strip() if namespace.exists() else "") or "default",
    )


def from_kubeconfig(path: str | None = None, context: str | None = None) -> ConnectionConfig:
    """The connection of a context; by default the current one of $KUBECONFIG or ~/.kube/config."""
    cluster, user, namespace = files.read(path, os.environ).chosen(context)
    found = cluster.value
    if not found.server:
        raise cluster.problem("server", "is missing; write the API server's URL there")
    has_ca = bool(found.certificate_authority or found.certificate_authority_data)
    if has_ca and found.insecure_skip_tls_verify:
        raise cluster.problem(
            "insecure-skip-tls-verify", "cannot be true beside a certificate authority; remove one of them"
        )
    ca_data = cluster.pem_data("certificate-authority-data", found.certificate_authority_data)
    config = ConnectionConfig(
        server="",
        ca_data=ca_data,
        ca_file="" if ca_data else cluster.pem_file("certificate-authority", found.certificate_authority),
        insecure=found.insecure_skip_tls_verify,
        tls_server_name=found.tls_server_name,
        proxy_url=_proxy(cluster),
        namespace=namespace or "default",
        **_login(user, cluster),
    )
    where = f"{cluster.file}: {cluster.place}: server"
    return replace(config, server=_server(found.server, where, tls=_has_tls(config)))


def _login(user: files.FileEntry[files.User], cluster: files.FileEntry[files.Cluster]) -> dict[str, Any]:
    given = user.value
    if (given.token or given.token_file) and given.username:
        raise user.problem("username", "cannot be used beside a token; remove one of them")
    if given.auth_provider is not None:
        raise user.problem("auth-provider", "is no longer supported by Kubernetes; use an exec plugin")
    if not given.act_as and (given.as_uid or given.as_groups or given.as_user_extra):
        raise user.problem("as", "is missing; as-uid, as-groups and as-user-extra need a user name")
    return {
        "token": given.token,
        "token_file": user.path(given.token_file),
        "username": given.username,
        "password": given.password,
        **_certificate(user),
        "exec": _exec(user, cluster),
        "impersonate": Impersonation(given.act_as, given.as_uid, tuple(given.as_groups), given.as_user_extra)
        if given.act_as
        else None,
    }


def _certificate(user: files.FileEntry[files.User]) -> dict[str, Any]:
    given = user.value
    certificate = user.pem_data("client-certificate-data", given.client_certificate_data)
    key = user.pem_data("client-key-data", given.client_key_data)
    certificate_file = "" if certificate else user.pem_file("client-certificate", given.client_certificate)
    key_file = "" if key else user.pem_file("client-key", given.client_key)
    if bool(certificate or certificate_file) != bool(key or key_file):
        missing = "client-key" if certificate or certificate_file else "client-certificate"
        raise user.problem(missing, "is missing; a client certificate and its key belong together")
    if certificate_file and key_file:
        return {"certificate_files": (certificate_file, key_file)}
    if not certificate and not certificate_file:
        return {}
    return {
        "certificate": ClientCertificate(
            certificate or Path(certificate_file).read_bytes(), key or Path(key_file).read_bytes()
        )
    }


def _exec(user: files.FileEntry[files.User], cluster: files.FileEntry[files.Cluster]) -> ExecPlugin | None:
    given = user.value.exec
    if given is None:
        return None
    if not given.command:
        raise user.problem("exec.command", "is missing; name the program that prints the credentials")
    if given.api_version not in VERSIONS:
        raise user.problem(
            "exec.apiVersion", f'is "{given.api_version}"; it must be one of {", ".join(VERSIONS)}'
        )
    if given.interactive_mode == "Always":
        raise user.problem(
            "exec.interactiveMode", "is Always, and nobody can be asked; set it to IfAvailable"
        )
    optional = given.api_version != VERSIONS[0]
    if given.interactive_mode not in ("Never", "IfAvailable") and not (
        optional and not given.interactive_mode
    ):
        raise user.problem("exec.interactiveMode", "must be Never or IfAvailable")
    return ExecPlugin(
        command=user.path(given.command) if os.sep in given.command else given.command,
        api_version=given.api_version,
        args=tuple(given.args),
        env={variable.name: variable.value for variable in given.env},
        install_hint=given.install_hint,
        cluster=_cluster_info(cluster) if given.provide_cluster_info else None,
        origin=f"{user.file}: {user.place}: exec",
    )


def _cluster_info(cluster: files.FileEntry[files.Cluster]) -> dict[str, Any]:
    """What an exec plugin is told of the cluster."""
    given = cluster.value
    ca = given.certificate_authority_data
    if not ca and given.certificate_authority:
        ca = base64.b64encode(Path(cluster.path(given.certificate_authority)).read_bytes()).decode()
    told = {
        "server": given.server,
        "tls-server-name": given.tls_server_name,
        "insecure-skip-tls-verify": given.insecure_skip_tls_verify,
        "certificate-authority-data": "".join(ca.split()),
        "proxy-url": given.proxy_url,
        "config": next(
            (each.get("extension") for each in given.extensions if each.get("name") == _EXEC_EXTENSION), None
        ),
    }
    return {name: value for name, value in told.items() if value}


def _proxy(cluster: files.FileEntry[files.Cluster]) -> str:
    given = cluster.value.proxy_url
    if given and urlsplit(given).scheme not in ("http", "https"):
        raise cluster.problem("proxy-url", f'"{given}" is not supported; give an http:// or https:// URL')
    return given


def _has_tls(config: ConnectionConfig) -> bool:
    certificate = config.certificate or config.certificate_files
    return bool(config.ca_data or config.ca_file or config.insecure or certificate)


def _server(given: str, where: str, *, tls: bool) -> str:
    """A server's URL; one without a scheme gets https where anything about TLS is said, else http."""
    url = given if "://" in given else f"{'https' if tls else 'http'}://{given}"
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise ConfigurationError(f'{where}: "{given}" is not a server; write https://HOST:PORT')
    return url.rstrip("/")
