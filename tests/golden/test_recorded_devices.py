"""What kube-scheduler v1.36.4 did with device claims: decided, planned, written and taken back."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from moorage.plugins.catalog import in_tree_registry
from moorage.what_if.scenario import read_scenario
from tests.golden.compare import differences
from tests.golden.test_recorded_decisions import recorded

Document = dict[str, Any]

_WORDING = re.compile(r'(CEL (?:compile|runtime) error: )(?:[^"\\]|\\.)*')
"""What comes after this is the wording of a library."""


def test_every_recorded_decision_about_devices_is_reproduced() -> None:
    """And again by the same scheduler: binding was tried for each of the best nodes and left no trace."""
    registry = in_tree_registry()
    failed: dict[str, list[str]] = {}
    cases = list(recorded("devices"))
    for scenario, expected in cases:
        built, pod = read_scenario(scenario, registry)
        for time in ("once", "again"):
            decision = {"id": scenario["id"], **built.evaluate(pod).document()}
            found = list(_differences(_worded(expected), _worded(decision)))
            if found:
                failed[f"{scenario['id']} {time}"] = found
    report = [f"{identity}:\n  " + "\n  ".join(lines[:10]) for identity, lines in failed.items()]
    assert not failed, f"{len(failed)} of {2 * len(cases)} differ\n" + "\n".join(report[:5])


def test_there_are_recordings_of_every_kind() -> None:
    told = [expected for _, expected in recorded("devices")]
    binds = [bind for expected in told for bind in (expected.get("bind") or {}).values()]
    assert {bind.get("preBind", {}).get("code") for bind in binds} == {"Success", "Error", "Wait", None}
    post_filters = [expected.get("postFilter") or {} for expected in told]
    assert any("deallocated" in each for each in post_filters)
    assert any("deleted" in each for each in post_filters)
    assert any("inFlight" in scenario for scenario, _ in recorded("devices"))


def _differences(expected: Document, got: Document) -> Iterator[str]:
    yield from differences(expected, got)
    for member in ("plans", "bind"):
        wanted, found = expected.get(member), got.get(member)
        if wanted is None or found is None:
            if wanted is not found:
                yield f"{member}: expected {wanted!r}, got {found!r}"
            continue
        for node in sorted(wanted.keys() | found.keys()):
            of_node, here = wanted.get(node) or {}, found.get(node) or {}
            for part in sorted(of_node.keys() | here.keys()):
                if of_node.get(part) != here.get(part):
                    yield f"{member} on {node}: expected {of_node.get(part)!r}, got {here.get(part)!r}"
    for member in ("deallocated", "deleted"):
        wanted = (expected.get("postFilter") or {}).get(member)
        found = (got.get("postFilter") or {}).get(member)
        if wanted != found:
            yield f"postFilter.{member}: expected {wanted!r}, got {found!r}"


def _worded(decision: Document) -> Document:
    found: Document = json.loads(_WORDING.sub(r"\1...", json.dumps(decision)))
    return found
