"""Label and field selectors as they stand in requests, for the API server that tests have in memory."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from moorage.client.errors import BadRequest

_LABEL = re.compile(
    r"\s*(?:(?P<key>[\w./-]+)\s+(?P<word>in|notin)\s*\((?P<values>[^)]*)\)"
    r"|(?P<name>[\w./-]+)\s*(?P<sign>==|=|!=)\s*(?P<value>[\w.-]*)"
    r"|(?P<absent>!)?\s*(?P<exists>[\w./-]+))\s*(?:,|$)"
)


def matches_labels(selector: str, labels: Mapping[str, str]) -> bool:
    """Whether labels are as `a=b,c!=d,e in (f, g),h,!i` says."""
    place = 0
    while place < len(selector):
        found = _LABEL.match(selector, place)
        if found is None:
            raise BadRequest(400, "BadRequest", f"unable to parse the label selector {selector!r}")
        place = found.end()
        if not _fits(found.groupdict(), labels):
            return False
    return True


def _fits(part: Mapping[str, str], labels: Mapping[str, str]) -> bool:
    if part["key"]:
        among = [value.strip() for value in part["values"].split(",")]
        return (labels.get(part["key"]) in among) == (part["word"] == "in")
    if part["name"]:
        return (labels.get(part["name"]) == part["value"]) == (part["sign"] != "!=")
    return (part["exists"] in labels) != bool(part["absent"])


def matches_fields(selector: str, document: Mapping[str, Any]) -> bool:
    """Whether fields are as `spec.nodeName=a,status.phase!=Failed` says."""
    for part in filter(None, selector.split(",")):
        found = re.fullmatch(r"\s*([\w.]+)\s*(==|=|!=)\s*(.*?)\s*", part)
        if found is None:
            raise BadRequest(400, "BadRequest", f"unable to parse the field selector {selector!r}")
        path, sign, wanted = found.groups()
        value: Any = document
        for name in path.split("."):
            value = value.get(name) if isinstance(value, Mapping) else None
        if ((value or "") == wanted) != (sign != "!="):
            return False
    return True
