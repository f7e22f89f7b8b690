"""Structured logs in the form of Kubernetes components, on top of the standard logging module.

Records of plain loggers, those of plugins included, come out in the same form as those of `Logger`: `extra=`
gives them keys, and what they log with `debug` is shown from verbosity 5 on.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import nullcontext, suppress
from typing import Any, NamedTuple, TextIO

import msgspec
import numpy as np

from moorage.api.meta import Object
from moorage.framework.logger import DEBUG_VERBOSITY, FIELDS, VERBOSITY, set_verbosity, set_verbosity_of_files
from moorage.framework.queued_pod import QueuedPod
from moorage.state.node_info import NodeInfo

_OF_EVERY_RECORD = frozenset(
    (*logging.makeLogRecord({}).__dict__, "message", "asctime", "taskName", FIELDS, VERBOSITY)
)


class Split(NamedTuple):
    """Infos go to stdout, what is worse to stderr. Infos are collected up to so many bytes and seconds."""

    bytes: int
    seconds: float


def configure(
    *,
    verbosity: int = 0,
    format: str = "text",
    stream: TextIO | None = None,
    split: Split | None = None,
    files: str = "",
) -> None:
    """Sends all logs of the process to `stream`, by default stderr, line by line; may be called again.

    `split` has them sent to two streams instead. `files` gives files another verbosity, such as `cycle=10`.
    """
    root = logging.getLogger()
    for old in root.handlers[:]:
        if isinstance(old.formatter, TextFormatter | JsonFormatter):
            root.removeHandler(old)
            old.close()
    handlers = (
        [logging.StreamHandler(stream or sys.stderr)] if split is None else _two_handlers(format, split)
    )
    for handler in handlers:
        handler.setFormatter(FORMATS[format]())
        root.addHandler(handler)
    set_verbosity(verbosity)
    set_verbosity_of_files(files)


def flush() -> None:
    """Writes what was collected; to be called where the process ends without further ado."""
    for handler in logging.getLogger().handlers:
        handler.flush()


def _two_handlers(format: str, split: Split) -> list[logging.Handler]:
    # As in Go: a warning counts as an info where there is no such severity.
    worse = logging.WARNING if format == "text" else logging.ERROR
    infos = CollectingHandler(sys.stdout, split)
    infos.addFilter(lambda record: record.levelno < worse)
    others = logging.StreamHandler(sys.stderr)
    others.setLevel(worse)
    return [infos, others]


class CollectingHandler(logging.Handler):
    """Writes whole lines, many at once: when so many bytes are there or so many seconds are over."""

    def __init__(self, stream: TextIO, split: Split) -> None:
        super().__init__()
        self._stream, self._most = stream, split.bytes
        self._lines: list[str] = []
        self._bytes = 0
        self._is_over = threading.Event()
        if self._most:
            threading.Thread(target=self._flush_each, args=(split.seconds,), daemon=True).start()

    def emit(self, record: logging.LogRecord) -> None:
        try:
            line = f"{self.format(record)}\n"
            size = len(line.encode(errors="replace"))
            if self._bytes + size > self._most:
                self.flush()
            self._lines.append(line)
            self._bytes += size
            if size > self._most:
                self.flush()
        except Exception:
            self.handleError(record)

    def flush(self) -> None:
        with self.lock or nullcontext():
            text, self._lines, self._bytes = "".join(self._lines), [], 0
            with suppress(OSError, ValueError):  # nobody reads any more
                self._stream.write(text)
                self._stream.flush()

    def close(self) -> None:
        self._is_over.set()
        self.flush()
        super().close()

    def _flush_each(self, seconds: float) -> None:
        while not self._is_over.wait(seconds):
            self.flush()


class TextFormatter(logging.Formatter):
    """`I0102 15:04:05.000000 7 file.py:12] "message" key="value" number=1`"""

    def __init__(self, local_time: Callable[[float], time.struct_time] = time.localtime) -> None:
        super().__init__()
        self._local_time = local_time
        self._second = -1
        self._second_text = ""

    def format(self, record: logging.LogRecord) -> str:
        second, fraction = divmod(record.created, 1)
        if second != self._second:
            self._second = int(second)
            self._second_text = time.strftime("%m%d %H:%M:%S", self._local_time(second))
        header = f"{_severity(record)}{self._second_text}.{int(fraction * 1e6):06d} {os.getpid()}"
        line = f"{header} {record.filename}:{record.lineno}] {_quoted(record.getMessage())}"
        for key, value in _fields(record).items():
            line += f" {key}={_text(value)}"
        return line


class JsonFormatter(logging.Formatter):
    """`{"ts":1580306777047.28,"caller":"scheduler/cycle.py:12","msg":"message","v":0,"key":"value"}`"""

    def format(self, record: logging.LogRecord) -> str:
        folder_and_file = "/".join(record.pathname.rsplit(os.sep, 2)[-2:])
        entry: dict[str, Any] = {
            "ts": round(record.created * 1000, 3),
            "caller": f"{folder_and_file}:{record.lineno}",
            "msg": record.getMessage(),
        }
        if record.levelno < logging.WARNING:
            entry["v"] = _verbosity_of(record)
        for key, value in _fields(record).items():
            entry.setdefault(key, _plain(value, _names))
        return msgspec.json.encode(entry).decode()


FORMATS: Mapping[str, type[logging.Formatter]] = {"text": TextFormatter, "json": JsonFormatter}
"""What --logging-format takes."""


def _severity(record: logging.LogRecord) -> str:
    if record.levelno >= logging.ERROR:
        return "E"
    return "W" if record.levelno >= logging.WARNING else "I"


def _verbosity_of(record: logging.LogRecord) -> int:
    return int(getattr(record, VERBOSITY, DEBUG_VERBOSITY if record.levelno < logging.INFO else 0))


def _fields(record: logging.LogRecord) -> dict[str, Any]:
    """The keys and values of a record; an exception that it carries comes with its traceback."""
    fields: dict[str, Any] | None = getattr(record, FIELDS, None)
    if fields is None:
        fields = {key: value for key, value in record.__dict__.items() if key not in _OF_EVERY_RECORD}
    if record.exc_info and record.exc_info[1] is not None:
        stack = logging.Formatter().formatException(record.exc_info)
        fields = {"err": record.exc_info[1], **fields, "stacktrace": stack}
    return fields


def _text(value: Any) -> str:
    if isinstance(value, str):
        return _block(value) if "\n" in value else _quoted(value)
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value)
    if value is None:
        return "<nil>"
    if isinstance(value, Mapping | list | tuple | set | frozenset):
        return msgspec.json.encode(_plain(value, _reference)).decode()
    return _text(_reference(value))


def _block(text: str) -> str:
    """Several lines, indented."""
    lines = text.rstrip("\n").replace("\n", "\n\t")
    return f"<\n\t{lines}\n >"


def _quoted(text: str) -> str:
    if text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    return msgspec.json.encode(text).decode()


def _reference(value: Any) -> str:
    """`namespace/name` of an object, the bare name of one without a namespace; anything else as text."""
    if isinstance(value, Object):
        return value.key
    if isinstance(value, NodeInfo):
        return value.name
    if isinstance(value, QueuedPod):
        return value.pod.key
    return str(value) or repr(value)


def _names(value: Any) -> Any:
    """An object in the form `{"name": ..., "namespace": ...}`, anything else as text."""
    if isinstance(value, QueuedPod):
        value = value.pod
    if isinstance(value, Object):
        namespace = {"namespace": value.namespace} if value.namespace else {}
        return {"name": value.name, **namespace}
    return {"name": value.name} if isinstance(value, NodeInfo) else _reference(value)


def _plain(value: Any, other: Callable[[Any], Any]) -> Any:
    """A value made of what JSON has; `other` says what becomes of the rest."""
    if isinstance(value, np.generic):
        return value.item()
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, Mapping):
        return {str(key): _plain(entry, other) for key, entry in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(entry, other) for entry in value]
    return other(value)
