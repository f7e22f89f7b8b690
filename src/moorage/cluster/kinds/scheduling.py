"""PriorityClasses."""

from __future__ import annotations

from collections.abc import Iterator

from moorage.cluster.base.errors import Cause, forbidden_value, required, unsupported_value
from moorage.cluster.base.store import Document
from moorage.cluster.kinds.fields import immutable
from moorage.cluster.schema.definitions import Strategy

HIGHEST_FOR_USERS = 1_000_000_000
SYSTEM_PREFIX = "system-"
SYSTEM_CLASSES = {
    "system-node-critical": 2_000_001_000,
    "system-cluster-critical": 2_000_000_000,
}
POLICIES = ("PreemptLowerPriority", "Never")


class PriorityClassStrategy(Strategy):
    def default(self, document: Document) -> None:
        document.setdefault("preemptionPolicy", "PreemptLowerPriority")

    def prepare_create(self, document: Document) -> None:
        """What counts cannot change, so there is only one generation."""
        document["metadata"]["generation"] = 1

    def validate(self, document: Document) -> Iterator[Cause]:
        name, value = document["metadata"].get("name", ""), document.get("value", 0)
        if name.startswith(SYSTEM_PREFIX):
            problem = _system_problem(name, value, document.get("globalDefault", False))
            if problem:
                text = (
                    "priority class names with 'system-' prefix are reserved for system use only. "
                    f"error: {problem}"
                )
                yield forbidden_value("metadata.name", text)
        elif value > HIGHEST_FOR_USERS:
            text = f"maximum allowed value of a user defined priority is {HIGHEST_FOR_USERS}"
            yield forbidden_value("value", text)
        policy = document.get("preemptionPolicy")
        if policy == "":
            yield required("preemptionPolicy")
        elif policy is not None and policy not in POLICIES:
            yield unsupported_value("preemptionPolicy", policy, POLICIES)

    def validate_update(self, new: Document, old: Document) -> Iterator[Cause]:
        if new.get("value", 0) != old.get("value", 0):
            yield forbidden_value("value", "may not be changed in an update.")
        yield from immutable("preemptionPolicy", new.get("preemptionPolicy"), old.get("preemptionPolicy"))


def _system_problem(name: str, value: int, global_default: bool) -> str:
    if name not in SYSTEM_CLASSES:
        return f"{name} is not a known system priority class"
    if value != SYSTEM_CLASSES[name]:
        return f"value of {name} PriorityClass must be {SYSTEM_CLASSES[name]}"
    if global_default:
        return f"globalDefault of {name} PriorityClass must be false"
    return ""
