"""What stands for `sys.stdout` and `sys.stderr`, so that every line written to them goes where it should."""

from __future__ import annotations

import codecs
import io
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

LONGEST_LINE = 64 * 1024


class LineMaker:
    """Makes whole lines of pieces: each thread has its own line on each stream, and nobody's are mixed."""

    def __init__(self, done: Callable[[Stream, str], None]) -> None:
        self._done = done
        self._open: dict[tuple[int, Stream], str] = {}
        self._lock = threading.RLock()

    def add(self, stream: Stream, text: str) -> None:
        key = threading.get_ident(), stream
        with self._lock:
            text = self._open.pop(key, "") + text
            whole, newline, rest = text.rpartition("\n")
            if len(rest) > LONGEST_LINE:
                whole, newline, rest = text, "\n", ""
            if rest:
                self._open[key] = rest
            if newline:
                self._done(stream, whole + newline)

    def unfinished(self) -> list[str]:
        """The lines that are not complete yet; those of threads that have ended are now."""
        with self._lock:
            if not self._open:
                return []
            alive = {each.ident for each in threading.enumerate()}
            for key in [key for key in self._open if key[0] not in alive]:
                self._done(key[1], f"{self._open.pop(key)}\n")
            return list(self._open.values())

    def finish(self) -> None:
        """Ends all lines, complete or not."""
        with self._lock:
            lines, self._open = self._open, {}
            for (_, stream), line in lines.items():
                self._done(stream, f"{line}\n")

    def take(self) -> str:
        """What this thread has written without an end, such as a prompt; it is then no line of its own."""
        with self._lock:
            keys = [key for key in self._open if key[0] == threading.get_ident()]
            return "".join(self._open.pop(key) for key in keys)


class Stream(io.TextIOBase):
    """Gives what is written to `taker`, until it is let go; then it is as good as the original.

    Whoever has kept it, such as a logging handler, need not know when that is.
    """

    def __init__(self, original: TextIO, taker: Callable[[Stream, str], None]) -> None:
        super().__init__()
        self.original = original
        self._taker: Callable[[Stream, str], None] | None = taker
        self._bytes = _Bytes(self)

    def let_go(self) -> None:
        self._taker = None

    def write(self, text: str, /) -> int:
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        if self._taker is None:
            return self.original.write(text)
        if text:
            self._taker(self, text)
        return len(text)

    def writable(self) -> bool:
        return True

    def flush(self) -> None:
        # At the end of the interpreter the original may be closed before this.
        if not self.original.closed:
            self.original.flush()

    def close(self) -> None:
        """The original is not ours to close."""

    def fileno(self) -> int:
        return self.original.fileno()

    def isatty(self) -> bool:
        return self.original.isatty()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.original, name)

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return self.original.encoding

    @property
    def errors(self) -> str | None:  # type: ignore[override]
        return self.original.errors

    @property
    def buffer(self) -> _Bytes:
        return self._bytes


class _Bytes(io.RawIOBase):
    """For those who write bytes to `sys.stdout.buffer`."""

    def __init__(self, stream: Stream) -> None:
        super().__init__()
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder("utf-8")("backslashreplace")

    def write(self, data: ReadableBuffer, /) -> int:
        self._stream.write(self._decoder.decode(bytes(data)))
        return len(bytes(data))

    def writable(self) -> bool:
        return True

    def flush(self) -> None:
        self._stream.flush()

    def fileno(self) -> int:
        return self._stream.fileno()
