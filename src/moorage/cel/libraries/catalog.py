"""The libraries that expressions have in Kubernetes 1.36."""

from __future__ import annotations

from moorage.cel.declarations import Library
from moorage.cel.libraries.cidr import LIBRARY as CIDR
from moorage.cel.libraries.format import LIBRARY as FORMAT
from moorage.cel.libraries.ip import LIBRARY as IP
from moorage.cel.libraries.lists import LIBRARY as LISTS
from moorage.cel.libraries.lists_ext import LIBRARY as MORE_LISTS
from moorage.cel.libraries.quantity import LIBRARY as QUANTITY
from moorage.cel.libraries.regex import LIBRARY as REGEX
from moorage.cel.libraries.semver import LIBRARY as SEMVER
from moorage.cel.libraries.sets import LIBRARY as SETS
from moorage.cel.libraries.strings import LIBRARY as STRINGS
from moorage.cel.libraries.url import LIBRARY as URL

KUBERNETES: tuple[Library, ...] = (
    URL,
    REGEX,
    LISTS,
    QUANTITY,
    STRINGS,
    SETS,
    IP,
    CIDR,
    FORMAT,
    SEMVER,
    MORE_LISTS,
)
"""In the order in which they are declared: that of the overloads of a function in several of them."""
