"""Results in files: one that grows with every result and is begun again from, and a table for others."""

from __future__ import annotations

import csv
import fcntl
from collections.abc import Sequence
from contextlib import suppress
from io import StringIO
from pathlib import Path

import msgspec

from moorage.what_if.sweeps.runs import Result

_BEGIN, _BETWEEN, _END = b"[\n", b",\n", b"\n]\n"
_FIGURES = (
    *("pods", "placed", "never_placed", "pending_p50", "pending_p99", "preemptions"),
    *("nodes_in_use", "fragmentation", "cost", "seconds"),
)
"""Fields of an Outcome that are numbers."""


class BadResults(Exception):
    """A file that cannot take results; the text is one line that names it and what to do."""


class ResultsFile:
    """A JSON list of results, one in a line. It is whole after each, so that nothing is lost."""

    def __init__(self, path: Path) -> None:
        self._path = path
        if path.exists() and not path.is_file():
            raise BadResults(f"{path}: is no file; choose another")
        try:
            self._file = path.open("r+b") if path.exists() else path.open("x+b")
        except OSError as error:
            raise BadResults(f"{path}: cannot write the file: {error.strerror}; choose another") from None
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            text = self._file.read()
            self.found = self._results_in(text)
        except BlockingIOError:
            self._file.close()
            raise BadResults(f"{path}: another sweep writes to it; wait for it or choose another") from None
        except BadResults:
            self._file.close()
            raise
        whole = _BEGIN + _BETWEEN.join(map(msgspec.json.encode, self.found))
        self._length = len(whole)
        if text != whole + _END:
            self._file.seek(0)
            self._end_with(whole)

    def add(self, result: Result) -> None:
        """Writes a result, and what ends the list, over what ended it."""
        more = (_BETWEEN if self.found else b"") + msgspec.json.encode(result)
        self.found.append(result)
        self._file.seek(self._length)
        self._length += len(more)
        self._end_with(more)

    def close(self) -> None:
        with suppress(OSError):  # what could not be written was told when it was
            self._file.close()

    def _results_in(self, text: bytes) -> list[Result]:
        """The results with an outcome; the others are tried again."""
        if not text.strip():
            return []
        found: list[Result] = []
        first, *lines = text.splitlines()
        if first.strip() != _BEGIN.strip():
            raise BadResults(f"{self._path}: holds no results of a sweep; choose another file")
        for number, line in enumerate(lines, 2):
            content = line.strip().removesuffix(b",")
            if content in (b"", b"]"):
                continue
            try:
                found.append(msgspec.json.decode(content, type=Result))
            except msgspec.DecodeError as error:
                if number == len(lines) + 1:
                    break  # whoever wrote it was killed meanwhile
                raise BadResults(
                    f"{self._path}: line {number}: no result of a sweep: {error}; choose another file"
                ) from None
        return [result for result in found if result.outcome is not None]

    def _end_with(self, text: bytes) -> None:
        try:
            self._file.write(text + _END)
            self._file.truncate()
            self._file.flush()
        except OSError as error:
            raise BadResults(f"{self._path}: cannot write the file: {error.strerror}; make room") from None


def as_csv(results: Sequence[Result]) -> str:
    """A table with a line for each result and a column for each weight, figure and resource."""
    plugins = list(dict.fromkeys(plugin for result in results for plugin in result.weights))
    resources = sorted({name for each in results if each.outcome for name in each.outcome.utilisation})
    text = StringIO()
    table = csv.writer(text, lineterminator="\n")
    used = (f"utilisation {name}" for name in resources)
    table.writerow(["configuration", *plugins, "seed", *_FIGURES, *used, "error"])
    for result in results:
        outcome = result.outcome
        row: list[object] = [result.configuration, *(result.weights.get(plugin, "") for plugin in plugins)]
        row.append(result.seed)
        row += [getattr(outcome, name) if outcome else "" for name in _FIGURES]
        row += [outcome.utilisation.get(name, "") if outcome else "" for name in resources]
        table.writerow([*row, result.error])
    return text.getvalue()
