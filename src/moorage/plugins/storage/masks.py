"""Which of many nodes: an array of one bool per node, or True for all and False for none of them.

Most of the time it is all or none, and nothing has to be computed for thousands of nodes then.
"""

from __future__ import annotations

from moorage.state.columns import Bools
from moorage.state.nodes import Rows

Mask = Bools | bool


def part(mask: Bools | None, rows: Rows) -> Mask:
    """These rows of a mask of all rows, of which None stands for all."""
    return True if mask is None else mask[rows]


def both(one: Mask, other: Mask) -> Mask:
    """The nodes in both."""
    if one is False or other is True:
        return one
    if other is False or one is True:
        return other
    return one & other


def either(one: Mask, other: Mask) -> Mask:
    """The nodes in one of them at least."""
    if one is True or other is False:
        return one
    if other is True or one is False:
        return other
    return one | other


def without(one: Mask, other: Mask) -> Mask:
    """The nodes that are in the one and not in the other."""
    if other is False or one is False:
        return one
    if other is True:
        return False
    return both(one, ~other)


def has_any(mask: Mask) -> bool:
    return mask if isinstance(mask, bool) else bool(mask.any())
