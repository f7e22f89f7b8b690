"""A trace made up so that it is known which settings are the best for it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from moorage.what_if.trace.changes import Head
from tests.cli.running import node, pod

Document = dict[str, Any]

BEGAN = 1_700_000_000.0


def write_planted(path: Path, *, pods: int = 60, nodes: int = 8) -> Path:
    """Small pods that come every ten seconds and run for three minutes, on nodes that are far too many.

    As about 18 run at a time and 4 fit onto a node, 5 nodes are enough; spread over all, they need 8.
    """
    from moorage.what_if.trace.files import TraceWriter

    with TraceWriter(path, Head(began=BEGAN, source="made up")) as trace:
        for number in range(nodes):
            trace.put(BEGAN, _with_uid(node(f"node-{number}")))
        happenings: list[tuple[float, int, Document]] = []
        for number in range(pods):
            came = BEGAN + 10 * (number + 1)
            waiting = _with_uid(pod(f"pod-{number:03}", namespace="default"))
            bound = _with_uid(pod(f"pod-{number:03}", namespace="default", nodeName=f"node-{number % nodes}"))
            happenings += [(came, 0, waiting), (came + 1, 0, bound), (came + 181, 1, bound)]
        for time, gone, document in sorted(happenings, key=lambda each: each[:2]):
            (trace.gone if gone else trace.put)(time, document)
    return path


def _with_uid(document: Document) -> Document:
    metadata = document["metadata"]
    return {**document, "metadata": {**metadata, "uid": f"{document['kind']}-{metadata['name']}"}}
