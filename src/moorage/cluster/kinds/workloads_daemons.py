"""DaemonSets."""

from __future__ import annotations

from collections.abc import Iterable

from moorage.cluster.base.errors import Cause, invalid_value, required, unsupported_value
from moorage.cluster.base.store import Document
from moorage.cluster.kinds.common import own_part, part
from moorage.cluster.kinds.pod_templates import check_lasting, check_selected, check_template
from moorage.cluster.kinds.rules import Found, check_label_selector, check_nonnegative, is_empty_selector
from moorage.cluster.kinds.workloads_base import Workload, check_same_selector
from moorage.cluster.kinds.workloads_rules import (
    ROLLING,
    check_at_most_all,
    check_collisions,
    check_count_or_percent,
    check_counts,
    is_zero,
    shown_strategy,
)

TEMPLATE_GENERATION = "deprecated.daemonset.template.generation"


class DaemonSetStrategy(Workload):
    type_name = "apps.v1.DaemonSet"
    """Also counts in an annotation how often its template has changed, as it once did in a field."""

    first_status = {
        "currentNumberScheduled": 0,
        "numberMisscheduled": 0,
        "desiredNumberScheduled": 0,
        "numberReady": 0,
    }

    def default(self, document: Document) -> None:
        super().default(document)
        if not _template_generation(document):
            _count_template(document, 0)

    def default_spec(self, spec: Document) -> None:
        strategy = own_part(spec, "updateStrategy")
        strategy.setdefault("type", "RollingUpdate")
        if strategy["type"] == "RollingUpdate":
            rolling = own_part(strategy, "rollingUpdate")
            rolling.setdefault("maxUnavailable", 1)
            rolling.setdefault("maxSurge", 0)
        elif "rollingUpdate" in strategy:
            for name in ("maxUnavailable", "maxSurge"):
                strategy["rollingUpdate"].setdefault(name, 0)
        spec.setdefault("revisionHistoryLimit", 10)

    def prepare_create(self, document: Document) -> None:
        super().prepare_create(document)
        _count_template(document, max(1, _template_generation(document)))

    def prepare_update(self, new: Document, old: Document) -> None:
        super().prepare_update(new, old)
        generation = _template_generation(old)
        changed = new["spec"]["template"] != old["spec"]["template"]
        _count_template(new, generation + 1 if changed else generation)

    def validate(self, document: Document) -> Iterable[Cause]:
        found: Found = []
        spec = document["spec"]
        selector = spec.get("selector")
        check_label_selector(selector, "spec.selector", found)
        if not found:
            check_selected(spec, found)
        if selector is not None and is_empty_selector(selector):
            detail = "empty selector is invalid for daemonset"
            found.append(invalid_value("spec.selector", {}, detail))
        check_template(spec["template"], "spec.template", found)
        check_lasting(spec["template"], "DaemonSet", "spec.template", found)
        check_nonnegative(spec.get("minReadySeconds"), "spec.minReadySeconds", found)
        _check_daemon_strategy(spec["updateStrategy"], found)
        check_nonnegative(spec.get("revisionHistoryLimit"), "spec.revisionHistoryLimit", found)
        return found

    def validate_update(self, new: Document, old: Document) -> Iterable[Cause]:
        found: Found = []
        check_same_selector(new, old, found)
        return found

    def validate_status_update(self, new: Document, old: Document) -> Iterable[Cause]:
        found: Found = []
        counts = (
            "currentNumberScheduled",
            "numberMisscheduled",
            "desiredNumberScheduled",
            "numberReady",
            "observedGeneration",
            "updatedNumberScheduled",
            "numberAvailable",
            "numberUnavailable",
            "collisionCount",
        )
        check_counts(part(new, "status"), counts, found)
        check_collisions(part(new, "status"), part(old, "status"), found)
        return found


def _template_generation(document: Document) -> int:
    text = (document["metadata"].get("annotations") or {}).get(TEMPLATE_GENERATION, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else 0


def _count_template(document: Document, generation: int) -> None:
    metadata = document["metadata"]
    metadata["annotations"] = {**(metadata.get("annotations") or {}), TEMPLATE_GENERATION: str(generation)}


def _check_daemon_strategy(strategy: Document, found: Found) -> None:
    path = "spec.updateStrategy"
    kind, rolling = strategy.get("type", ""), strategy.get("rollingUpdate")
    if kind == "OnDelete":
        return
    if kind != "RollingUpdate":
        shown = shown_strategy(strategy, ROLLING)
        found.append(unsupported_value(path, shown, ("RollingUpdate", "OnDelete")))
        return
    place = f"{path}.rollingUpdate"
    if rolling is None:
        found.append(required(place))
        return
    unavailable, surge = rolling.get("maxUnavailable", 0), rolling.get("maxSurge", 0)
    for check in (check_count_or_percent, check_at_most_all):
        check(unavailable, f"{place}.maxUnavailable", found)
        check(surge, f"{place}.maxSurge", found)
    if not is_zero(unavailable) and not is_zero(surge):
        detail = "may not be set when maxUnavailable is non-zero"
        found.append(invalid_value(f"{place}.maxSurge", surge, detail))
    elif is_zero(unavailable) and is_zero(surge):
        found.append(required(f"{place}.maxUnavailable", "cannot be 0 when maxSurge is 0"))
