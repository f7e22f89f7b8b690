"""PriorityClasses."""

from __future__ import annotations

from collections.abc import Iterator

from moorage.cluster.base.errors import Cause, forbidden_value
from moorage.cluster.base.store import Document
from moorage.cluster.kinds.common import KindStrategy
from moorage.cluster.schema.checking import Around, relates

HIGHEST_FOR_USERS = 1_000_000_000
SYSTEM_PREFIX = "system-"
SYSTEM_CLASSES = {"system-node-critical": 2_000_001_000, "system-cluster-critical": 2_000_000_000}


class PriorityClassStrategy(KindStrategy):
    type_name = "scheduling.v1.PriorityClass"

    def prepare_create(self, document: Document) -> None:
        """What counts cannot change, so there is only one generation."""
        document["metadata"]["generation"] = 1


@relates("scheduling.v1.PriorityClass")
def _reserved(document: Document, path: str, around: Around) -> Iterator[Cause]:
    name, value = document["metadata"].get("name", ""), document.get("value", 0)
    if name.startswith(SYSTEM_PREFIX):
        problem = _system_problem(name, value, document.get("globalDefault", False))
        if problem:
            text = "priority class names with 'system-' prefix are reserved for system use only."
            yield forbidden_value("metadata.name", f"{text} error: {problem}")
    elif value > HIGHEST_FOR_USERS:
        text = f"maximum allowed value of a user defined priority is {HIGHEST_FOR_USERS}"
        yield forbidden_value("value", text)


def _system_problem(name: str, value: int, global_default: bool) -> str:
    if name not in SYSTEM_CLASSES:
        return f"{name} is not a known system priority class"
    if value != SYSTEM_CLASSES[name]:
        return f"value of {name} PriorityClass must be {SYSTEM_CLASSES[name]}"
    return f"globalDefault of {name} PriorityClass must be false" if global_default else ""
