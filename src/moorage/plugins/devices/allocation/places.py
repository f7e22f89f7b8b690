"""Which nodes a slice, or a single device, is for."""

from __future__ import annotations

from moorage.api.nodes import Node
from moorage.api.selectors import NodeSelector
from moorage.plugins.devices.allocation.failures import AllocationFailed


class UnreadableSelector(AllocationFailed):
    """A node selector that no API server accepts."""


def is_for(node: Node, name: str | None, all_nodes: bool, selector: NodeSelector | None) -> bool:
    """By the one of the three that is given; raises UnreadableSelector."""
    if name:
        return node.name == name
    if all_nodes:
        return True
    if selector is None:
        return False
    for term in selector.node_selector_terms:
        problem = None if term.empty else term.problem()
        if problem is not None:
            raise UnreadableSelector(f"failed to parse node selector: {problem}")
    return selector.matches(node.labels, node.name)
