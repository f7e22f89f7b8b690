"""Files that all change in the same moment."""

from __future__ import annotations

import itertools
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

_DATA = "..data"
_generations = itertools.count(1)


class File(NamedTuple):
    content: bytes
    mode: int


def replace_files(folder: Path, files: Mapping[str, File]) -> None:
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
