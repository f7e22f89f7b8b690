"""The texts that stand below the fields of a class, as a docstring does below its head."""

from __future__ import annotations

import ast
import inspect
from functools import cache
from textwrap import dedent


@cache
def field_docs(kind: type) -> dict[str, str]:
    """Field to text, inherited ones included; nothing where the source cannot be had."""
    docs: dict[str, str] = {}
    for base in reversed(kind.__mro__):
        docs |= _own_docs(base)
    return docs


def _own_docs(kind: type) -> dict[str, str]:
    try:
        [found] = ast.parse(dedent(inspect.getsource(kind))).body
    except (OSError, TypeError, SyntaxError, ValueError):
        return {}
    if not isinstance(found, ast.ClassDef):
        return {}
    return {
        field.target.id: text.value.value
        for field, text in zip(found.body, found.body[1:], strict=False)
        if isinstance(field, ast.AnnAssign)
        and isinstance(field.target, ast.Name)
        and isinstance(text, ast.Expr)
        and isinstance(text.value, ast.Constant)
        and isinstance(text.value.value, str)
    }
