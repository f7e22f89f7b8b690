"""The difference between two values, for messages about what may not change."""

from __future__ import annotations

import json
from difflib import unified_diff
from itertools import islice
from typing import Any


def difference(old: Any, new: Any) -> str:
    lines = unified_diff(_lines(old), _lines(new), n=3)
    return "".join(islice(lines, 2, None))


def _lines(value: Any) -> list[str]:
    text = json.dumps(value, indent=1, ensure_ascii=False)
    return [f"{line}\n" for line in text.split("\n")]
