"""The text that tells why a pod could not be scheduled."""

from __future__ import annotations

from collections.abc import Mapping

NO_NODES = "no nodes available to schedule pods"


def nodes_available(
    total: int, reasons: Mapping[str, int], *, pre_filter: str = "", post_filter: str = ""
) -> str:
    """`0/N nodes are available: ...` from how many nodes give each reason, or from PreFilter's message."""
    text = f"0/{total} nodes are available:"
    if pre_filter:
        text += f" {pre_filter}."
    elif reasons:
        text += " " + ", ".join(sorted(f"{count} {reason}" for reason, count in reasons.items())) + "."
    return f"{text} {post_filter}" if post_filter else text
