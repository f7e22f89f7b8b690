"""Telling whether two jobs are the same, wherever their files are."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import msgspec
from msgspec.structs import replace

from moorage import __version__
from moorage.what_if.replay.jobs import Job


def key_of(job: Job) -> str:
    """The same for two jobs of which the same is to be expected, as the contents of their files count.

    Of a plugin in a module that is not given as a file or folder, only the name does.
    """
    by_contents = replace(
        job,
        trace=content_key(job.trace),
        nodes=content_key(job.nodes) if job.nodes else "",
        plugins=tuple(_plugin_key(plugin) for plugin in job.plugins),
    )
    return hashlib.sha256(msgspec.json.encode((__version__, by_contents))).hexdigest()[:16]


@cache
def content_key(path: str) -> str:
    """The same for two files, or folders, with the same in them; raises OSError."""
    digest = hashlib.sha256()
    for name, file in contents(path):
        digest.update(f"{name}\0{file.stat().st_size}\0".encode())
        with file.open("rb") as opened:
            while chunk := opened.read(1 << 20):
                digest.update(chunk)
    return digest.hexdigest()


def contents(path: str) -> Iterator[tuple[str, Path]]:
    """The file itself, or the files of a folder; each with its name from there on."""
    top = Path(path)
    if not top.is_dir():
        yield "", top
        return
    for file in sorted(top.rglob("*")):
        if file.is_file() and "__pycache__" not in file.parts:
            yield file.relative_to(top).as_posix(), file


def plugin_file(plugin: str) -> str:
    """The file or folder of a --plugin; empty if it is a module by its name."""
    place = plugin.partition(":")[0]
    return place if Path(place).exists() else ""


def _plugin_key(plugin: str) -> str:
    file = plugin_file(plugin)
    return f"{content_key(file)}{plugin.removeprefix(file)}" if file else plugin
