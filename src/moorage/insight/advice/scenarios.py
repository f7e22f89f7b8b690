"""Scenarios with advice: what `moorage evaluate --advise` answers."""

from __future__ import annotations

from typing import Any

from moorage.config import KubeSchedulerConfiguration
from moorage.framework.loading.registry import Registry
from moorage.insight.advice.advising import advise
from moorage.what_if.scenario import read_scenario

Document = dict[str, Any]


def evaluate_and_advise(
    scenario: Document, registry: Registry, default: KubeSchedulerConfiguration | None = None
) -> Document:
    """As `evaluate`, with `advice` if the pod fits nowhere."""
    built, pod = read_scenario(scenario, registry, default)
    result = {"id": scenario.get("id", ""), **built.evaluate(pod).document()}
    if not result["feasible"]:
        suggestions = advise(built.services, built.profile, pod)
        result["advice"] = [suggestion.document() for suggestion in suggestions]
    return result
