"""Kubeconfig files: read, merged and checked."""

from __future__ import annotations

import base64
import binascii
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

import msgspec
import yaml

from moorage.client.errors import ConfigurationError

T = TypeVar("T")

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class Cluster(msgspec.Struct, rename="kebab"):
    server: str = ""
    certificate_authority: str = ""
    certificate_authority_data: str = ""
    insecure_skip_tls_verify: bool = False
    tls_server_name: str = ""
    proxy_url: str = ""
    extensions: list[dict[str, Any]] = []


class EnvironmentVariable(msgspec.Struct):
    name: str
    value: str = ""


class Exec(msgspec.Struct, rename="camel"):
    command: str = ""
    args: list[str] = []
    env: list[EnvironmentVariable] = []
    api_version: str = ""
    install_hint: str = ""
    provide_cluster_info: bool = False
    interactive_mode: str = ""


class User(msgspec.Struct, rename="kebab"):
    client_certificate: str = ""
    client_certificate_data: str = ""
    client_key: str = ""
    client_key_data: str = ""
    token: str = ""
    token_file: str = msgspec.field(name="tokenFile", default="")
    username: str = ""
    password: str = ""
    act_as: str = msgspec.field(name="as", default="")
    as_uid: str = ""
    as_groups: list[str] = []
    as_user_extra: dict[str, list[str]] = {}
    auth_provider: dict[str, Any] | None = None
    exec: Exec | None = None


class Context(msgspec.Struct):
    cluster: str = ""
    user: str = ""
    namespace: str = ""


class _NamedCluster(msgspec.Struct):
    name: str
    cluster: Cluster = msgspec.field(default_factory=Cluster)


class _NamedUser(msgspec.Struct):
    name: str
    user: User = msgspec.field(default_factory=User)


class _NamedContext(msgspec.Struct):
    name: str
    context: Context = msgspec.field(default_factory=Context)


class _File(msgspec.Struct, rename="kebab"):
    kind: str = ""
    current_context: str = ""
    clusters: list[_NamedCluster] = []
    users: list[_NamedUser] = []
    contexts: list[_NamedContext] = []


@dataclass(frozen=True)
class FileEntry(Generic[T]):
    """A cluster, user or context, with the file it stands in and its place there."""

    value: T
    file: Path
    place: str

    def problem(self, field_name: str, text: str) -> ConfigurationError:
        return ConfigurationError(f"{self.file}: {self.place}: {field_name}: {text}")

    def path(self, name: str) -> str:
        """A path as seen from the file it stands in; "" stays empty."""
        return os.path.normpath(self.file.parent / name) if name else ""

    def pem_file(self, field_name: str, name: str) -> str:
        path = self.path(name)
        if path:
            try:
                Path(path).read_bytes()
            except OSError as error:
                raise self.problem(field_name, f"cannot read {path}: {error.strerror}") from None
        return path

    def pem_data(self, field_name: str, text: str) -> bytes:
        try:
            decoded = base64.b64decode("".join(text.split()), validate=True)
        except (binascii.Error, ValueError):
            raise self.problem(field_name, "is not base64; encode the PEM file with `base64 -w0`") from None
        if text and b"-----BEGIN" not in decoded:
            raise self.problem(field_name, "is not PEM; encode the PEM file with `base64 -w0`")
        return decoded


@dataclass
class Kubeconfig:
    """Several files as one: what an earlier file says is kept."""

    files: list[Path]
    current_context: str = ""
    clusters: dict[str, FileEntry[Cluster]] = field(default_factory=dict)
    users: dict[str, FileEntry[User]] = field(default_factory=dict)
    contexts: dict[str, FileEntry[Context]] = field(default_factory=dict)

    def chosen(self, context: str | None = None) -> tuple[FileEntry[Cluster], FileEntry[User], str]:
        """The cluster, the user and the namespace of a context."""
        where = ", ".join(map(str, self.files))
        name = context or self.current_context
        if not name:
            raise ConfigurationError(
                f"{where}: current-context: no context is chosen; set it to one of {_names(self.contexts)}"
            )
        entry = self.contexts.get(name)
        if entry is None:
            place = "contexts" if context else "current-context"
            raise ConfigurationError(
                f'{where}: {place}: there is no context "{name}"; choose one of {_names(self.contexts)}'
            )
        cluster = self.clusters.get(entry.value.cluster)
        if cluster is None:
            raise entry.problem(
                "cluster",
                f'there is no cluster "{entry.value.cluster}"; choose one of {_names(self.clusters)}',
            )
        if not entry.value.user:
            return cluster, FileEntry(User(), entry.file, entry.place), entry.value.namespace
        user = self.users.get(entry.value.user)
        if user is None:
            raise entry.problem(
                "user", f'there is no user "{entry.value.user}"; choose one of {_names(self.users)}'
            )
        return cluster, user, entry.value.namespace


def read(path: str | None, environ: Mapping[str, str]) -> Kubeconfig:
    """Reads one file, or else those that $KUBECONFIG lists, or else ~/.kube/config."""
    if path:
        files = [Path(path).expanduser().absolute()]
        if not files[0].exists():
            raise ConfigurationError(f"{files[0]}: there is no such file; give the path of a kubeconfig")
    elif listed := environ.get("KUBECONFIG", ""):
        files = [Path(each).absolute() for each in listed.split(os.pathsep) if each]
    else:
        files = [Path("~/.kube/config").expanduser()]
    present = [file for file in files if file.exists()]
    if not present:
        raise ConfigurationError(
            f"no configuration has been provided: there is no {' and no '.join(map(str, files))}; "
            "give the path of a kubeconfig"
        )
    merged = Kubeconfig(present)
    for file in present:
        _merge(merged, file)
    return merged


def _merge(merged: Kubeconfig, file: Path) -> None:
    content = _parse(file)
    merged.current_context = merged.current_context or content.current_context
    for cluster in content.clusters:
        place = f'clusters "{cluster.name}"'
        merged.clusters.setdefault(cluster.name, FileEntry(cluster.cluster, file, place))
    for user in content.users:
        merged.users.setdefault(user.name, FileEntry(user.user, file, f'users "{user.name}"'))
    for context in content.contexts:
        place = f'contexts "{context.name}"'
        merged.contexts.setdefault(context.name, FileEntry(context.context, file, place))


def _parse(file: Path) -> _File:
    try:
        document = yaml.load(file.read_bytes(), Loader=_LOADER)
    except OSError as error:
        raise ConfigurationError(f"{file}: cannot be read: {error.strerror}") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        mark = getattr(error, "problem_mark", None)
        place = f"line {mark.line + 1}: " if mark is not None else ""
        problem = getattr(error, "problem", None) or str(error)
        raise ConfigurationError(f"{file}: {place}not valid YAML: {' '.join(problem.split())}") from None
    try:
        content = msgspec.convert(_without_nulls(document or {}), _File)
    except msgspec.ValidationError as error:
        problem, _, place = str(error).partition(" - at ")
        place = re.sub(r"^\$\.?", "", place.strip("`")) or "the whole file"
        raise ConfigurationError(f"{file}: {place}: {problem}; correct this value") from None
    if content.kind not in ("", "Config"):
        raise ConfigurationError(f'{file}: kind: is "{content.kind}"; a kubeconfig has the kind "Config"')
    return content


def _without_nulls(value: Any) -> Any:
    """`args: null` and the like are common and mean that nothing is given."""
    if isinstance(value, dict):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [_without_nulls(item) for item in value]
    return value


def _names(entries: Iterable[str]) -> str:
    return ", ".join(sorted(entries)) or "(there are none)"
