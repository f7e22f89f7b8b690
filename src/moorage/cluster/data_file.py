"""The file that keeps the objects of a cluster between two runs."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import msgspec

from moorage.cluster.store import Change, Document, Store

_VERSION = 1
_LOCK_SECONDS = 1.0  # how long the end of another process is waited for
_REVISIONS = 1000  # that are passed over at a time
_decode = msgspec.json.Decoder(Document).decode


class DataFileError(Exception):
    """A file that cannot be used; one line that says why and what to do."""


class DataFile:
    """A SQLite database with one row per object.

    Each write is committed before it is acknowledged, so that the end of the process, by whatever signal,
    loses nothing. A crash of the whole machine may lose the last moments, but never damages the file.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._passed_over = 0
        try:
            self._database = sqlite3.connect(path, timeout=_LOCK_SECONDS, isolation_level=None)
            self._open()
        except sqlite3.Error as error:
            raise DataFileError(self._problem(error)) from None

    def _open(self) -> None:
        execute = self._database.execute
        execute("PRAGMA locking_mode = EXCLUSIVE")
        execute("PRAGMA journal_mode = WAL")
        execute("PRAGMA synchronous = NORMAL")
        found = execute("PRAGMA user_version").fetchone()[0]
        if found not in (0, _VERSION):
            raise DataFileError(f"{self._path}: was written by another version of Moorage; use a new file")
        execute("BEGIN IMMEDIATE")
        execute("CREATE TABLE IF NOT EXISTS settings (name TEXT PRIMARY KEY, value TEXT NOT NULL)")
        execute(
            "CREATE TABLE IF NOT EXISTS objects (resource TEXT, namespace TEXT, name TEXT,"
            " body BLOB NOT NULL, PRIMARY KEY (resource, namespace, name)) WITHOUT ROWID"
        )
        execute(f"PRAGMA user_version = {_VERSION}")
        execute("COMMIT")

    def _problem(self, error: sqlite3.Error) -> str:
        if "locked" in str(error):
            return f"{self._path}: is in use by another process; stop that one or give another file"
        if "not a database" in str(error):
            return f"{self._path}: is not a data file of moorage up; give another file"
        return f"{self._path}: cannot be used: {error}"

    def load(self, store: Store) -> int:
        """Puts all objects into a store, whose revisions go on where they ended; returns how many."""
        try:
            rows = self._database.execute("SELECT resource, namespace, name, body FROM objects").fetchall()
            for resource, namespace, name, body in rows:
                store.restore(resource, namespace, name, _decode(body))
            store.continue_from(int(self.setting("revision") or 0))
        except (sqlite3.Error, msgspec.MsgspecError, LookupError, ValueError, TypeError) as error:
            raise self._damaged(error) from None
        return len(rows)

    def setting(self, name: str) -> str | None:
        try:
            row = self._database.execute("SELECT value FROM settings WHERE name = ?", (name,)).fetchone()
        except sqlite3.Error as error:
            raise self._damaged(error) from None
        return None if row is None else str(row[0])

    def _damaged(self, error: Exception) -> DataFileError:
        return DataFileError(f"{self._path}: is damaged ({error}); give another file, or a copy of this one")

    def set(self, name: str, value: str) -> None:
        self._database.execute("REPLACE INTO settings VALUES (?, ?)", (name, value))

    def write(self, change: Change) -> None:
        execute = self._database.execute
        new = change.new
        key = (change.resource, new.namespace, new.name)
        self.pass_over(new.revision)
        if change.type == "DELETED":
            execute("DELETE FROM objects WHERE resource = ? AND namespace = ? AND name = ?", key)
        else:
            execute("REPLACE INTO objects VALUES (?, ?, ?, ?)", (*key, new.body))

    def pass_over(self, revision: int) -> None:
        # Many at a time: the next run begins after all of them, whether they were used or not.
        if revision > self._passed_over:
            self._passed_over = revision + _REVISIONS
            self.set("revision", str(self._passed_over))

    def close(self) -> None:
        self._database.close()
