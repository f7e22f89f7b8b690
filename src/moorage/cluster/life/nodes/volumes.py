"""The volumes of pods that are really run: folders and files below a folder of the pod's own."""

from __future__ import annotations

import itertools
import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from moorage.cluster.base.parts import records, text
from moorage.cluster.base.store import Document, Store
from moorage.cluster.life.nodes import environment
from moorage.cluster.life.nodes.claimed_folders import ClaimedFolders
from moorage.cluster.life.nodes.environment import Unavailable

TokenFor = Callable[[str, str, str, str], str]
"""Namespace, service account, name and uid of a pod make a token."""

SERVICE_ACCOUNT_PATH = "/var/run/secrets/kubernetes.io/serviceaccount"
_DATA = "..data"
_generations = itertools.count(1)
_DEFAULT_MODE = 0o644
_SOURCES = ("configMap", "secret", "downwardAPI", "serviceAccountToken")


class File(NamedTuple):
    content: bytes
    mode: int


class Mount(NamedTuple):
    path: str
    """Where the container sees it."""
    place: Path
    """Where it really is."""


class Volumes:
    """Writes the volumes of one pod, and again when what they are made of has changed.

    A path of the host is used as it is, and only where it is mounted read-only. A claim's volume is a folder
    that stays. A volume of any other kind that is not written from objects is an empty folder.
    """

    def __init__(self, folder: Path, store: Store, token_for: TokenFor, claimed: ClaimedFolders) -> None:
        self._folder = folder
        self.store = store
        self._token_for = token_for
        self._claimed = claimed

    def write(self, pod: Document, node: Document) -> None:
        """Raises Unavailable, with the kubelet's words, if something a volume is made of is missing."""
        for volume in records(pod, "spec", "volumes"):
            name = volume.get("name", "")
            try:
                if self._claimed.find(pod, volume) is not None:
                    continue
                place = self._place(name)
                place.mkdir(parents=True, exist_ok=True, mode=0o700)
                files = self._files(volume, pod, node)
                if files is not None:
                    _replace_files(place, files)
            except (Unavailable, OSError) as problem:
                raise Unavailable(f'MountVolume.SetUp failed for volume "{name}" : {problem}') from None

    def mounts(self, pod: Document, container: Document, variables: Mapping[str, str]) -> list[Mount]:
        """Where the volumes of a container really are."""
        volumes = {each.get("name", ""): each for each in records(pod, "spec", "volumes")}
        found = []
        for mount in container.get("volumeMounts") or ():
            volume = volumes.get(mount.get("name", ""))
            path = mount.get("mountPath", "").rstrip("/")
            if volume is None or not path:
                continue
            place, is_of_host = self._find(pod, volume)
            if is_of_host and not mount.get("readOnly"):
                continue
            below = mount.get("subPath") or environment.expand(mount.get("subPathExpr", ""), variables)
            if below:
                place = place / _inside(below)
                if not is_of_host and volume.keys() & {"emptyDir", "ephemeral", "persistentVolumeClaim"}:
                    place.mkdir(parents=True, exist_ok=True)
            found.append(Mount(path, place))
        return found

    def remove(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)

    def _find(self, pod: Document, volume: Document) -> tuple[Path, bool]:
        """Where a volume is, and whether that is a path of the host."""
        if volume.get("hostPath"):
            return Path(volume["hostPath"].get("path", "/")), True
        return self._claimed.find(pod, volume) or (self._place(volume.get("name", "")), False)

    def _place(self, name: str) -> Path:
        return self._folder / "volumes" / folder_name(name)

    def _files(self, volume: Document, pod: Document, node: Document) -> dict[str, File] | None:
        """What is in a volume that is written from objects."""
        kind = next((kind for kind in (*_SOURCES, "projected") if volume.get(kind) is not None), "")
        if not kind:
            return None
        mode = volume[kind].get("defaultMode", _DEFAULT_MODE)
        files: dict[str, File] = {}
        for source in volume[kind].get("sources") or () if kind == "projected" else (volume,):
            for name in _SOURCES:
                if source.get(name) is not None:
                    files.update(self._source(name, source[name], mode, pod, node))
        return files

    def _source(
        self, kind: str, source: Document, mode: int, pod: Document, node: Document
    ) -> Iterator[tuple[str, File]]:
        namespace, name, uid = (pod["metadata"].get(each, "") for each in ("namespace", "name", "uid"))
        if kind == "serviceAccountToken":
            account = text(pod, "spec", "serviceAccountName") or "default"
            token = self._token_for(namespace, account, name, uid)
            yield _inside(source.get("path", "token")), File(token.encode(), mode & 0o600)
        elif kind == "downwardAPI":
            for item in source.get("items") or ():
                content = _downward(item, pod, node).encode()
                yield _inside(item.get("path", "")), File(content, item.get("mode", mode))
        else:
            resource = "configmaps" if kind == "configMap" else "secrets"
            found = environment.content_of(self.store, resource, namespace, source)
            for item in source.get("items") or [{"key": key, "path": key} for key in found]:
                key = item.get("key", "")
                if key in found:
                    yield _inside(item.get("path", "")), File(found[key], item.get("mode", mode))
                elif not source.get("optional"):
                    raise Unavailable(f"{kind.lower()} references non-existent config key: {key}")


def referenced(pod: Document) -> set[tuple[str, str]]:
    """The ConfigMaps and Secrets, as resource and name, whose changes must reach the pod's volumes."""
    found = set()
    for volume in records(pod, "spec", "volumes"):
        for source in (volume, *records(volume, "projected", "sources")):
            if source.get("configMap"):
                found.add(("configmaps", source["configMap"].get("name", "")))
            if source.get("secret"):
                secret = source["secret"]
                found.add(("secrets", secret.get("secretName") or secret.get("name", "")))
    return found


def relocate(word: str, mounts: list[Mount], *, after_equals: bool) -> str:
    """Replaces a mount's path at the start of a word, or right behind a `=`, by the place where it is."""
    places = {mount.path: str(mount.place) for mount in mounts}
    if not places:
        return word
    paths = "|".join(re.escape(path) for path in sorted(places, key=len, reverse=True))
    start = "(^|=)" if after_equals else "(^)"
    return re.sub(rf"{start}({paths})(?=/|$)", lambda found: found[1] + places[found[2]], word)


def folder_name(name: str) -> str:
    """A text as the name of one folder, whatever is in it."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", name) or "_"


def _inside(path: str) -> str:
    """A path that cannot lead out of its volume."""
    parts = PurePosixPath(path).parts
    if not parts or path.startswith("/") or ".." in parts or parts[0].startswith("..") or "\0" in path:
        raise Unavailable(f"invalid path: {path}")
    return "/".join(parts)


def _downward(item: Document, pod: Document, node: Document) -> str:
    if item.get("fieldRef"):
        return environment.field_value(pod, item["fieldRef"].get("fieldPath", ""))
    reference = item.get("resourceFieldRef") or {}
    containers = {each.get("name"): each for each in records(pod, "spec", "containers")}
    container = containers.get(reference.get("containerName")) or {}
    return environment.resource_value(container, node, reference)


# Files that all change in the same moment


def _replace_files(folder: Path, files: Mapping[str, File]) -> None:
    """Makes these the files in a folder, by relative path.

    As a kubelet does it: the files are in a hidden folder, to which one link points, through which the
    visible names are links. Exchanging that one link exchanges all files at once.
    """
    current = folder / _DATA
    if _same(current, files):
        return
    name = f"..{os.getpid()}-{next(_generations)}"
    new = folder / name
    for path, file in files.items():
        place = new / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(file.content)
        # The owner must be able to read it: in a container that would be root.
        place.chmod(file.mode & 0o777 | 0o400)
    new.mkdir(exist_ok=True)
    old = current.readlink() if current.is_symlink() else None
    temporary = folder / "..data_tmp"
    temporary.unlink(missing_ok=True)
    temporary.symlink_to(name)
    temporary.replace(current)
    _link(folder, {path.split("/")[0] for path in files})
    if old is not None:
        shutil.rmtree(folder / old, ignore_errors=True)


def _link(folder: Path, names: set[str]) -> None:
    for name in names:
        link = folder / name
        if not link.is_symlink():
            link.symlink_to(f"{_DATA}/{name}")
    for entry in folder.iterdir():
        if entry.is_symlink() and entry.name not in names and not entry.name.startswith(".."):
            entry.unlink()


def _same(current: Path, files: Mapping[str, File]) -> bool:
    if not current.is_symlink():
        return False
    root = current.resolve()
    present = {str(path.relative_to(root)): path for path in root.rglob("*") if path.is_file()}
    return present.keys() == files.keys() and all(
        path.read_bytes() == files[name].content for name, path in present.items()
    )
