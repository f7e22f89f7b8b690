"""Values of custom objects as messages show them: with the fields of objects in the order of their names."""

from __future__ import annotations

from typing import Any

from moorage.cluster.base import errors


def shown(value: Any) -> str:
    return errors.shown(by_name(value))


def by_name(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: by_name(value[name]) for name in sorted(value)}
    return [by_name(each) for each in value] if isinstance(value, list) else value
