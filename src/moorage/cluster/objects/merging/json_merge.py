"""JSON merge patches (RFC 7386)."""

from __future__ import annotations

from typing import Any

from moorage.cluster.base.errors import bad_request
from moorage.cluster.base.go_text import json_type
from moorage.cluster.objects.merging.depth import refuses_depth


@refuses_depth
def merge_patch(target: Any, patch: Any) -> Any:
    """The target with a merge patch applied; what does not change is shared with the target.

    A patch of an API object has to be an object itself.
    """
    if patch is None:
        raise bad_request("Invalid JSON Patch")
    if not isinstance(patch, dict):
        raise bad_request(
            f"error decoding patch: json: cannot unmarshal {json_type(patch)}"
            " into Go value of type map[string]interface {}"
        )
    return _merged(target, patch)


def _merged(target: Any, patch: Any) -> Any:
    if not isinstance(patch, dict):
        return patch
    merged = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            merged.pop(name, None)
        else:
            merged[name] = _merged(merged.get(name), value)
    return merged
