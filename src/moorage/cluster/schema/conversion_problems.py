"""What is wrong with a value that was merged, in the words of the original's converter.

A document that a client sends whole is decoded as JSON, and `mistakes` words what is wrong with it. One
that a patch was merged into is converted, and the same mistakes have other names.
"""

from __future__ import annotations

import re

_MISMATCH = re.compile(r"json: cannot unmarshal (\w+)( \S+)? into Go (?:struct field \S+|value) of type (.+)")
_KINDS = {"string": "string", "bool": "bool", "array": "slice", "object": "map"}
_BASE64 = "illegal base64 data"


def conversion_problem(problem: str) -> str:
    """The problem of decoding a document, as one of converting it."""
    if problem.startswith(_BASE64):
        return f"error decoding from json: {problem}"
    found = _MISMATCH.fullmatch(problem)
    if found is None:
        return problem
    given, literal, wanted = found.groups()
    kind = _KINDS.get(given) or ("float64" if "." in (literal or "") else "int64")
    if wanted.startswith("[]"):
        return f"cannot restore slice from {kind}"
    if wanted.startswith("map["):
        return f"cannot restore map from {kind}"
    if "." in wanted:
        return f"cannot restore struct from: {kind}"
    if given == "number" and wanted != "bool":
        return f"cannot convert {kind} to {wanted}"
    return f"unrecognized type: {wanted}"
