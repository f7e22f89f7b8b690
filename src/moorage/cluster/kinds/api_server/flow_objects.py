"""The FlowSchemas and PriorityLevelConfigurations that every cluster has, from a table.

A block of the table is an object: its kind and name, then, on a line each, the fields of its spec, as JSON.
"""

from __future__ import annotations

import json
from pathlib import Path

from moorage.cluster.base.store import Document

DATA = Path(__file__).with_name("data") / "flow_objects.txt"

_GROUP = "flowcontrol.apiserver.k8s.io"
_MANDATORY = ("exempt", "catch-all")


def flow_objects() -> list[tuple[str, Document]]:
    """All of them, with the resource of each."""
    blocks = DATA.read_text().strip().split("\n\n")
    return [(f"{found['kind'].lower()}s.{_GROUP}", found) for found in map(_read, blocks)]


def _read(block: str) -> Document:
    head, *lines = block.split("\n ")
    kind, name = head.split()
    fields = (line.split(" ", 1) for line in lines)
    return {
        "apiVersion": f"{_GROUP}/v1",
        "kind": kind,
        "metadata": {"name": name, "annotations": {"apf.kubernetes.io/autoupdate-spec": "true"}},
        "spec": {field: json.loads(text) for field, text in fields},
    }


FIXED: dict[tuple[str, str], Document] = {
    (found["kind"], found["metadata"]["name"]): found["spec"]
    for _, found in flow_objects()
    if found["metadata"]["name"] in _MANDATORY
}
"""The specs that nobody can change, by kind and name."""
