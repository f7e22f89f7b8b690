"""Which resources a scheduler watches: nodes, pods, and whatever its plugins read or wait for."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from moorage.api.kinds import WATCHED
from moorage.api.meta import Object
from moorage.api.nodes import Node
from moorage.api.pods import Pod
from moorage.client.resources import Resource
from moorage.contrib.features import of_plugins
from moorage.framework.listers import Lister, Listers
from moorage.framework.runtime.profile import Profile

ALWAYS: tuple[type[Object], ...] = (Node, Pod)
"""What is watched whether or not a plugin asks for it."""

_AWAITED = {row.event: row for row in WATCHED if row.wakes and row.type not in ALWAYS}


def watched(listers: Listers, profiles: Iterable[Profile]) -> list[Resource[Any]]:
    """Everything that a scheduler with these profiles lists and watches."""
    add_waited_for(listers, profiles)
    others = {lister.name: lister for lister in listers if lister.type not in ALWAYS}
    return [*map(Resource.of, ALWAYS), *map(resource_of, others.values())]


def add_waited_for(listers: Listers, profiles: Iterable[Profile]) -> None:
    """Has those resources watched, too, that plugins registered for or that controllers beside them need."""
    profiles = list(profiles)
    for feature in of_plugins({name for profile in profiles for name in profile.plugins}):
        for kind in feature.kinds:
            listers.get(kind.group, kind.version, kind.resource, kind)
    for registration in (found for profile in profiles for found in profile.registrations):
        name = registration.event.resource
        row = _AWAITED.get(name)
        if row is not None:
            listers.get(row.group, row.version, row.resource, row.type)
        elif name.count(".") >= 2 and "/" not in name:
            plural, version, group = name.split(".", 2)
            listers.get(group, version, plural, Object)


def resource_of(lister: Lister[Any]) -> Resource[Any]:
    group, version, plural = lister.name
    return Resource(group, version, plural, lister.type.kind, True, lister.type)
