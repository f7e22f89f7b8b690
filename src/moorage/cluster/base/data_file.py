"""The file that keeps the objects of a cluster between two runs."""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path

import msgspec

from moorage.cluster.base.store import Change, Document, Store

_KIND = b'["moorage up",'
_HEAD = _KIND + b"1]\n"
_LOCK_SECONDS = 1.0  # how long the end of another process is waited for
_LOCK_PAUSE = 0.05
_REVISIONS = 1000  # that are passed over at a time
_WASTE = 64 * 2**20  # bytes of outdated lines at which the file is written anew
_FLAGS = os.O_RDWR | os.O_APPEND | os.O_CLOEXEC
_SETTING = ""  # stands where an object has its resource

_Line = tuple[str, str, str, Document | str | None]
_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(_Line).decode


class DataFileError(Exception):
    """A file that cannot be used; one line that says why and what to do."""


class DataFile:
    """A file of lines, one for each write: resource, namespace, name and the object, null for a deletion.

    A line is in the hands of the operating system before the write is acknowledged, so that the end of the
    process, by whatever signal, loses nothing; half a line at the end was never acknowledged and is dropped.
    A crash of the whole machine may lose the last moments. Outdated lines are cleared away from time to time.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._passed_over = 0
        self._settings: dict[str, str] = {}
        self._objects: dict[tuple[str, str, str], Document] = {}
        """What was read, until it is loaded into a store."""
        self._size = self._useful = 0
        self._store: Store | None = None
        self._file = -1
        try:
            self._open()
            self._read()
        except OSError as error:
            self.close()
            raise self._unusable(error) from None
        except DataFileError:
            self.close()
            raise

    @property
    def volumes(self) -> Path:
        """The folder beside it that keeps the content of volumes."""
        return self._path.with_name(f"{self._path.name}.volumes")

    def _open(self) -> None:
        """Opens the file for this process alone."""
        deadline = time.monotonic() + _LOCK_SECONDS
        while True:
            self._file = os.open(self._path, os.O_CREAT | _FLAGS, 0o600)
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() > deadline:
                    why = "is in use by another process; stop that one or give another file"
                    raise self._error(why) from None
                time.sleep(_LOCK_PAUSE)
            else:
                # It may have been replaced by a newer one in the meantime.
                if os.path.samestat(os.fstat(self._file), self._path.stat()):
                    return
            self.close()

    def _read(self) -> None:
        content = self._path.read_bytes()
        if not content:
            self._append(_HEAD)
            return
        if content.startswith(_KIND) and not content.startswith(_HEAD):
            raise self._error("was written by another version of moorage; use that one or give another file")
        if not content.startswith(_HEAD):
            raise self._error("is not a data file of moorage up; give another file")
        *whole, torn = content.removeprefix(_HEAD).split(b"\n")
        for number, line in enumerate(whole, start=2):
            try:
                self._take(_decode(line))
            except (msgspec.MsgspecError, UnicodeDecodeError, TypeError) as error:
                raise self._damaged(f"line {number}: {error}") from None
        self._size = len(_HEAD) + sum(len(line) + 1 for line in whole)
        if torn:
            os.ftruncate(self._file, self._size)

    def _take(self, line: _Line) -> None:
        resource, namespace, name, value = line
        if resource == _SETTING:
            self._settings[name] = str(value)
        elif isinstance(value, dict):
            self._objects[resource, namespace, name] = value
        else:
            self._objects.pop((resource, namespace, name), None)

    def holds(self, resource: str) -> bool:
        """Whether any object of a resource was read and is still to be loaded."""
        return any(key[0] == resource for key in self._objects)

    def load(self, store: Store) -> int:
        """Puts all objects into a store, whose revisions go on where they ended; returns how many."""
        objects, self._objects = self._objects, {}
        try:
            for (resource, namespace, name), document in objects.items():
                store.restore(resource, namespace, name, document)
            store.continue_from(int(self.setting("revision") or 0))
        except (LookupError, ValueError, TypeError) as error:
            raise self._damaged(repr(error)) from None
        self._store = store
        try:
            self._rewrite()
        except OSError as error:
            raise self._unusable(error) from None
        return len(objects)

    def setting(self, name: str) -> str | None:
        return self._settings.get(name)

    def _error(self, why: str) -> DataFileError:
        return DataFileError(f"{self._path}: {why}")

    def _unusable(self, error: OSError) -> DataFileError:
        return self._error(f"cannot be used: {error.strerror}; give another file")

    def _damaged(self, why: str) -> DataFileError:
        return self._error(f"is damaged ({why}); give another file, or a copy of this one")

    def set(self, name: str, value: str) -> None:
        self._settings[name] = value
        self._append(_line(_SETTING, "", name, _encode(value)))

    def write(self, change: Change) -> None:
        new = change.new
        self.pass_over(new.revision)
        body = b"null" if change.type == "DELETED" else new.body
        self._append(_line(change.resource, new.namespace, new.name, body))
        if self._size > 2 * self._useful + _WASTE:
            self._rewrite()

    def pass_over(self, revision: int) -> None:
        # Many at a time: the next run begins after all of them, whether they were used or not.
        if revision > self._passed_over:
            self._passed_over = revision + _REVISIONS
            self.set("revision", str(self._passed_over))

    def close(self) -> None:
        file, self._file = self._file, -1
        if file >= 0:
            os.close(file)

    def _append(self, line: bytes) -> None:
        """Writes all of a line or, if the disk is full, nothing of it."""
        if self._file < 0:
            raise ValueError("the data file is closed")
        written = os.write(self._file, line)
        if written != len(line):
            os.ftruncate(self._file, self._size)
            raise OSError(f"{self._path}: the disk is full")
        self._size += written

    def _rewrite(self) -> None:
        """Puts a file with nothing outdated in the place of this one; it is whole before it is there."""
        assert self._store is not None
        partial = self._path.with_name(f".{self._path.name}.new")
        lines = [_HEAD, *(_line(_SETTING, "", name, _encode(each)) for name, each in self._settings.items())]
        for resource in self._store.resources():
            stored = self._store.iterate(resource)
            lines += [_line(resource, each.namespace, each.name, each.body) for each in stored]
        text = b"".join(lines)
        new = os.open(partial, os.O_CREAT | os.O_TRUNC | _FLAGS, 0o600)
        with os.fdopen(os.dup(new), "wb") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        fcntl.flock(new, fcntl.LOCK_EX)
        partial.replace(self._path)
        os.close(self._file)
        self._file = new
        self._size = self._useful = len(text)


def _line(resource: str, namespace: str, name: str, body: bytes) -> bytes:
    head = _encode((resource, namespace, name))
    return b"".join((head[:-1], b",", body, b"]\n"))
