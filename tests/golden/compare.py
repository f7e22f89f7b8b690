"""Comparing a decision with one recorded from kube-scheduler v1.36.4."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

Document = dict[str, Any]


def differences(expected: Document, got: Document) -> list[str]:
    """Readable lines, one for each thing that differs; empty if the decision is the same."""
    return [*_differences(expected, got)]


def _differences(expected: Document, got: Document) -> Iterator[str]:
    yield from _same("preEnqueue", _answer(expected.get("preEnqueue")), _answer(got.get("preEnqueue")))
    for member in ("status", "plugin", "nodeNames"):
        wanted = (expected.get("preFilter") or {}).get(member)
        yield from _same(f"preFilter.{member}", wanted, (got.get("preFilter") or {}).get(member))
    yield from _same("preFilter.reasons", _reasons(expected.get("preFilter")), _reasons(got.get("preFilter")))
    yield from _by_node("filter", expected.get("filter"), got.get("filter"))
    yield from _statuses(expected.get("nodeStatus") or {}, got.get("nodeStatus") or {})
    yield from _same("feasible", expected.get("feasible"), got.get("feasible"))
    yield from _by_node("scores", expected.get("scores"), got.get("scores"))
    for member in ("totals", "best", "message"):
        yield from _same(member, expected.get(member), got.get(member))
    yield from _same("nominatedFirst", bool(expected.get("nominatedFirst")), bool(got.get("nominatedFirst")))
    for member in ("code", "message", "candidates", "nominatedNodes"):
        wanted = (expected.get("postFilter") or {}).get(member)
        yield from _same(f"postFilter.{member}", wanted, (got.get("postFilter") or {}).get(member))
    error, failed = expected.get("schedulerError"), got.get("schedulerError")
    yield from _same("schedulerError.phase", (error or {}).get("phase"), (failed or {}).get("phase"))


def _same(place: str, expected: Any, got: Any) -> Iterator[str]:
    if expected != got:
        yield f"{place}: expected {expected!r}, got {got!r}"


def _by_node(place: str, expected: Document | None, got: Document | None) -> Iterator[str]:
    """For filter and scores: node, plugin, answer."""
    expected, got = expected or {}, got or {}
    for node in sorted(expected.keys() | got.keys()):
        wanted, found = expected.get(node, {}), got.get(node, {})
        for plugin in sorted(wanted.keys() | found.keys()):
            yield from _same(
                f"{place}, node {node}, plugin {plugin}",
                _answer(wanted.get(plugin)),
                _answer(found.get(plugin)),
            )


def _statuses(expected: Document, got: Document) -> Iterator[str]:
    for node in sorted(expected.keys() | got.keys()):
        yield from _same(f"nodeStatus, node {node}", _answer(expected.get(node)), _answer(got.get(node)))


def _answer(answer: Document | None) -> Document | None:
    """An answer with its reasons as a set, whose order does not count."""
    if answer is None or "reasons" not in answer:
        return answer
    return {**answer, "reasons": _reasons(answer)}


def _reasons(answer: Document | None) -> list[str]:
    return sorted((answer or {}).get("reasons") or [])
