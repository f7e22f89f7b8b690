"""The libraries that expressions have in Kubernetes 1.36."""

from __future__ import annotations

from moorage.cel.declarations import Library
from moorage.cel.libraries import (
    cidr,
    format,
    ip,
    lists,
    lists_ext,
    quantity,
    regex,
    semver,
    sets,
    strings,
    url,
)

KUBERNETES: tuple[Library, ...] = (
    url.LIBRARY,
    regex.LIBRARY,
    lists.LIBRARY,
    quantity.LIBRARY,
    strings.LIBRARY,
    sets.LIBRARY,
    ip.LIBRARY,
    cidr.LIBRARY,
    format.LIBRARY,
    semver.LIBRARY,
    lists_ext.LIBRARY,
)
"""In the order in which they are declared: that of the overloads of a function in several of them."""
