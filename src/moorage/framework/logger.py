"""The logger of the scheduler: messages with keys and a verbosity, on top of the standard logging module."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Any

DEBUG_VERBOSITY = 5
"""The verbosity from which on `debug` of plain loggers is shown."""

FIELDS, VERBOSITY = "_moorage_fields", "_moorage_verbosity"
"""Where a record has its keys and its verbosity."""


class _Shown:
    """What is logged now; one for the process, as the loggers are."""

    verbosity = 0
    of_files: Sequence[tuple[str, int]] = ()
    """Patterns of file names without `.py`; the first that matches counts."""


class Logger:
    """Writes structured messages; `name` is that of the module, or give it a logger that exists.

    log.info(2, "Successfully bound pod to node", pod=pod, node=node_name)
    """

    __slots__ = ("_logger",)

    def __init__(self, name: str | logging.Logger) -> None:
        self._logger = logging.getLogger(name) if isinstance(name, str) else name

    def enabled(self, v: int) -> bool:
        """Whether messages of this verbosity are shown; ask before computing what only they need."""
        return v <= _Shown.verbosity or (bool(_Shown.of_files) and v <= self._own_verbosity())

    def info(self, v: int, message: str, /, **fields: Any) -> None:
        if v <= _Shown.verbosity or (_Shown.of_files and v <= self._own_verbosity()):
            self._logger.info(message, extra={FIELDS: fields, VERBOSITY: v}, stacklevel=2)

    def warning(self, message: str, /, **fields: Any) -> None:
        self._logger.warning(message, extra={FIELDS: fields}, stacklevel=2)

    def error(self, err: BaseException | str | None, message: str, /, **fields: Any) -> None:
        """`err` is what went wrong, an exception or a text; it is shown under the key `err`."""
        if err is not None:
            fields = {"err": err, **fields}
        self._logger.error(message, extra={FIELDS: fields}, stacklevel=2)

    def _own_verbosity(self) -> int:
        file = self._logger.name.rpartition(".")[2]
        return next((level for pattern, level in _Shown.of_files if fnmatchcase(file, pattern)), -1)


def set_verbosity(verbosity: int) -> None:
    """Shows messages up to this verbosity; may be called at any time."""
    _Shown.verbosity = verbosity
    logging.getLogger().setLevel(logging.DEBUG if verbosity >= DEBUG_VERBOSITY else logging.INFO)


def set_verbosity_of_files(patterns: str) -> None:
    """Shows messages of some files up to another verbosity, if it is higher: `cycle=10,bind*=5`."""
    pairs = (pair.partition("=") for pair in patterns.split(",") if pair)
    _Shown.of_files = [(pattern, int(level)) for pattern, _, level in pairs]


def verbosity() -> int:
    return _Shown.verbosity
