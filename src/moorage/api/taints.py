"""Taints of nodes and the tolerations of pods."""

from __future__ import annotations

from collections.abc import Iterable

from moorage.api.meta import Part

NO_SCHEDULE = "NoSchedule"
PREFER_NO_SCHEDULE = "PreferNoSchedule"
NO_EXECUTE = "NoExecute"


class Taint(Part, frozen=True, gc=False):
    """What keeps pods away from a node that do not tolerate it."""

    key: str = ""
    """The name of the taint."""
    value: str = ""
    """What it says; may be empty."""
    effect: str = ""
    """`NoSchedule`, `PreferNoSchedule` or `NoExecute`."""


class Toleration(Part, frozen=True, gc=False):
    """Taints that a pod puts up with."""

    key: str = ""
    """The name of the taint; empty, with `Exists`, for every one."""
    operator: str = ""
    """`Exists`, or `Equal`, which is also meant where it is empty."""
    value: str = ""
    """What the taint must say, with `Equal`."""
    effect: str = ""
    """The effect of the taint; empty for every effect."""
    toleration_seconds: int | None = None
    """How long a running pod stays after a `NoExecute` taint came; None for ever."""

    def tolerates(self, taint: Taint) -> bool:
        """Whether this toleration covers the taint; of a whole pod, ask `pod.tolerates(taint)`."""
        if self.effect and self.effect != taint.effect:
            return False
        if self.key and self.key != taint.key:
            return False
        if self.operator in ("", "Equal"):
            return self.value == taint.value
        return self.operator == "Exists"


UNSCHEDULABLE_TAINT = Taint("node.kubernetes.io/unschedulable", "", NO_SCHEDULE)
"""What a cordoned node counts as having."""


def tolerates(tolerations: Iterable[Toleration], taint: Taint) -> bool:
    return any(toleration.tolerates(taint) for toleration in tolerations)


def untolerated(taints: Iterable[Taint], tolerations: tuple[Toleration, ...]) -> Taint | None:
    """The first NoSchedule or NoExecute taint that no toleration covers."""
    for taint in taints:
        if taint.effect in (NO_SCHEDULE, NO_EXECUTE) and not tolerates(tolerations, taint):
            return taint
    return None
