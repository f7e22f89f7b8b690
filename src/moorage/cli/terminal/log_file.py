"""The file of --log-file."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

from moorage.cli.setup import BadInput


class LogFile:
    """Whole lines, appended at once; may be written to by any thread."""

    def __init__(self, path: Path, complain: Callable[[str], None]) -> None:
        self._path = path
        self._complain = complain
        self._lock = threading.RLock()
        self._is_open = True
        try:
            self._file = path.open("a", encoding="utf-8", errors="backslashreplace")
        except OSError as error:
            raise BadInput(f"--log-file: {path}: {error.strerror}; give a file that can be written") from None

    def write(self, text: str) -> None:
        with self._lock:
            if not self._is_open:
                return
            try:
                self._file.write(text)
                self._file.flush()
            except OSError as error:
                self._is_open = False
                self._complain(f"--log-file: {self._path}: {error.strerror}; nothing more is written to it\n")

    def close(self) -> None:
        with self._lock:
            self._is_open = False
            try:
                self._file.close()
            except OSError:
                return  # it has been told
