"""Why no node fits, and what would help."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from moorage.insight.words.amounts import counted, listed, sentence
from moorage.insight.words.reasons import Verb, about_nodes, about_pod, about_preemption, resource_of

Document = dict[str, Any]

_MOST_CAUSES = 6
_MOST_SUGGESTIONS = 5
_TAINTED = "TaintToleration"
_PODS, _TOO_MANY_PODS = "pods", "Too many pods"


class Cause(NamedTuple):
    """So many nodes are rejected for one reason."""

    nodes: int
    what: Verb
    note: str = ""


def why_nothing_fits(detail: Document, closest: Document | None) -> list[str]:
    """The sentences about an attempt in which no node fitted."""
    pre: Document = detail.get("preFilter") or {}
    if pre.get("status") and pre.get("reasons"):
        said = [sentence(about_pod(pre.get("plugin", ""), pre["reasons"]))]
    elif found := causes(detail, closest):
        said = [_told(found, int(detail.get("nodes") or 0))]
    else:
        said = [sentence(about_pod("", [detail.get("message") or "no node fits"]))]
    if preemption := about_preemption(detail.get("message") or ""):
        said.append(sentence(preemption))
    return said


def causes(detail: Document, closest: Document | None) -> list[Cause]:
    """The reasons of the filters, the most frequent first."""
    found: list[Cause] = []
    near = closest or {}
    taints: dict[str, int] = near.get("taints") or {}
    for each in detail.get("filters") or ():
        for reason, count in (each.get("reasons") or {}).items():
            if each["plugin"] == _TAINTED and taints and sum(taints.values()) == count:
                found += (Cause(many, _has_taint(taint)) for taint, many in taints.items())
                continue
            note = listed([*taints], 4) if each["plugin"] == _TAINTED else _closest(reason, near)
            found.append(Cause(count, about_nodes(each["plugin"], reason), note))
    return sorted(found, key=lambda cause: -cause.nodes)


def _has_taint(taint: str) -> Verb:
    return Verb(f"has the taint {taint}", f"have the taint {taint}")


def _closest(reason: str, closest: Document) -> str:
    """`closest: node-7, short by 300m`, behind the reason that names the resource."""
    lacked = _PODS if reason == _TOO_MANY_PODS else resource_of(reason)
    if not closest.get("short") or closest.get("resource") != lacked:
        return ""
    also: dict[str, str] = closest.get("also") or {}
    parts = [closest["short"], *(f"{amount} of {resource}" for resource, amount in also.items())]
    largest = closest.get("tooLarge")
    even = f"; the largest has only {largest}, even when empty" if largest else ""
    return f"closest: {closest['node']}, short by {listed(parts, 4)}{even}"


def _told(found: Sequence[Cause], nodes: int) -> str:
    clauses = []
    for place, (count, what, note) in enumerate(found[:_MOST_CAUSES]):
        text = f"{count} {what.of(count)}" if place else _first_clause(count, what, nodes)
        clauses.append(f"{text}{f' ({note})' if note else ''}")
    if len(found) > _MOST_CAUSES:
        clauses.append(f"and for {len(found) - _MOST_CAUSES} more reasons")
    return sentence("; ".join(clauses))


def _first_clause(count: int, what: Verb, nodes: int) -> str:
    """The one that says how many nodes there are in all."""
    if nodes == 1:
        return f"the only node {what.one}"
    if count != nodes:
        return (
            f"{count} of {nodes} nodes {what.of(count)}" if nodes else f"{counted(count, 'node')} {what.many}"
        )
    if what.many.startswith("do not "):
        return f"none of the {nodes} nodes {what.one.replace('does not match', 'matches')}"
    return f"all {nodes} nodes {what.many}"


def who_must_go(detail: Document) -> str:
    """The pods that preemption evicts, and where."""
    preemption: Document = detail.get("preemption") or {}
    node = preemption.get("nominated") or detail.get("node") or ""
    victims: list[str] = next(
        (each["victims"] for each in preemption.get("candidates") or () if each["node"] == node), []
    )
    if not victims:
        return f"No node fits as it is, and room is made for it on {node}."
    gone = listed(victims, 5)
    return (
        f"No node fits as it is. Preemption makes room on {node}: {gone} must go"
        f"{_budgets(preemption, node)}, then it is tried there."
    )


def _budgets(preemption: Document, node: str) -> str:
    violations = next(
        (
            each.get("pdbViolations") or 0
            for each in preemption.get("candidates") or ()
            if each["node"] == node
        ),
        0,
    )
    return f" (against {counted(violations, 'disruption budget')})" if violations else ""


def what_would_help(advice: Sequence[Document], *, whole_gang: bool = False) -> list[str]:
    """`It would fit if: ...`, the best suggestion first; what needs preemption has a sentence of its own.

    What changes the pod itself belongs into the template that it was made from; that is said at the end.
    """
    said = []
    who = "The whole group" if whole_gang else "It"
    for then, start in (("fits", f"{who} would fit if"), ("preempts", f"{who} would preempt others if")):
        texts = [_clause(each) for each in advice if each.get("then", "fits") == then]
        if texts:
            more = len(texts) - _MOST_SUGGESTIONS
            shown = texts[:_MOST_SUGGESTIONS] + ([f"{more} more ways"] if more > 0 else [])
            said.append(f"{start}: {' · '.join(shown)}.")
    where = next((each["where"] for each in advice if each.get("where")), None)
    if where is not None:
        said.append(f"What concerns the pod belongs in {_template(where)}.")
    return said


def suggestion_text(suggestion: Document) -> str:
    """A suggestion on its own, with the template that its change belongs into."""
    where: Document | None = suggestion.get("where")
    return _clause(suggestion) + (f" (in {_template(where)})" if where else "")


def _clause(suggestion: Document) -> str:
    return str(suggestion.get("text", "")).rstrip(".")


def _template(where: Document) -> str:
    name = "/".join(part for part in (where.get("namespace"), where.get("name")) if part)
    return f"{where.get('path', 'the template')} of {where['kind']} {name}"
