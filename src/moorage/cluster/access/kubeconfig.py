"""The kubeconfig of an embedded cluster."""

from __future__ import annotations

import base64
import os
from pathlib import Path

import yaml

NAME = "moorage"


class KubeconfigError(Exception):
    """A file that cannot be written; one line that says why and what to do."""


def write_kubeconfig(path: Path, *, server: str, ca: str, token: str) -> None:
    """Writes the file in one go: once it is there, it is whole. Only its owner can read it."""
    cluster = {"server": server, "certificate-authority-data": base64.b64encode(ca.encode()).decode()}
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": NAME, "cluster": cluster}],
        "users": [{"name": NAME, "user": {"token": token}}],
        "contexts": [{"name": NAME, "context": {"cluster": NAME, "user": NAME}}],
        "current-context": NAME,
    }
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(partial, "w", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
            yaml.safe_dump(content, file, sort_keys=False)
        partial.replace(path)
    except OSError as error:
        raise KubeconfigError(f"{path}: cannot be written: {error.strerror}; give another file") from None


def remove_old(path: Path) -> str:
    """Removes the file of an earlier cluster, so that a new one means a new cluster; returns its server.

    A file that some other program wrote is not touched, but refused.
    """
    try:
        text = path.read_text(errors="replace")
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise KubeconfigError(f"{path}: cannot be read: {error.strerror}; give another file") from None
    server = _server_of(text)
    if server is None:
        why = "exists and is not from moorage up; give another file with --kubeconfig"
        raise KubeconfigError(f"{path}: {why}")
    path.unlink()
    return server


def remove(path: Path, token: str) -> None:
    """Removes the file unless it belongs to another cluster by now."""
    try:
        if token in path.read_text(errors="replace"):
            path.unlink()
    except OSError:
        return


def _server_of(text: str) -> str | None:
    """The API server of a file that is ours."""
    try:
        content = yaml.safe_load(text)
    except yaml.YAMLError:
        return None
    match content:
        case {"current-context": context, "clusters": [{"name": name, "cluster": {"server": str(server)}}]}:
            return server if context == name == NAME else None
    return None
