"""The names in a query for Prometheus, as far as the dashboard and the alerts use its language."""

import re
from typing import NamedTuple

from tests.docs.metrics_page import described

TARGET_LABELS = {"job", "instance"}
FROM_PROMETHEUS = {"up"}
FUNCTIONS = {
    "absent",
    "deriv",
    "histogram_quantile",
    "increase",
    "label_values",
    "max",
    "rate",
    "sum",
}
WORDS = {"and", "by", "on", "unless"}

_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_RANGE = re.compile(r"\[[^\]]*\]")
_NAMED = re.compile(r"([a-zA-Z_]\w*)\s*\{([^}]*)\}")
_GROUPED = re.compile(r"\b(?:by|on)\s*\(([^)]*)\)")
_NAME = re.compile(r"[a-zA-Z_]\w*")
_PARTS = ("_bucket", "_sum", "_count")


class Query(NamedTuple):
    """Metrics with the labels that select among them, labels that results are grouped by, all other words."""

    metrics: list[tuple[str, set[str]]]
    grouped_by: set[str]
    others: set[str]


def parsed(text: str) -> Query:
    bare = _RANGE.sub("", _STRING.sub("", text))
    metrics = [(name, {*_NAME.findall(labels)}) for name, labels in _NAMED.findall(bare)]
    grouped = {label for labels in _GROUPED.findall(bare) for label in _NAME.findall(labels)}
    rest = _GROUPED.sub(" by ", _NAMED.sub(" ", bare))
    return Query(metrics, grouped, {*_NAME.findall(rest)})


def problems(text: str) -> list[str]:
    """What a query names that there is not."""
    query = parsed(text)
    found = [
        f"{word} is neither a function nor a metric with {{}}" for word in query.others - FUNCTIONS - WORDS
    ]
    if not query.metrics:
        found.append("it asks for no metric")
    known: set[str] = set()
    for name, selected in query.metrics:
        labels = labels_of(name)
        if labels is None:
            found.append(f"there is no metric {name}")
            continue
        known |= labels
        found += [f"{name} has no label {label}" for label in sorted(selected - labels)]
        if "job" not in selected:
            found.append(f"{name} is not limited to a job")
    found += [f"no metric has the label {label}" for label in sorted(query.grouped_by - known)]
    return found


def labels_of(name: str) -> set[str] | None:
    """The labels of what Prometheus stores under a name, or None if nothing is."""
    if name in FROM_PROMETHEUS:
        return TARGET_LABELS
    page = described()
    if name in page and page[name].type != "histogram":
        return TARGET_LABELS | {*page[name].labels}
    for part in _PARTS:
        row = page.get(name.removesuffix(part)) if name.endswith(part) else None
        if row is not None and row.type == "histogram":
            return TARGET_LABELS | {*row.labels} | ({"le"} if part == "_bucket" else set())
    return None
