"""The difference between two values, for messages about what may not change."""

from __future__ import annotations

import json
from difflib import unified_diff
from itertools import islice
from typing import Any


def difference(old: Any, new: Any, *, sort: bool = False) -> str:
    """Line by line; fields stand in the order they have, or in that of their names."""
    lines = unified_diff(_lines(old, sort), _lines(new, sort), n=3)
    return "".join(islice(lines, 2, None))


def _lines(value: Any, sort: bool) -> list[str]:
    text = json.dumps(value, indent=1, ensure_ascii=False, sort_keys=sort)
    return [f"{line}\n" for line in text.split("\n")]
