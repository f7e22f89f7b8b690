"""Reads nodes and pods of the trace: CSV files, plain or compressed."""

from __future__ import annotations

import csv
import gzip
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from examples.gpu_study.gpu_requests import WHOLE, GpuRequest

MOST_GPUS = 1024
MOST = 1 << 40
"""Larger numbers are mistakes."""


class BadFile(Exception):
    """A file that cannot be used, in one line."""


class TraceNode(NamedTuple):
    name: str
    cpu: int
    memory: int
    """In MiB."""
    gpus: int
    model: str


class TracePod(NamedTuple):
    name: str
    memory: int
    """In MiB."""
    request: GpuRequest
    created: str = ""
    deleted: str = ""
    """Seconds since the trace began; empty if the file does not say."""


def read_nodes(file: Path) -> list[TraceNode]:
    nodes = []
    for row in _rows(file, {"sn", "cpu_milli", "memory_mib", "gpu"}):
        gpus = row.number("gpu", MOST_GPUS)
        nodes.append(
            TraceNode(
                row.name("sn"), row.number("cpu_milli"), row.number("memory_mib"), gpus, row.text("model")
            )
        )
    if not any(node.gpus for node in nodes):
        raise BadFile(f"{file}: no node has a GPU")
    return nodes


def read_pods(file: Path) -> list[TracePod]:
    pods = []
    for row in _rows(file, {"name", "cpu_milli", "num_gpu"}):
        cpu, gpus = row.number("cpu_milli"), row.number("num_gpu", MOST_GPUS)
        milli = min(row.number("gpu_milli", default=WHOLE), WHOLE) if gpus else 0
        models = "|".join(model for model in row.text("gpu_spec").split("|") if model)
        request = GpuRequest(cpu, gpus, milli, models) if milli else GpuRequest(cpu)
        times = row.text("creation_time"), row.text("deletion_time")
        pods.append(TracePod(row.name("name"), row.number("memory_mib"), request, *times))
    if not any(pod.request.total for pod in pods):
        raise BadFile(f"{file}: no pod asks for a GPU")
    return sorted(pods)


class _Row:
    def __init__(self, where: str, values: Mapping[str, str | None]) -> None:
        self._where = where
        self._values = values

    def text(self, column: str) -> str:
        return (self._values.get(column) or "").strip()

    def name(self, column: str) -> str:
        name = self.text(column)
        if not name:
            raise BadFile(f"{self._where}: {column} is empty")
        return name

    def number(self, column: str, most: int = MOST, default: int = 0) -> int:
        text = self.text(column)
        try:
            value = float(text or default)
            if 0 <= value <= most and value.is_integer():
                return int(value)
        except ValueError:
            pass
        raise BadFile(f"{self._where}: {column} is {text!r}; give a whole number from 0 to {most}")


def _rows(file: Path, needed: set[str]) -> Iterator[_Row]:
    seen: dict[str, int] = {}
    try:
        opened = gzip.open if _is_compressed(file) else open
        with opened(file, "rt", encoding="utf-8-sig", newline="") as lines:
            table = csv.DictReader(lines)
            missing = needed - set(table.fieldnames or ())
            if missing:
                raise BadFile(
                    f"{file}: no column {' or '.join(sorted(missing))}; the first line names columns"
                )
            for values in table:
                if None in values:
                    raise BadFile(f"{file}:{table.line_num}: more values than columns")
                row = _Row(f"{file}:{table.line_num}", values)
                name = row.name("sn" if "sn" in needed else "name")
                if name in seen:
                    raise BadFile(f"{file}:{table.line_num}: {name} is there already, in line {seen[name]}")
                seen[name] = table.line_num
                yield row
    except (OSError, EOFError, zlib.error) as error:
        raise BadFile(f"{file}: {getattr(error, 'strerror', None) or error}") from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise BadFile(f"{file}: not a CSV file: {error}") from None


def _is_compressed(file: Path) -> bool:
    with file.open("rb") as beginning:
        return beginning.read(2) == b"\x1f\x8b"
