"""Groups that another server is to answer for, as APIServices say. None of them can be reached from here."""

from __future__ import annotations

from moorage.cluster.access.requests import Answer
from moorage.cluster.base.store import Store, Stored
from moorage.cluster.objects.registrations import API_SERVICES
from moorage.cluster.schema.definitions import Definitions, version_order

_TEXT = "text/plain; charset=utf-8"


class Aggregation:
    def __init__(self, store: Store, definitions: Definitions) -> None:
        self._store = store
        self._definitions = definitions

    def refusal(self, group: str, version: str) -> Answer | None:
        """The answer to everything that is asked of a group's version; None if it is not somebody else's."""
        stored = self._store.get(API_SERVICES, "", f"{version}.{group}")
        if stored is None or not self._is_foreign(stored):
            return None
        return Answer(503, b"service unavailable\n", _TEXT, [("X-Content-Type-Options", "nosniff")])

    def groups(self) -> dict[str, list[str]]:
        """The versions of these groups, those first that clients should prefer."""
        found = [each for each in self._store.iterate(API_SERVICES) if self._is_foreign(each)]
        found.sort(key=lambda each: (-each.spec["groupPriorityMinimum"], each.name))
        versions: dict[str, list[Stored]] = {}
        for each in found:
            versions.setdefault(each.spec.get("group", ""), []).append(each)
        return {group: [each.spec["version"] for each in _in_order(of)] for group, of in versions.items()}

    def _is_foreign(self, stored: Stored) -> bool:
        place = (stored.spec.get("group", ""), stored.spec.get("version", ""))
        return stored.spec.get("service") is not None and not any(
            (each.group, each.version) == place for each in self._definitions
        )


def _in_order(found: list[Stored]) -> list[Stored]:
    return sorted(
        found, key=lambda each: (-each.spec["versionPriority"], version_order(each.spec["version"]))
    )
