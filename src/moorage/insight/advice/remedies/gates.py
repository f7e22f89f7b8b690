"""Scheduling gates."""

from __future__ import annotations

from collections.abc import Iterator

from moorage.insight.advice.drafts import Draft, part
from moorage.insight.advice.remedy import Remedy, Sight, joined


def remedies_of_pod(sight: Sight) -> Iterator[Remedy]:
    gates = sight.pod.spec.scheduling_gates
    if not gates:
        return

    def edit(draft: Draft) -> None:
        part(draft.edit(sight.pod), "spec").pop("schedulingGates", None)

    names = joined(gate.name for gate in gates)
    text = f"its scheduling gate {names} were removed"
    if len(gates) > 1:
        text = f"its scheduling gates {names} were removed"
    yield Remedy("gates", text, 5, edit)
