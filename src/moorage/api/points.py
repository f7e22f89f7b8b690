"""The extension points: one table for configurations, profiles, messages, new projects and documents."""

from __future__ import annotations

import re
from typing import NamedTuple


class Point(NamedTuple):
    """An extension point. Its name in files is the key, in messages and classes it begins with a capital."""

    key: str
    checked: int
    """When kube-scheduler looks at it: of several mistakes in a profile, that decides which is reported."""
    rejects: bool = False
    """Whether a plugin can turn a pod down here, so that it has events which may help the pod."""
    has_weights: bool = False
    is_read_only: bool = False
    """Configurations may name it since v1, without effect: its feature is off by default."""

    @property
    def title(self) -> str:
        return self.key[0].upper() + self.key[1:]

    @property
    def interface(self) -> str:
        """The base class of its plugins."""
        return f"{self.title}Plugin"

    @property
    def attribute(self) -> str:
        """Its name in Python, as in `pre_filter`."""
        return re.sub("[A-Z]", lambda capital: f"_{capital[0].lower()}", self.key)


POINTS: dict[str, Point] = {
    point.key: point
    for point in (
        Point("preEnqueue", checked=10, rejects=True),
        Point("queueSort", checked=11),
        Point("preFilter", checked=0, rejects=True),
        Point("filter", checked=1, rejects=True),
        Point("postFilter", checked=2),
        Point("preScore", checked=4),
        Point("score", checked=5, has_weights=True),
        Point("reserve", checked=3, rejects=True),
        Point("permit", checked=9, rejects=True),
        Point("preBind", checked=6),
        Point("bind", checked=7),
        Point("postBind", checked=8),
        Point("placementGenerate", checked=12, is_read_only=True),
        Point("placementScore", checked=13, has_weights=True, is_read_only=True),
    )
}
"""In the order in which a pod meets them."""
