"""Traces of job lists: tables that say when jobs came, how long they ran and what they asked for."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from typing import Any, NamedTuple, TypeVar

from moorage.api.durations import Duration, DurationError
from moorage.api.names import dns_subdomain_problems, is_label_value, is_qualified_name
from moorage.api.quantities import NANOS, QuantityError, parse
from moorage.what_if.trace.kept import Document

T = TypeVar("T")

JOB_COLUMNS = ("name", "namespace", "submitted", "seconds", "priority", "count", "nodeSelector")
NODE_COLUMNS = ("name", "count", "labels", "pods")
SOMEWHERE = "not-known"
"""The node that jobs have while they run: a list does not say which it was."""

ANNOTATION = "annotation:"
"""What columns of jobs begin with whose text becomes an annotation, for plugins that read one."""

_RESOURCES = {"cpu": "cpu", "memory": "memory", "gpu": "nvidia.com/gpu"}
_PODS = "pods"
"""How many pods a node takes; no pod asks for it."""
_MOST_COPIES = 1_000_000
_MOST_PRIORITY = 1_000_000_000


class BadTable(ValueError):
    """One line that names the file, the row and the column, and says what is expected there."""


class Moment(NamedTuple):
    """What happens to a job."""

    time: float
    pod: Document
    gone: bool = False


def read_jobs(lines: Iterable[str], file: str) -> list[Moment]:
    """The lives of all jobs of a table, in the order of time. Raises BadTable."""
    moments: list[Moment] = []
    names: set[tuple[str, str]] = set()
    for row in _rows(lines, file, JOB_COLUMNS, needed=("name", "submitted")):
        submitted = row.read("submitted", _time, "2026-01-31T12:00:00Z, or seconds such as 1700000000")
        seconds = row.read("seconds", _seconds, "90 or 1h30m, or nothing for ever", None)
        for copy, name in enumerate(row.names()):
            namespace = row.read("namespace", _name, "shop, with small letters, digits and -", "default")
            if (namespace, name) in names:
                name = f"{name}-row{row.number}"
            names.add((namespace, name))
            pod = _pod(row, name, namespace, f"job-{row.number}-{copy}", submitted)
            running = {**pod, "spec": {**pod["spec"], "nodeName": SOMEWHERE}, "status": {"phase": "Running"}}
            moments += [Moment(submitted, pod), Moment(submitted, running)]
            if seconds is not None:
                ended = {**running, "status": {"phase": "Succeeded"}}
                moments += [Moment(submitted + seconds, ended), Moment(submitted + seconds, ended, gone=True)]
    moments.sort(key=lambda moment: moment.time)
    return moments


def read_nodes(lines: Iterable[str], file: str) -> list[Document]:
    """The nodes of a table. Raises BadTable."""
    found: list[Document] = []
    names: set[str] = set()
    for row in _rows(lines, file, NODE_COLUMNS, needed=("name", "cpu", "memory")):
        labels = row.read("labels", _labels, "disk=ssd zone=a", {})
        pods = row.read(_PODS, _whole_amount, "110", "110")
        allocatable = {_PODS: pods, **row.resources()}
        for name in row.names():
            if name in names:
                raise BadTable(
                    f"{file}: row {row.number}, column name: there is a node {name} already; choose another"
                )
            names.add(name)
            found.append(_node(name, labels, allocatable))
    return found


def _node(name: str, labels: dict[str, str], allocatable: dict[str, str]) -> Document:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "uid": f"node-{name}",
            "labels": {"kubernetes.io/hostname": name, **labels},
        },
        "status": {"allocatable": allocatable, "conditions": [{"type": "Ready", "status": "True"}]},
    }


def _pod(row: _Row, name: str, namespace: str, uid: str, submitted: float) -> Document:
    requests = row.resources()
    extended = {each: amount for each, amount in requests.items() if "/" in each}
    resources = {"requests": requests, "limits": extended} if extended else {"requests": requests}
    created = datetime.fromtimestamp(submitted, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    metadata: Document = {"name": name, "namespace": namespace, "uid": uid, "creationTimestamp": created}
    if annotations := row.annotations():
        metadata["annotations"] = annotations
    spec: Document = {"containers": [{"name": "job", "resources": resources}]}
    priority = row.read("priority", _priority, "a whole number such as 100", 0)
    if priority:
        spec["priority"] = priority
    selector = row.read("nodeSelector", _labels, "disk=ssd zone=a", {})
    if selector:
        spec["nodeSelector"] = selector
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": spec,
        "status": {"phase": "Pending"},
    }


class _Row:
    def __init__(self, file: str, number: int, cells: dict[str, str]) -> None:
        self.file, self.number, self._cells = file, number, cells

    def read(self, column: str, convert: Callable[[str], T], expected: str, missing: Any = ...) -> T:
        """What a cell says; `missing` is for an empty one, where it may be empty."""
        text = self._cells.get(column, "").strip()
        if not text and missing is not ...:
            found: T = missing
            return found
        try:
            return convert(text)
        except (ValueError, OverflowError):
            shown = f"{text[:40]!r} is not understood" if text else "is empty"
            raise BadTable(
                f"{self.file}: row {self.number}, column {column}: {shown}; write it like {expected}"
            ) from None

    def names(self) -> list[str]:
        """One for each copy."""
        name = self.read("name", _name, "train-7, with small letters, digits and -")
        count = self.read("count", _count, "3", 1)
        return [name] if count == 1 else [f"{name}-{copy}" for copy in range(count)]

    def resources(self) -> dict[str, str]:
        amounts = {}
        for column, text in self._cells.items():
            if text.strip() and (column in _RESOURCES or _is_resource(column)):
                if column in ("cpu", "memory"):
                    amounts[column] = self.read(column, _amount, "2, 500m or 4Gi")
                else:
                    amounts[_RESOURCES.get(column, column)] = self.read(
                        column, _whole_amount, "2: it is counted in whole numbers"
                    )
        return amounts

    def annotations(self) -> dict[str, str]:
        return {
            column.removeprefix(ANNOTATION): text.strip()
            for column, text in self._cells.items()
            if text.strip() and column.startswith(ANNOTATION)
        }


def _is_resource(column: str) -> bool:
    return "/" in column and is_qualified_name(column)


def _rows(
    lines: Iterable[str], file: str, columns: tuple[str, ...], needed: tuple[str, ...]
) -> Iterator[_Row]:
    table = csv.reader(lines, strict=True)
    try:
        head = [name.strip().removeprefix("\ufeff") for name in next(table, [])]
        for name in head:
            annotation = name.removeprefix(ANNOTATION)
            is_annotation = columns is JOB_COLUMNS and annotation != name and is_qualified_name(annotation)
            if not (name in columns or name in _RESOURCES or _is_resource(name) or is_annotation):
                known = ", ".join((*columns, *_RESOURCES))
                raise BadTable(
                    f"{file}: row 1: there is no column {name!r}; there are {known} and resources such as"
                    " example.com/card"
                )
            if head.count(name) > 1:
                raise BadTable(f"{file}: row 1: there are two columns {name!r}; leave one out")
        for name in needed:
            if name not in head:
                raise BadTable(f"{file}: row 1: the column {name!r} is missing; add it")
        for cells in table:
            if not any(cell.strip() for cell in cells):
                continue
            if len(cells) > len(head):
                raise BadTable(
                    f"{file}: row {table.line_num}: has {len(cells)} cells for {len(head)} columns;"
                    " quote those with a comma"
                )
            yield _Row(file, table.line_num, dict(zip(head, cells, strict=False)))
    except csv.Error as error:
        raise BadTable(f"{file}: row {table.line_num}: {error}; write it as CSV with commas") from None


def _time(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        found = datetime.fromisoformat(text)
        seconds = (found if found.tzinfo is not None else found.replace(tzinfo=UTC)).timestamp()
    datetime.fromtimestamp(seconds, UTC)  # one that no calendar has is refused
    if seconds < 0:
        raise ValueError
    return seconds


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        try:
            seconds = Duration.parse(text).seconds
        except DurationError:
            raise ValueError from None
    if not 0 <= seconds < 1e10:
        raise ValueError
    return seconds


def _count(text: str) -> int:
    count = int(text)
    if not 1 <= count <= _MOST_COPIES:
        raise ValueError
    return count


def _priority(text: str) -> int:
    priority = int(text)
    if abs(priority) > 2 * _MOST_PRIORITY:
        raise ValueError
    return priority


def _name(text: str) -> str:
    if dns_subdomain_problems(text):
        raise ValueError
    return text


def _amount(text: str) -> str:
    try:
        if parse(text) < 0:
            raise ValueError
    except QuantityError:
        raise ValueError from None
    return text


def _whole_amount(text: str) -> str:
    """Of what the API server takes no parts of, such as cards."""
    if parse(_amount(text)) % NANOS:
        raise ValueError
    return text


def _labels(text: str) -> dict[str, str]:
    pairs = [each.partition("=") for each in text.replace(";", " ").split()]
    if not all(equals and is_qualified_name(key) and is_label_value(value) for key, equals, value in pairs):
        raise ValueError
    return {key: value for key, _, value in pairs}
