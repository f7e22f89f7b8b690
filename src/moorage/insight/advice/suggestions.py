"""What is suggested in the end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from moorage.insight.advice.steps import Step


@dataclass(frozen=True)
class Suggestion:
    """A change after which the pod fits, as a trial showed."""

    text: str
    """A clause after "It would fit if: "."""
    then: str
    """`fits`, or `preempts` if other pods are then preempted for it."""
    nodes: list[str]
    """Where the pod then fits, or of which preemption nominates one."""
    change: list[Step]
    """What has to be done, in this order."""
    where: dict[str, Any] | None = None
    """The template that the change of the pod belongs in, if a controller made the pod."""

    def document(self) -> dict[str, Any]:
        """As it stands in JSON."""
        result: dict[str, Any] = {
            "text": self.text,
            "then": self.then,
            "nodes": self.nodes,
            "change": [step.document() for step in self.change],
        }
        return result if self.where is None else {**result, "where": self.where}
