"""What a namespace that ends says about itself: what is still in it, and what holds it up."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from moorage.cluster.base.parts import condition
from moorage.cluster.base.store import Document, Stored
from moorage.cluster.life.controllers.objects import since

_FINE = {
    "NamespaceDeletionDiscoveryFailure": ("ResourcesDiscovered", "All resources successfully discovered"),
    "NamespaceDeletionGroupVersionParsingFailure": (
        "ParsedGroupVersions",
        "All legacy kube types successfully parsed",
    ),
    "NamespaceDeletionContentFailure": (
        "ContentDeleted",
        "All content successfully deleted, may be waiting on finalization",
    ),
    "NamespaceContentRemaining": ("ContentRemoved", "All content successfully removed"),
    "NamespaceFinalizersRemaining": ("ContentHasNoFinalizers", "All content-preserving finalizers finished"),
}
"""The conditions of a namespace that ends: reason and message where nothing is wrong."""


@dataclass
class Remains:
    """What is still in a namespace."""

    counts: Counter[str] = field(default_factory=Counter)
    """How many objects of each resource."""
    finalizers: Counter[str] = field(default_factory=Counter)
    """How many objects each finalizer holds."""
    problems: list[str] = field(default_factory=list)
    """Why objects could not be deleted."""

    def conditions(self, namespace: Stored, now: float) -> list[Document]:
        """Those of the namespace, with what others have put there."""
        wrong = self._wrong()
        known = namespace.status.get("conditions") or []
        others = [each for each in known if each.get("type") not in _FINE]
        made = []
        for kind, fine in _FINE.items():
            value = "True" if kind in wrong else "False"
            reason, message = wrong.get(kind, fine)
            known_since = since(condition(namespace.status, kind), value, now)
            made.append(
                {
                    "type": kind,
                    "status": value,
                    "lastTransitionTime": known_since,
                    "reason": reason,
                    "message": message,
                }
            )
        return [*made, *others]

    def _wrong(self) -> dict[str, tuple[str, str]]:
        wrong = {}
        if self.problems:
            listed = ", ".join(sorted(self.problems))
            text = f"Failed to delete all resource types, {len(self.problems)} remaining: {listed}"
            wrong["NamespaceDeletionContentFailure"] = ("ContentDeletionFailed", text)
        if self.counts:
            # A resource without a group is named with an empty one, as in `pods.`
            names = {each if "." in each else f"{each}.": count for each, count in self.counts.items()}
            listed = ", ".join(
                sorted(f"{each} has {count} resource instances" for each, count in names.items())
            )
            text = f"Some resources are remaining: {listed}"
            wrong["NamespaceContentRemaining"] = ("SomeResourcesRemain", text)
        if self.finalizers:
            held = sorted(f"{each} in {count} resource instances" for each, count in self.finalizers.items())
            text = f"Some content in the namespace has finalizers remaining: {', '.join(held)}"
            wrong["NamespaceFinalizersRemaining"] = ("SomeFinalizersRemain", text)
        return wrong
