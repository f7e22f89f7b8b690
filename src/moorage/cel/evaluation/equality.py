"""What comparing two values costs."""

from __future__ import annotations

from typing import Any

from moorage.cel.costs import string_cost, wrapped_size


def equality_cost(left: Any, right: Any, *, negated: bool) -> int:
    if not negated and hasattr(left, "CEL_TYPE"):
        return 1
    return string_cost(min(wrapped_size(left), wrapped_size(right)))
