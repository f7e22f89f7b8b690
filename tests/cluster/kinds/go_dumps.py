"""Where kube-apiserver shows a whole object in a message, it shows its inner form, named as in Go.

What is compared there is everything but that object.
"""

from __future__ import annotations

import re

_DUMP = re.compile(r"((?:Invalid|Duplicate|Unsupported) value: )[{\[].*[}\]](: |$)", re.DOTALL)
_GO_NAME = re.compile(r'[{,]"[A-Z]\w*":')
_DIFFERENCE = re.compile(r"(Forbidden: [^\n]*)\n.*", re.DOTALL)


Causes = list[list[str]]
"""Reason, field and message of each."""


def without_go_dumps(found: Causes, recorded: Causes) -> tuple[Causes, Causes]:
    """Both lists, without the objects that the recorded ones show in Go's form."""
    dumped = {(reason, field) for reason, field, message in recorded if _is_dumped(message)}
    return (
        sorted(_masked(cause) if (cause[0], cause[1]) in dumped else cause for cause in found),
        sorted(_masked(cause) if (cause[0], cause[1]) in dumped else cause for cause in recorded),
    )


def _is_dumped(message: str) -> bool:
    shown = _DUMP.search(message)
    return bool(_DIFFERENCE.match(message) or (shown and _GO_NAME.search(shown.group())))


def _masked(cause: list[str]) -> list[str]:
    reason, field, message = cause
    return [reason, field, _DIFFERENCE.sub(r"\1", _DUMP.sub(r"\1...\2", message))]
